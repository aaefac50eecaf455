// Long work without the GIL, which a signal handler such as that of Ctrl-C can interrupt.
#pragma once

#include <chrono>

#include "core/work_sharing.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"

namespace refarray::extension {

/// Runs pending signal handlers during long work, at most once per kInterval, because taking the
/// GIL may mean waiting for another thread. Work that turns out to be long releases the GIL here.
class SignalCheck {
 public:
  explicit SignalCheck(GilRelease& released) noexcept : released_(released) {
    if (released.is_released()) last_ = Clock::now();
  }
  core::InterruptCheck callback() noexcept {
    return {[](void* self) noexcept { return static_cast<SignalCheck*>(self)->is_interrupted(); },
            this};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{20};

  /// Short work asks once or a few times: it does not pay for the clock.
  static constexpr int kChecksPerLook = 8;

  bool is_interrupted() noexcept {
    if (!released_.is_released() && ++checks_ % kChecksPerLook != 0) return false;
    const Clock::time_point now = Clock::now();
    if (now - last_ < kInterval) return false;
    const bool is_first = last_ == Clock::time_point{};
    last_ = now;
    return !is_first && released_.run_handlers();
  }

  GilRelease& released_;
  int checks_ = 0;
  Clock::time_point last_{};  // of the epoch: not looked at yet
};

/// Calls `work(interrupt)`, which returns false when the check interrupted it. Pending signal
/// handlers run several times in 100 ms; if one raises, the work stops and ErrorSet is thrown. With
/// kReleaseGilAbove `bytes` or more the GIL is released at once, otherwise by the first check that
/// finds the work to be long. `work` touches no Python object.
template <class Work>
void run_interruptibly(std::int64_t bytes, const Work& work) {
  GilRelease released(bytes >= kReleaseGilAbove);
  SignalCheck signals(released);
  const bool is_complete = work(signals.callback());
  if (!is_complete) throw ErrorSet{};  // a handler raised; unwinding takes the GIL again
}

}  // namespace refarray::extension
