// Includes refarray/dlpack/wire.hpp alone and uses every function that it declares.
#include <refarray/dlpack/wire.hpp>

namespace {

using namespace refarray;
using namespace refarray::dlpack;

template <class M>
bool stamps(std::uint64_t flags, std::uint32_t minor) {
  M tensor{};
  Wire<M>::stamp(tensor, kKnownFlags);
  return Wire<M>::flags(tensor) == flags && Wire<M>::minor(tensor) == minor &&
         Wire<M>::is_known_major(tensor) && Wire<M>::capsule != Wire<M>::used;
}

}  // namespace

bool use_wire() {
  const DLDataType dtype = to_dlpack(core::DType{core::Kind::kBfloat, 16, 2, false});
  const DLDevice device = to_dlpack(core::Device{core::DeviceKind::kRocm, 3});
  return stamps<DLManagedTensor>(0, 0) && !Wire<DLManagedTensor>::versioned &&
         stamps<DLManagedTensorVersioned>(kReadOnly | kIsCopied | kPadded, kVersion.minor) &&
         Wire<DLManagedTensorVersioned>::versioned && dtype.code == kDLBfloat && dtype.bits == 16 &&
         dtype.lanes == 2 && device.device_type == kDLROCM && device.device_id == 3;
}
