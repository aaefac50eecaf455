// The drivers loaded in this process: at most one per vendor, unusable after a fork. Which devices
// it can use, and making them ready.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "refarray/core/device.hpp"
#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

class Driver;
class DeviceContext;

namespace detail {
extern std::atomic<bool> forked;
extern std::array<std::atomic<Driver*>, 2> drivers;
inline std::atomic<Driver*>& driver_of(Vendor vendor) noexcept {
  return drivers[static_cast<std::size_t>(vendor)];
}
}  // namespace detail

/// Whether this process is a child of one that had initialised a driver. Drivers do not survive a
/// fork: no driver function may be called.
inline bool is_forked() noexcept { return detail::forked.load(std::memory_order_relaxed); }

/// The vendor's driver, loaded by the first call. Returns nullptr, with the reason in `why`, if no
/// driver can be used or if this process was forked after a driver had been initialised.
Driver* find_driver(Vendor vendor, std::string* why = nullptr);
/// Like find_driver(), but never loads: nullptr until someone has called find_driver().
inline Driver* loaded_driver(Vendor vendor) noexcept {
  return is_forked() ? nullptr : detail::driver_of(vendor).load(std::memory_order_acquire);
}

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

/// Loads the device's driver and initialises the device, which may take seconds: do not hold the
/// GIL. Failures are ignored; the next operation that needs the device reports them.
void open(const core::Device& device) noexcept;
/// Whether open() would have nothing to do.
bool is_open(const core::Device& device) noexcept;

/// Whether this process can allocate on `device`. Loads its driver.
bool can_allocate(const core::Device& device) noexcept;
/// Throws kBuffer naming the device and the reason if arrays cannot be on it. Loads its driver.
void require(const core::Device& device);

/// The context of a GPU, pinned or managed device. Loads its driver. Throws kBuffer naming the
/// device and the reason.
DeviceContext& context_of(const core::Device& device);

/// A device of the driver on which an address can be looked up: `preferred`, unless only others
/// have been initialised. The driver answers for addresses of all devices, and initialising one for
/// the question alone would take seconds and hundreds of MB.
DeviceContext& context_for_lookup(DeviceContext& preferred) noexcept;
/// open() before an import of memory that the driver has yet to find the device of.
void open_for_lookup(const core::Device& labelled) noexcept;

}  // namespace refarray::runtime
