// Owns Driver: one vendor's driver in this process, how its failures become errors, and being on a
// device for a while without the user noticing.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "refarray/core/device.hpp"
#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

enum class Vendor { kCuda, kHip };

/// The vendor behind a kind of memory; the CPU has none and must not be asked for.
constexpr Vendor vendor_of(core::DeviceKind kind) noexcept {
  return kind == core::DeviceKind::kRocm || kind == core::DeviceKind::kRocmHost ? Vendor::kHip
                                                                                : Vendor::kCuda;
}

class DeviceContext;

/// A driver that is loaded, initialised and has a device. Made at first use, never destroyed.
class Driver {
 public:
  Vendor vendor;
  Api api;
  int version = 0;
  std::string library;
  std::vector<std::unique_ptr<DeviceContext>> units;  // by device id

  explicit Driver(Vendor which) noexcept : vendor(which) {}

  const char* name() const noexcept { return vendor == Vendor::kCuda ? "CUDA" : "ROCm"; }
  DeviceContext& unit(int id) const noexcept { return *units[static_cast<std::size_t>(id)]; }
  /// "CUDA: cuMemAllocAsync ..." is not known here: `call` says what was done in plain words.
  /// Throws kMemory for out of memory, else DriverError with the driver's name for the status.
  void check(Status status, const char* call) const {
    if (status != kSuccess) [[unlikely]]
      fail(status, call);
  }
  [[noreturn, gnu::cold]] void fail(Status status, const char* call) const;
};

/// The vendor's driver, loaded at the first call; nullptr, with the reason in `why`, when there is
/// none or when this process was forked from one that had initialised it.
Driver* find_driver(Vendor vendor, std::string* why = nullptr);
/// Likewise, but nothing is loaded: nullptr unless somebody did before.
Driver* loaded_driver(Vendor vendor) noexcept;
/// The unit behind a device that arrays can be on. Throws kBuffer naming the device and the reason.
DeviceContext& unit_of(const core::Device& device);
/// Whether this process is a child of one that had initialised a driver: then nothing of it works.
bool is_forked() noexcept;

/// Makes a device current for the calling thread while it lives, and gives back the user's own.
class OnDevice {
 public:
  explicit OnDevice(const DeviceContext& unit);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

 private:
  const Driver& driver_;
  std::intptr_t before_ = 0;
};

/// The same for code that must not throw: ask whether it worked.
class TryOnDevice {
 public:
  explicit TryOnDevice(const DeviceContext& unit) noexcept;
  TryOnDevice(const TryOnDevice&) = delete;
  TryOnDevice& operator=(const TryOnDevice&) = delete;
  ~TryOnDevice();
  explicit operator bool() const noexcept { return entered_; }

 private:
  const Driver& driver_;
  std::intptr_t before_ = 0;
  bool entered_;
};

}  // namespace refarray::runtime
