// Uses every function that the headers without Python declare. consumer.cpp includes them too:
// nothing may be defined twice.
#include <refarray/core/device.hpp>
#include <refarray/core/dtype.hpp>
#include <refarray/dlpack/managed.hpp>
#include <refarray/dlpack/wire.hpp>

namespace {

using namespace refarray;
using namespace refarray::core;
using namespace refarray::dlpack;

bool use_device() {
  const Device device{DeviceKind::kCuda, 1};
  return name(device) == "cuda:1" && device_from_name("cuda:1") == device && !device.is_host() &&
         Device{}.is_host() && !device_from_name("gpu");
}

bool use_dtype() {
  DType dtype;
  set_dtype(dtype, static_cast<std::uint8_t>(Kind::kFloat4_e2m1fn), 4, 3, false);
  const bool sizes = dtype.stored_bits() == 12 && dtype.itemsize() == 2 && dtype.is_packed() &&
                     dtype.is_sub_byte() && !dtype.is_complex();
  return sizes && dtype.index() == scalar_index(17, 4) && name(dtype) == "float4_e2m1fnx3" &&
         dtype_from_name("float4_e2m1fnx3") == dtype && !dtype_from_name("float5");
}

/// The deleter runs once, and may be NULL.
template <class M>
bool deletes_once() {
  int deletions = 0;
  M tensor{};
  tensor.manager_ctx = &deletions;
  tensor.deleter = [](M* self) { ++*static_cast<int*>(self->manager_ctx); };
  {
    const Managed<M> managed(&tensor);
  }
  tensor.deleter = nullptr;
  {
    const Managed<M> managed(&tensor);
  }
  return deletions == 1;
}

bool use_managed() {
  return deletes_once<DLManagedTensor>() && deletes_once<DLManagedTensorVersioned>();
}

template <class M>
bool stamps(std::uint64_t flags, std::uint32_t minor) {
  M tensor{};
  Wire<M>::stamp(tensor, kKnownFlags);
  return Wire<M>::flags(tensor) == flags && Wire<M>::minor(tensor) == minor &&
         Wire<M>::is_known_major(tensor) && Wire<M>::capsule != Wire<M>::used;
}

bool use_wire() {
  const DLDataType dtype = to_dlpack(DType{Kind::kBfloat, 16, 2, false});
  const DLDevice device = to_dlpack(Device{DeviceKind::kRocm, 3});
  return stamps<DLManagedTensor>(0, 0) && !Wire<DLManagedTensor>::versioned &&
         stamps<DLManagedTensorVersioned>(kReadOnly | kIsCopied | kPadded, kVersion.minor) &&
         Wire<DLManagedTensorVersioned>::versioned && dtype.code == kDLBfloat && dtype.bits == 16 &&
         dtype.lanes == 2 && device.device_type == kDLROCM && device.device_id == 3;
}

}  // namespace

bool use_headers() { return use_device() && use_dtype() && use_managed() && use_wire(); }
