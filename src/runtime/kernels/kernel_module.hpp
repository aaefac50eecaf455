// Owns Modules: the device kernels as a driver has loaded them for one device.
#pragma once

#include <array>
#include <mutex>

#include "runtime/drivers/driver_table.hpp"
#include "runtime/kernels/names.hpp"

namespace refarray::runtime {

class Driver;

class Modules {
 public:
  /// The kernel of that row of kKernelNames, loaded at first use and never unloaded; nullptr when
  /// none of our images is for this device. The device must be current. Throws kMemory,
  /// DriverError.
  Handle kernel(const Driver& driver, int number);

 private:
  void load(const Driver& driver);

  std::mutex lock_;
  Handle module_ = nullptr;
  bool refused_ = false;
  std::array<Handle, kernels::kKernelNames.size()> kernels_{};
};

}  // namespace refarray::runtime
