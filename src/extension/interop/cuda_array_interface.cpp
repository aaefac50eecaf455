// __cuda_array_interface__, version 3, import and export: the dict that describes device memory and
// the producer's stream. Numba, CuPy and cuDF exchange arrays by it.
#include <string>
#include <vector>

#include "dlpack/import.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/dlpack/dlpack_export.hpp"
#include "extension/interop/array_interface.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

constexpr const char* kName = "__cuda_array_interface__";

/// Keeps the object that owns the memory alive, and its dict.
struct MemoryOwner {
  InterpreterLease* lease;  // owns one reference
  Ref object;
  Ref dict;
};

/// The deleter of the storage.
void release_owner(void* context) noexcept {
  auto* owner = static_cast<MemoryOwner*>(context);
  const bool entered = owner->lease->enter([owner] {
    const ErrorGuard guard;
    owner->dict = Ref();
    owner->object = Ref();
  });
  if (!entered) {  // leaked: their interpreter has ended
    (void)owner->dict.release();
    (void)owner->object.release();
  }
  owner->lease->drop();
  delete owner;
}

/// The producer's stream; false if the dict has none, which means that no work is pending.
bool read_stream(const InterfaceReader& reader, const Fields& fields, std::int64_t version,
                 runtime::StreamChoice& out) {
  PyObject* stream = version < kInterfaceVersion ? nullptr : fields.get("stream");
  if (stream == nullptr) return false;
  const std::int64_t handle = reader.to_integer(stream, "stream");
  if (handle <= 0) {
    reader.fail_malformed("stream is ", handle, "; it must be None, 1, 2 or a stream handle");
  }
  out = {runtime::StreamChoice::Kind::kStream,
         reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle))};
  return true;
}

/// Validates the description as a DLTensor.
void validate(const BorrowedMemory& memory, BorrowedElements& elements, dlpack::Imported& out) {
  DLTensor tensor{};
  tensor.data = memory.data;
  tensor.device = dlpack::to_dlpack(core::Device{core::DeviceKind::kCuda, 0});
  tensor.ndim = elements.layout.ndim;
  tensor.dtype = dlpack::to_dlpack(elements.shared_dtype());
  tensor.shape = elements.layout.shape;
  tensor.strides = elements.strided ? elements.layout.strides : nullptr;
  dlpack::validate(tensor, {memory.readonly ? dlpack::kReadOnly : 0, dlpack::kVersion.minor}, out);
}

}  // namespace

Ref array_from_cuda_interface(State& state, PyObject* object, Copying& copying) {
  const InterfaceReader reader(kName);
  const Ref interface = reader.find(object, state.get(Slot::kCudaInterfaceName));
  if (!interface) return {};
  const Fields fields(interface.get());
  const std::int64_t version = reader.to_integer(fields.get("version"), "version");
  // PyTorch exports version 2 and RMM version 0, both without a stream.
  if (version < 0 || version > kInterfaceVersion)
    reader.fail_malformed("version is ", version, "; it must be 0 to ", kInterfaceVersion);
  reader.reject_mask(fields);
  Copying no_swapping{.allowed = false};
  BorrowedElements elements = reader.read_elements(fields, no_swapping);
  prepare_elements(elements, copying);
  PyObject* data = fields.get("data");
  if (data == nullptr || PyTuple_Check(data) == 0) reader.fail_malformed("data must be a tuple");
  BorrowedMemory memory = reader.memory_at_address(object, fields, data, 0);
  runtime::StreamChoice stream;
  const bool has_stream = read_stream(reader, fields, version, stream);
  dlpack::Imported in;
  prepare_for_lookup(core::Device{core::DeviceKind::kCuda, 0});
  validate(memory, elements, in);
  auto* owner =
      new MemoryOwner{state.lease->share(), std::move(memory.owner), std::move(memory.description)};
  in.array.storage = runtime::new_foreign_storage(in.array.data, in.device, !in.array.readonly,
                                                  &release_owner, owner);
  if (has_stream) {
    const GilRelease released(true);
    runtime::adopt_from(*in.array.storage.get(), stream.handle);
  }
  if (elements.byte_axes == 0) return make_array(state, std::move(in.array));
  core::Array copy = from_bytes(in.array, elements);
  drop_storage(std::move(in.array.storage));
  copying.done = true;
  return make_array(state, std::move(copy));
}

Ref cuda_array_interface(PyObject* self, void*) {
  require_sharing(self, sharing::kCudaArrayInterface);
  const core::ArrayView array = view_of(self);
  const auto typestr = typestr_of(array.dtype);
  if (!typestr) {
    raise(PyExc_AttributeError, "%s has no typestr for elements of %s", kName,
          core::name(array.dtype).c_str());
  }
  // The dict names one stream, so all pending work is ordered before the current stream. The
  // consumer's own stream follows that one.
  Ref stream = Ref::borrow(Py_None);
  const bool busy = runtime::is_busy(array);
  const runtime::StreamPtr current = runtime::current_stream(array.device());
  runtime::StreamChoice choice = runtime::choice_of(*current);
  choice.is_joined = true;
  const runtime::Lent lent = order_without_gil(array, choice);
  if (busy) stream = check(PyLong_FromVoidPtr(current->give_handle()));
  const Ref shape = make_int_tuple(array.extents());
  const Ref strides = byte_strides_of(array);
  const Ref address =
      check(PyLong_FromVoidPtr(array.size() == 0 ? nullptr : address_of(array, lent)));
  return check(calling<Py_BuildValue>(
      "{s:O,s:s,s:(OO),s:O,s:i,s:O}", "shape", shape.get(), "typestr", typestr->c_str(), "data",
      address.get(), array.writable() ? Py_False : Py_True, "strides", strides.get(), "version",
      kInterfaceVersion, "stream", stream.get()));
}

}  // namespace refarray::extension
