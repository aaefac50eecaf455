// RelaxedCaptureMode: RAII for the calling thread's stream capture mode.
#pragma once

#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

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
