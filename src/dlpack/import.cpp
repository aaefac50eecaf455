// DLPack import without Python: managed tensor → checked fields → array with a storage that owns
// the tensor (steps 7 and 8). Mirrors export.cpp.
//
// Validation reads every field once and no element. For memory that is not the CPU's it loads the
// driver and asks it about the data pointer.
#include "dlpack/import.hpp"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/memory/foreign_code.hpp"
#include "dlpack/export.hpp"
#include "runtime/runtime.hpp"

namespace refarray::dlpack {
namespace {

using core::Fault;
using core::kMaxRank;

/// kDLBcomplex of dlpack.h's main branch, which no release has.
constexpr std::uint8_t kBcomplex = 18;

[[gnu::always_inline]] inline void read_dtype(DLDataType dtype, bool padded, core::DType& out) {
  if (core::find_scalar(dtype.code, dtype.bits) == core::ScalarType::kNone) {
    core::fail(Fault::kBuffer, "dtype: (code ", int{dtype.code}, ", bits ", int{dtype.bits},
               ") is not a type that refarray supports",
               dtype.code == kDLOpaqueHandle ? " (opaque handle)"
               : dtype.code == kBcomplex     ? " (bcomplex, unreleased)"
                                             : "");
  }
  if (dtype.lanes == 0) core::fail(Fault::kBuffer, "dtype: lanes is 0; it must be 1 or more");
  if (padded && dtype.bits >= 8) {
    core::fail(Fault::kBuffer, "flags: IS_SUBBYTE_TYPE_PADDED is set for (code ", int{dtype.code},
               ", bits ", int{dtype.bits}, "); the flag is for types of less than 8 bits");
  }
  core::set_dtype(out, dtype.code, dtype.bits, dtype.lanes, padded);
}

/// The device, with the meaningless ids of host and managed memory as 0. Memory that the CPU
/// cannot access needs its driver, which is loaded here.
[[gnu::noinline]] core::Device checked_device(DLDevice device) {
  const std::optional<core::Device> known = to_core_normalized(device);
  if (!known) {
    core::fail(Fault::kBuffer, "device: ", device_text(device),
               " is not memory that this process can use; host memory (types 1, 3, 11) is");
  }
  if (!known->is_host()) runtime::require(*known);
  return *known;
}

void check_unknown_flags(const TensorContext& context, DLDataType dtype) {
  // A new flag may change the meaning of the bytes, as bit 2 did: refused where it could.
  const std::uint64_t unknown = context.flags & ~kKnownFlags;
  if (dtype.bits < 8 || context.minor > kVersion.minor) {
    core::fail(Fault::kBuffer, "flags: unknown bits ", unknown, " on a version 1.", context.minor,
               " tensor of ", int{dtype.bits}, "-bit elements; known bits are ", kKnownFlags);
  }
}

int checked_ndim(std::int32_t ndim) {
  if (ndim < 0 || ndim > kMaxRank) {  // before `shape` is read (TENS-09)
    core::fail(Fault::kBuffer, "ndim is ", ndim, "; it must be 0 to ", kMaxRank);
  }
  return ndim;
}

void check_shape(const std::int64_t* shape, int ndim) {
  if (ndim > 0 && shape == nullptr)
    core::fail(Fault::kBuffer, "shape is NULL although ndim is ", ndim);
}

/// Sets row-major strides: for NULL (legal before 1.2, accepted in later versions too: A-02), and
/// for empty tensors, whose strides carry no meaning (TENS-14) and may hold any value.
void set_row_major(core::Layout& out) noexcept {
  std::uint64_t stride = 1;  // unsigned: wraps only for shapes that survey() rejects
  for (int axis = out.ndim - 1; axis >= 0; --axis) {
    out.strides[axis] = static_cast<std::int64_t>(stride);
    if (out.shape[axis] != 0) stride *= static_cast<std::uint64_t>(out.shape[axis]);
  }
}

[[gnu::noinline]] core::Survey survey_row_major(const std::int64_t* shape, int ndim,
                                                const core::DType& dtype,
                                                core::Layout& out) noexcept {
  out.ndim = ndim;
  for (int axis = 0; axis < ndim; ++axis) out.shape[axis] = shape[axis];
  set_row_major(out);
  return core::survey(out.shape, out.strides, ndim, dtype, out);
}

/// Runs a check of the core and reports its failure as a BufferError about `field`.
template <class F>
auto as_buffer_error(const char* field, F check) {
  try {  // boundary: the field is the producer's, not an argument of the caller (CONS-07)
    return check();
  } catch (const core::Error& error) {
    if (error.fault() == Fault::kMemory) throw;
    core::fail(Fault::kBuffer, field, ": ", error.what());
  }
}

/// Exactly one load of T's width: not merged with the loads of its neighbours, not repeated.
template <class T>
T read_once(const T& field) noexcept {
  return std::atomic_ref(const_cast<T&>(field)).load(std::memory_order_relaxed);
}

/// Throws kBuffer naming the extent or stride for which survey() rejected the layout.
[[noreturn, gnu::cold]] void explain(const core::Layout& layout, const core::DType& dtype) {
  for (int axis = 0; axis < layout.ndim; ++axis) {
    if (layout.shape[axis] < 0) {
      core::fail(Fault::kBuffer, "shape[", axis, "] is ", layout.shape[axis],
                 "; extents are 0 or more");
    }
  }
  as_buffer_error(
      "shape", [&] { return core::checked_nbytes(core::checked_size(layout.extents()), dtype); });
  as_buffer_error("strides", [&] {
    core::checked_bit_range(layout.extents(), layout.stride_span(), dtype);
    return 0;
  });
  core::fail(Fault::kBuffer, "shape or strides: a number does not fit 64 bits");
}

/// Linux maps nothing below this address for programs (vm.mmap_min_addr; 64 KiB on x86-64). What a
/// view of freed or fake memory exports is NULL plus an offset.
constexpr std::uintptr_t kLowestAddress = 32 * 1024;

/// data + byte_offset, after checking that every element lies inside the address space.
std::byte* checked_data(void* data, std::uint64_t byte_offset, core::BitRange range) {
  if (data == nullptr) {
    core::fail(Fault::kBuffer, "data is NULL although the tensor has elements (byte_offset ",
               byte_offset, ")");
  }
  const auto start = reinterpret_cast<std::uintptr_t>(data);
  std::uintptr_t first = 0;
  if (byte_offset > INT64_MAX || __builtin_add_overflow(start, byte_offset, &first)) {
    core::fail(Fault::kBuffer, "byte_offset is ", byte_offset,
               "; data + byte_offset leaves the address space");
  }
  const std::int64_t low = range.first_byte();
  const std::int64_t high = range.end_byte();
  std::uintptr_t lowest = 0, end = 0;
  if (__builtin_add_overflow(first, low, &lowest) || __builtin_add_overflow(first, high, &end)) {
    core::fail(Fault::kBuffer, "strides: bytes ", low, " to ", high,
               " from the first element leave the address space");
  }
  if (lowest < kLowestAddress) {
    core::fail(Fault::kBuffer, "data is NULL with an offset: the first byte is at address ", lowest,
               "; no memory is below ", kLowestAddress);
  }
  return reinterpret_cast<std::byte*>(first);
}

/// Storage over CPU memory that owns a foreign managed tensor: the counterpart of Exported.
template <class M>
class ImportedStorage final : public core::Storage {
 public:
  ImportedStorage(std::byte* data, core::Device device, bool writable) noexcept
      : Storage(data, device, writable, /*foreign=*/true, &ImportedStorage::destroy) {}

