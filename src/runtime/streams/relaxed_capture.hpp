// Owns Relaxed: asking a driver for things that a graph capture under way would forbid.
#pragma once

#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

/// While it lives, calls of this thread that have nothing to do with a capture are allowed.
class Relaxed {
 public:
  explicit Relaxed(const Api& api) noexcept : api_(api) {
    entered_ = api_.exchange_capture_mode(&mode_) == kSuccess;
  }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() {
    if (entered_) api_.exchange_capture_mode(&mode_);
  }

 private:
  static constexpr int kRelaxed = 2;  // the same number in both vendors' headers
  const Api& api_;
  int mode_ = kRelaxed;
  bool entered_;
};

}  // namespace refarray::runtime
