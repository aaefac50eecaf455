// Owns the one validator of incoming tensors: pure C++, every field read once, checked arithmetic
// only.
#include <atomic>
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "dlpack/import.hpp"
#include "runtime/runtime.hpp"

namespace refarray::dlpack {
namespace {

using core::Fault;
using core::kMaxRank;

void read_dtype(DLDataType dtype, bool padded, core::DType& out) {
  const int row = core::scalar_index(dtype.code, dtype.bits);
  if (row < 0) {
    core::fail(Fault::kBuffer, "dtype: (code ", int{dtype.code}, ", bits ", int{dtype.bits},
               ") names no type that refarray carries",
               dtype.code == kDLOpaqueHandle ? " (opaque handle)" : "");
  }
  if (dtype.lanes == 0) core::fail(Fault::kBuffer, "dtype: lanes is 0; the least is 1");
  if (padded && dtype.bits >= 8) {
    core::fail(Fault::kBuffer, "flags: IS_SUBBYTE_TYPE_PADDED is set for (code ", int{dtype.code},
               ", bits ", int{dtype.bits}, "); the flag is for types of less than 8 bits");
  }
  core::set_dtype(out, dtype.code, dtype.bits, dtype.lanes, padded);
}

/// A device whose driver is there. Throws kBuffer saying why it is not.
core::Device usable_device(core::DeviceKind kind, std::int32_t id) {
  const core::Device device{kind, id};
  runtime::require(device);
  return device;
}

/// Host memory of any label; its id carries no meaning and is normalised to 0. Unknown
/// numbers are survivable: the field is read as an int32, never as an enum that cannot hold it
/// (ABI-03).
core::Device checked_device(DLDevice device) {
  switch (static_cast<std::int32_t>(device.device_type)) {
    case kDLCPU:
      return core::Device{};
    case kDLCUDAHost:
      return core::Device{core::DeviceKind::kCudaHost, 0};
    case kDLROCMHost:
      return core::Device{core::DeviceKind::kRocmHost, 0};
    case kDLCUDA:
      return usable_device(core::DeviceKind::kCuda, device.device_id);
    case kDLROCM:
      return usable_device(core::DeviceKind::kRocm, device.device_id);
    case kDLCUDAManaged:
      return usable_device(core::DeviceKind::kCudaManaged, 0);
    default:
      core::fail(Fault::kBuffer, "device: ", device_text(device),
                 " is not memory that this process can use; host memory (types 1, 3, 11) is");
  }
}

void check_unknown_flags(const TensorContext& context, DLDataType dtype) {
  // A new bit may change what the bytes mean (bit 2 did), so it is refused where that could matter
  //
  const std::uint64_t unknown = context.flags & ~kKnownFlags;
  if (dtype.bits < 8 || context.minor > kVersion.minor) {
    core::fail(Fault::kBuffer, "flags: unknown bits ", unknown, " on a version 1.", context.minor,
               " tensor of ", int{dtype.bits}, "-bit elements; known bits are ", kKnownFlags);
  }
}

int checked_ndim(std::int32_t ndim) {
  if (ndim < 0 || ndim > kMaxRank) {  // before shape is read (TENS-09)
    core::fail(Fault::kBuffer, "ndim is ", ndim, "; it must be 0 to ", kMaxRank);
  }
  return ndim;
}

void check_shape(const std::int64_t* shape, int ndim) {
  if (ndim > 0 && shape == nullptr)
    core::fail(Fault::kBuffer, "shape is NULL although ndim is ", ndim);
}

/// The row-major strides: for NULL (legal before 1.2, tolerated later: A-02), and for empty
/// tensors, whose strides carry no meaning (TENS-14) and could be anything.
void set_row_major(core::Layout& out) noexcept {
  std::uint64_t stride = 1;  // wraps only where survey() refuses the shape
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

/// Runs a check of the core whose Fault is about a caller's argument, and reports it as
/// undescribable data.
template <class F>
auto as_buffer_error(const char* field, F check) {
  try {  // boundary: an incoming tensor's field is never the caller's argument (CONS-07)
    return check();
  } catch (const core::Error& error) {  // boundary: as above
    if (error.fault() == Fault::kMemory) throw;
    core::fail(Fault::kBuffer, field, ": ", error.what());
  }
}

/// One load of this width, neither merged with its neighbours nor repeated.
template <class T>
T read_once(const T& field) noexcept {
  return std::atomic_ref(const_cast<T&>(field)).load(std::memory_order_relaxed);
}

/// Says in words what survey() found unsound.
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

/// data + byte_offset; it and every element after and before it must lie inside the address space.
std::byte* checked_data(void* data, std::uint64_t byte_offset, core::BitRange range) {
  if (data == nullptr) {
    core::fail(Fault::kBuffer, "data is NULL although the tensor has elements (byte_offset ",
               byte_offset, ")");
  }
  std::uintptr_t first = 0;
  if (byte_offset > INT64_MAX ||
      __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(data), byte_offset, &first)) {
    core::fail(Fault::kBuffer, "byte_offset is ", byte_offset,
               "; with data it leaves the address space");
  }
  const std::int64_t low = range.first_byte();
  const std::int64_t high = range.end_byte();
  std::uintptr_t end = 0;
  if (static_cast<std::uintptr_t>(-low) > first ||
      __builtin_add_overflow(first, static_cast<std::uintptr_t>(high), &end)) {
    core::fail(Fault::kBuffer, "strides: bytes ", low, " to ", high,
               " from the first element leave the address space");
  }
  return reinterpret_cast<std::byte*>(first);
}

}  // namespace

std::string device_text(DLDevice device) {
  const char* known[] = {nullptr,  "CPU",      "CUDA",   "CUDAHost",    "OpenCL",
                         nullptr,  nullptr,    "Vulkan", "Metal",       "VPI",
                         "ROCM",   "ROCMHost", "ExtDev", "CUDAManaged", "OneAPI",
                         "WebGPU", "Hexagon",  "MAIA",   "Trn"};
  const auto type = static_cast<std::int32_t>(device.device_type);
  const char* label = type > 0 && type <= 18 ? known[type] : nullptr;
  return core::text("(", type, ", ", device.device_id, ")", label == nullptr ? "" : " = kDL",
                    label == nullptr ? "" : label);
}

void validate(const DLTensor& tensor, const TensorContext& context, Imported& out) {
  const DLTensor fields = tensor;  // each field once: another thread may be writing to the struct
  // Field by field, as producers store it: one load over three fresh stores would wait for all of
  // them.
  const DLDataType dtype{read_once(tensor.dtype.code), read_once(tensor.dtype.bits),
                         read_once(tensor.dtype.lanes)};
  core::Array& array = out.array;
  core::Layout& layout = array.layout;
  out.device = checked_device(fields.device);
  if (out.as_cpu && out.device.is_host()) out.device = core::Device{};  // only another label
  if ((context.flags & ~kKnownFlags) != 0) check_unknown_flags(context, dtype);
  read_dtype(dtype, (context.flags & kPadded) != 0, array.dtype);
  const int ndim = checked_ndim(fields.ndim);
  check_shape(fields.shape, ndim);
  const core::Survey found =
      fields.strides != nullptr
          ? core::survey(fields.shape, fields.strides, ndim, array.dtype, layout)
          : survey_row_major(fields.shape, ndim, array.dtype, layout);
  if (!found.sound) explain(layout, array.dtype);
  if (found.size == 0) set_row_major(layout);
  // Nothing is read from an empty tensor's data, and it may be any value (TENS-04).
  array.data =
      found.size == 0 ? nullptr : checked_data(fields.data, fields.byte_offset, found.range);
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

}  // namespace refarray::dlpack
