// Loads the device kernels, and recognises devices they cannot run on.
#include "runtime/kernels/kernel_module.hpp"

#include <algorithm>

#include "runtime/device_context.hpp"
#include "runtime/kernels/images.hpp"
#include "runtime/streams/relaxed_capture.hpp"

namespace refarray::runtime {
namespace {

/// The image cannot be used with this driver or device: invalid image, no binary for the device,
/// invalid PTX, no JIT compiler, unsupported PTX version, JIT compilation disabled
/// (CUDA_DISABLE_PTX_JIT), shared object symbol not found, shared object initialisation failed.
/// Both vendors use the same numbers.
constexpr std::array<Status, 8> kUnsupportedImage{200, 209, 218, 221, 222, 223, 302, 303};

}  // namespace

Handle KernelModule::kernel(const Driver& driver, int number) {
  const std::lock_guard guard(lock_);
  if (module_ == nullptr && !unsupported_) load(driver);
  if (unsupported_) return nullptr;
  const auto row = static_cast<std::size_t>(number);
  if (kernels_[row] == nullptr) {
    const RelaxedCaptureMode relaxed(driver.api);
    driver.check(driver.api.module_function(&kernels_[row], module_, kernels::kKernelNames[row]),
                 "looking up a kernel");
  }
  return kernels_[row];
}

void KernelModule::load(const Driver& driver) {
  const auto image = driver.vendor == Vendor::kCuda ? kernels::ptx_image() : kernels::amd_image();
  const RelaxedCaptureMode relaxed(driver.api);
  Handle module = nullptr;
  const Status status = driver.api.module_load(&module, image.data());
  unsupported_ = std::ranges::find(kUnsupportedImage, status) != kUnsupportedImage.end();
  if (unsupported_) return;
  driver.check(status, "loading the kernels");
  module_ = module;
}

}  // namespace refarray::runtime
