// KernelModule: our compiled kernels, loaded on one device.
#pragma once

#include <array>
#include <mutex>

#include "runtime/drivers/driver_table.hpp"
#include "runtime/kernels/names.hpp"

namespace refarray::runtime {

class Driver;

/// Thread-safe.
class KernelModule {
 public:
  /// The kernel in that row of kKernelNames. The module is loaded on first use and never unloaded.
  /// nullptr if no image of ours fits the device. The device must be current. Throws kMemory,
  /// DriverError.
  Handle kernel(const Driver& driver, int number);

 private:
  void load(const Driver& driver);

  std::mutex lock_;
  Handle module_ = nullptr;
  bool unsupported_ = false;
  std::array<Handle, kernels::kKernelNames.size()> kernels_{};
};

}  // namespace refarray::runtime
