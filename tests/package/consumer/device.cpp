// Includes refarray/core/device.hpp alone and uses every function that it declares.
#include <refarray/core/device.hpp>

bool use_device() {
  using namespace refarray::core;
  const Device device{DeviceKind::kCuda, 1};
  return name(device) == "cuda:1" && device_from_name("cuda:1") == device && !device.is_host() &&
         Device{}.is_host() && !device_from_name("gpu");
}
