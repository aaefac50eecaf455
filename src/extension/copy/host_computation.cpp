// Implements computation on the host for arrays on devices.
#include "extension/copy/host_computation.hpp"

#include <algorithm>
#include <atomic>

#include "core/error.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/errors.hpp"
#include "extension/copy/copying.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

std::atomic<bool> is_enabled{true};

/// A copy on the host in which elements that share memory still do: axes of stride 0 are copied
/// once.
core::Array copy_to_host(const core::ArrayView& array) {
  core::Layout once(array.extents(), array.stride_span());
  for (int axis = 0; axis < array.ndim; ++axis)
    if (array.strides[axis] == 0) once.shape[axis] = std::min<std::int64_t>(once.shape[axis], 1);
  const core::Array copy = working_copy(core::with_layout(array, once, 0), array.dtype);
  core::Layout all(array.extents(), copy.layout.stride_span());
  for (int axis = 0; axis < array.ndim; ++axis)
    if (array.strides[axis] == 0) all.strides[axis] = 0;
  return core::with_layout(copy, all, 0);
}

/// Managed memory as memory of the CPU.
struct SharedWithHost final : core::Storage {
  SharedWithHost(core::StoragePtr from, std::byte* first, bool is_writable) noexcept
      : Storage(first, core::Device{}, is_writable, /*foreign=*/false, &destroy),
        owner(std::move(from)) {}
  static void destroy(core::Storage* self) noexcept { delete static_cast<SharedWithHost*>(self); }
  const core::StoragePtr owner;
};

/// The array itself in memory of the CPU, once all work on it is done, and reads too if the CPU
/// `writes`.
core::Array share_with_host(const core::ArrayView& array, const char* function, bool writes) {
  const DriverCalls here;
  runtime::check_copy(array, core::Device{}, nullptr, function);
  runtime::wait_on_host(array, writes);
  auto owner = core::StoragePtr::share(array.storage);
  const bool writable = owner->writable();
  std::byte* const first = owner->data();
  auto shared = core::StoragePtr::steal(new SharedWithHost(std::move(owner), first, writable));
  return {std::move(shared), array.data,     array.dtype,
          array.bit,         array.readonly, {array.extents(), array.stride_span()}};
}

}  // namespace

void set_host_computation(bool enabled) noexcept { is_enabled.store(enabled); }
bool host_computation() noexcept { return is_enabled.load(); }

HostArguments::HostArguments(const State& state, const char* function,
                             std::span<PyObject* const> arguments, bool writes_first)
    : state_(state), pointers_(arguments.begin(), arguments.end()) {
  bool is_known = false;
  for (PyObject* argument : arguments) {
    if (!is_array(state, argument)) continue;
    const core::Device device = view_of(argument).device();
    if (!std::exchange(is_known, true)) device_ = device;
    if (device == device_) continue;
    core::fail(core::Fault::kValue, function, "(): one array is on ", core::name(device_),
               ", another on ", core::name(device), "; all must be on one device: see to_device()");
  }
  copies_.reserve(pointers_.size());
  for (PyObject*& pointer : pointers_) {
    if (!is_array(state, pointer)) continue;
    const core::ArrayView array = view_of(pointer);
    if (!host_computation()) require_computable_memory(array, function);
    const bool writes = writes_first && &pointer == pointers_.data();
    copies_.push_back(make_array(state, array.device().kind == core::DeviceKind::kCudaManaged
                                            ? share_with_host(array, function, writes)
                                            : copy_to_host(array)));
    pointer = copies_.back().get();
  }
}

Ref HostArguments::on_device(Ref result) const {
  if (is_array(state_, result.get())) {
    const core::ArrayView array = view_of(result.get());
    return make_array(state_, working_copy(array, array.dtype, device_));
  }
  if (!PyTuple_Check(result.get())) return result;
  const Py_ssize_t count = PyTuple_Size(result.get());
  const Ref items = check(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref item = on_device(Ref::borrow(PyTuple_GetItem(result.get(), i)));
    check(PyTuple_SetItem(items.get(), i, item.release()));
  }
  if (PyTuple_CheckExact(result.get())) return Ref::borrow(items.get());
  return check(calling<PyObject_CallObject>(reinterpret_cast<PyObject*>(Py_TYPE(result.get())),
                                            items.get()));
}

void write_to_device(const core::ArrayView& to, const core::ArrayView& from) {
  if (to.data == from.data) return;  // the elements were written to managed memory itself
  // Pieces of a large array arrive one by one; only when all have, `to` is written.
  const core::Array arrived = working_copy(from, from.dtype, to.device());
  move_elements(to, arrived);
}

}  // namespace refarray::extension
