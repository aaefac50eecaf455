// Owns how the device kernels come onto a device, and which failures mean that they never will.
#include "runtime/kernels/kernel_module.hpp"

#include <algorithm>

#include "runtime/device_context.hpp"
#include "runtime/kernels/images.hpp"
#include "runtime/streams/relaxed_capture.hpp"

namespace refarray::runtime {
namespace {

/// Statuses that say the image is nothing for this driver and device: no image, no binary for the
/// device, invalid PTX, no compiler in the driver, PTX too new. The same numbers in both vendors'
/// headers, where both have them.
constexpr std::array<Status, 5> kNotForThis{200, 209, 218, 221, 222};

}  // namespace

Handle Modules::kernel(const Driver& driver, int number) {
  const std::lock_guard guard(lock_);
  if (module_ == nullptr && !refused_) load(driver);
  if (refused_) return nullptr;
  const auto row = static_cast<std::size_t>(number);
  if (kernels_[row] == nullptr) {
    const Relaxed whatever_is_captured(driver.api);
    driver.check(driver.api.module_function(&kernels_[row], module_, kernels::kKernelNames[row]),
                 "finding a kernel");
  }
  return kernels_[row];
}

void Modules::load(const Driver& driver) {
  const auto image = driver.vendor == Vendor::kCuda ? kernels::ptx_image() : kernels::amd_image();
  const Relaxed whatever_is_captured(driver.api);
  Handle module = nullptr;
  const Status status = driver.api.module_load(&module, image.data());
  refused_ = std::ranges::find(kNotForThis, status) != kNotForThis.end();
  if (refused_) return;
  driver.check(status, "loading the kernels");
  module_ = module;
}

}  // namespace refarray::runtime
