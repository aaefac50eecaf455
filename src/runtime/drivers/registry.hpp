// The drivers loaded in this process: at most one per vendor, unusable after a fork.
#pragma once

#include <string>
#include <vector>

#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

class Driver;

/// The vendor's driver, loaded by the first call. Returns nullptr, with the reason in `why`, if no
/// driver can be used or if this process was forked after a driver had been initialised.
Driver* find_driver(Vendor vendor, std::string* why = nullptr);
/// Like find_driver(), but never loads: nullptr until someone has called find_driver().
Driver* loaded_driver(Vendor vendor) noexcept;
/// Whether this process is a child of one that had initialised a driver. Drivers do not survive a
/// fork: no driver function may be called.
bool is_forked() noexcept;

/// One vendor's driver, as `refarray doctor` reports it.
struct DriverReport {
  std::string name;     // "CUDA", "ROCm"
  std::string library;  // the file that was opened, or the last one tried
  bool found;           // the library was opened and has every function we need
  int devices;          // the number of devices; -1 if it could not be queried
  std::string detail;   // why the driver cannot be used; empty if it can
};

/// Tries to load both vendors' drivers, unless that was done before, and reports the results.
std::vector<DriverReport> probe_drivers();

}  // namespace refarray::runtime
