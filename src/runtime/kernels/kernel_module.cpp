// Loads the device kernels, and recognises devices they cannot run on.
#include "runtime/kernels/kernel_module.hpp"

#include <algorithm>

#include "runtime/device_context.hpp"
#include "runtime/kernels/images.hpp"

namespace refarray::runtime {
namespace {

/// The image, or a kernel of it, cannot be used with this driver or device: invalid device
/// function, invalid image, no binary for the device, invalid PTX, no JIT compiler, unsupported PTX
/// version, JIT compilation disabled (CUDA_DISABLE_PTX_JIT), file not found, shared object symbol
/// not found, shared object initialisation failed, not found, not supported. Both vendors use the
/// same numbers.
constexpr std::array<Status, 12> kUnsupportedImage{98,  200, 209, 218, 221, 222,
                                                   223, 301, 302, 303, 500, 801};

bool is_unsupported(Status status) noexcept {
  return std::ranges::find(kUnsupportedImage, status) != kUnsupportedImage.end();
}

}  // namespace

Handle KernelModule::kernel(const Driver& driver, int number) {
  const std::lock_guard guard(lock_);
  if (module_ == nullptr && !unsupported_) load(driver);
  if (unsupported_) return nullptr;
  const auto row = static_cast<std::size_t>(number);
  if (kernels_[row] == nullptr) {
    const RelaxedCaptureMode relaxed(driver.api);
    const Status status =
        driver.api.module_function(&kernels_[row], module_, kernels::kKernelNames[row]);
    unsupported_ = is_unsupported(status);
    if (unsupported_) return nullptr;
    driver.check(status, "looking up a kernel");
  }
  return kernels_[row];
}

void KernelModule::load(const Driver& driver) {
  const auto image = driver.vendor == Vendor::kCuda ? kernels::ptx_image() : kernels::amd_image();
  const RelaxedCaptureMode relaxed(driver.api);
  Handle module = nullptr;
  const Status status = driver.api.module_load(&module, image.data());
  unsupported_ = is_unsupported(status);
  if (unsupported_) return;
  driver.check(status, "loading the kernels");
  module_ = module;
}

}  // namespace refarray::runtime