  void own(Managed<M>& tensor) noexcept { tensor_ = tensor.release(); }

 private:
  static void destroy(core::Storage* base) noexcept {
    auto* self = static_cast<ImportedStorage*>(base);
    Managed<M> tensor(self->tensor_);
    delete self;
  }  // [8] last drop: the producer's deleter runs here, after `self` has been freed

  M* tensor_ = nullptr;
};

/// Storage over memory that devices access, pinned memory included: the deleter runs when the
/// runtime's work on it is done.
template <class M>
core::StoragePtr make_tracked_storage(Managed<M>& tensor, const Imported& checked) {
  const auto call_deleter = [](void* owner) noexcept {
    core::call_foreign([](void* to) noexcept { Managed<M>(static_cast<M*>(to)); }, owner);
  };
  core::StoragePtr storage = runtime::new_foreign_storage(
      checked.array.data, checked.device, !checked.array.readonly, call_deleter, tensor.get());
  (void)tensor.release();  // the storage owns the tensor; nothing below can fail
  return storage;
}

}  // namespace

std::string device_text(DLDevice device) {
  const char* known[] = {nullptr,  "CPU",         "CUDA",    "CUDAHost", "OpenCL",  nullptr,
                         nullptr,  "Vulkan",      "Metal",   "VPI",      "ROCM",    "ROCMHost",
                         "ExtDev", "CUDAManaged", "OneAPI",  "WebGPU",   "Hexagon", "MAIA",
                         "Trn",    "TPU",         "TPUHost", "Ascend"};
  constexpr std::int32_t kNewest = 18;  // of the releases: the others are in dlpack.h's main branch
  const auto type = static_cast<std::int32_t>(device.device_type);
  const char* label =
      type > 0 && type < static_cast<std::int32_t>(std::size(known)) ? known[type] : nullptr;
  return core::text("(", type, ", ", device.device_id, ")", label == nullptr ? "" : " = kDL",
                    label == nullptr ? "" : label, type > kNewest && label ? " (unreleased)" : "");
}

void validate(const DLTensor& tensor, const TensorContext& context, Imported& out,
              HostLabel label) {  // [7] validate
  // Each field is read once, because another thread may be writing to the struct, and by a load of
  // its own, as producers store it: a wider load of what several stores have just written stalls,
  // because it cannot be forwarded from them.
  const DLDataType dtype{read_once(tensor.dtype.code), read_once(tensor.dtype.bits),
                         read_once(tensor.dtype.lanes)};
  const DLDeviceType device_type = read_once(tensor.device.device_type);
  const std::int64_t* const shape = read_once(tensor.shape);
  const std::int64_t* const strides = read_once(tensor.strides);
  core::Array& array = out.array;
  core::Layout& layout = array.layout;
  out.device = core::Device{};
  if (device_type != kDLCPU)
    out.device = checked_device({device_type, read_once(tensor.device.device_id)});
  if (label == HostLabel::kCpu && out.device.is_host()) out.device = core::Device{};
  if ((context.flags & ~kKnownFlags) != 0) check_unknown_flags(context, dtype);
  read_dtype(dtype, (context.flags & kPadded) != 0, array.dtype);
  const int ndim = checked_ndim(read_once(tensor.ndim));
  check_shape(shape, ndim);
  const core::Survey found = strides != nullptr
                                 ? core::survey(shape, strides, ndim, array.dtype, layout)
                                 : survey_row_major(shape, ndim, array.dtype, layout);
  if (!found.sound) explain(layout, array.dtype);
  if (found.size == 0) set_row_major(layout);
  // An empty tensor's data may be any value and is not read (TENS-04).
  array.data = found.size == 0 ? nullptr
                               : checked_data(read_once(tensor.data), read_once(tensor.byte_offset),
                                              found.range);
  if (out.device.kind != core::DeviceKind::kCpu && array.data != nullptr) {
    out.device = runtime::confirm(out.device, array.data);  // DEV-06, DEV-11, A-47
  }
  array.bit = 0;
  array.readonly = (context.flags & kReadOnly) != 0;
  out.copied = (context.flags & kIsCopied) != 0;
}

core::Array allocate_like(const DLTensor& prototype) {
  core::Layout layout;
  const core::Device device = checked_device(prototype.device);
  core::DType dtype;
  read_dtype(prototype.dtype, /*padded=*/false, dtype);
  const int ndim = checked_ndim(prototype.ndim);
  check_shape(prototype.shape, ndim);
  if (!survey_row_major(prototype.shape, ndim, dtype, layout).sound) explain(layout, dtype);
  return runtime::new_array(dtype, layout.extents(), device, /*zeroed=*/false);
}

template <class M>
void check_tensor(const M& tensor, Imported& out, HostLabel label) {
  if (!Wire<M>::is_known_major(tensor)) {
    if constexpr (Wire<M>::versioned) {
      core::fail(core::Fault::kBuffer, "version: the tensor's major version is ",
                 tensor.version.major, "; refarray reads ", kVersion.major, " only");
    }
  }
  validate(tensor.dl_tensor, {Wire<M>::flags(tensor), Wire<M>::minor(tensor)}, out, label);
}

template <class M>
core::StoragePtr make_storage(Managed<M>& tensor, const Imported& checked) {
  core::Storage* own = own_storage(*tensor);  // one of ours comes back
  if (own != nullptr && own->device() == checked.device) return open_own(std::move(tensor));
  if (checked.device.kind != core::DeviceKind::kCpu) return make_tracked_storage(tensor, checked);
  auto* storage =
      new ImportedStorage<M>(checked.array.data, checked.device, !checked.array.readonly);
  storage->own(tensor);  // the storage owns the tensor; nothing below can fail
  return core::StoragePtr::steal(storage);
}

template <class M>
void to_array(Managed<M> tensor, Imported& out, HostLabel label) {
  check_tensor(*tensor, out, label);
  out.array.storage = make_storage(tensor, out);
}

template void check_tensor(const DLManagedTensor&, Imported&, HostLabel);
template void check_tensor(const DLManagedTensorVersioned&, Imported&, HostLabel);
template core::StoragePtr make_storage(Managed<DLManagedTensor>&, const Imported&);
template core::StoragePtr make_storage(Managed<DLManagedTensorVersioned>&, const Imported&);
template void to_array(Managed<DLManagedTensor>, Imported&, HostLabel);
template void to_array(Managed<DLManagedTensorVersioned>, Imported&, HostLabel);

}  // namespace refarray::dlpack
