// Driver: one vendor's driver and its devices; guards of the calling thread's current device and of
// its stream capture mode.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "refarray/core/device.hpp"
#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

class DeviceContext;

/// The vendor behind a device kind; not for the CPU, which has none.
constexpr Vendor vendor_of(core::DeviceKind kind) noexcept {
  return kind == core::DeviceKind::kRocm || kind == core::DeviceKind::kRocmHost ? Vendor::kHip
                                                                                : Vendor::kCuda;
}
constexpr const char* vendor_name(Vendor vendor) noexcept {
  return vendor == Vendor::kCuda ? "CUDA" : "ROCm";
}

/// A loaded and initialised driver that has at least one device. Created by find_driver(), never
/// destroyed.
class Driver {
 public:
  Vendor vendor;
  DriverTable api;
  std::vector<std::unique_ptr<DeviceContext>> contexts;  // indexed by device id

  explicit Driver(Vendor which) noexcept : vendor(which) {}

  const char* name() const noexcept { return vendor_name(vendor); }
  DeviceContext& context(int id) const noexcept { return *contexts[static_cast<std::size_t>(id)]; }
  /// Throws unless `status` is kSuccess: kMemory for kOutOfMemory, else DriverError with the
  /// driver's name for the status. `call` is the operation in plain English, for the message.
  void check(Status status, const char* call) const {
    if (status != kSuccess) [[unlikely]]
      fail(status, call);
  }
  [[noreturn, gnu::cold]] void fail(Status status, const char* call) const;
};

/// RAII: makes a device current in the calling thread, then restores the caller's. Inside another
/// guard of the device it calls no driver: no user code, which could select a device, runs between
/// the two. For code that must not throw: check it.
class TryDeviceGuard {
 public:
  explicit TryDeviceGuard(const DeviceContext& context) noexcept;
  TryDeviceGuard(const TryDeviceGuard&) = delete;
  TryDeviceGuard& operator=(const TryDeviceGuard&) = delete;
  ~TryDeviceGuard();
  /// kSuccess if the device is current.
  Status status() const noexcept { return status_; }
  explicit operator bool() const noexcept { return status_ == kSuccess; }

 private:
  const DeviceContext& context_;
  const DeviceContext* const outer_;
  std::intptr_t before_ = 0;
  Status status_ = kSuccess;
};

/// TryDeviceGuard that throws DriverError if the device could not be made current.
class DeviceGuard {
 public:
  explicit DeviceGuard(const DeviceContext& context);

 private:
  TryDeviceGuard guard_;
};

/// While this lives, the calling thread may make driver calls that are unsafe in captures (see
/// DriverTable), provided that they concern no capturing stream.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const DriverTable& api) noexcept : api_(api) {
    exchanged_ = api_.exchange_capture_mode(&mode_) == kSuccess;
  }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;
  ~RelaxedCaptureMode() {
    if (exchanged_) api_.exchange_capture_mode(&mode_);
  }

 private:
  const DriverTable& api_;
  int mode_ = kCaptureModeRelaxed;
  bool exchanged_;
};

}  // namespace refarray::runtime
