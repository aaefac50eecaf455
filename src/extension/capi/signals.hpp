// Long work without the GIL, which a signal handler such as that of Ctrl-C can interrupt.
#pragma once

#include <chrono>

#include "core/work_sharing.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"

namespace refarray::extension {

/// Runs pending signal handlers during work that has released the GIL. At most once per kInterval,
/// because taking the GIL may mean waiting for another thread.
class SignalCheck {
 public:
  explicit SignalCheck(GilRelease& released) noexcept : released_(released) {}
  core::InterruptCheck callback() noexcept {
    return {[](void* self) noexcept { return static_cast<SignalCheck*>(self)->is_interrupted(); },
            this};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{20};

  bool is_interrupted() noexcept {
    const Clock::time_point now = Clock::now();
    if (now - last_ < kInterval) return false;
    last_ = now;
    return released_.run_handlers();
  }

  GilRelease& released_;
  Clock::time_point last_ = Clock::now();
};

/// Calls `work(interrupt)`, which returns false when the check interrupted it. With
/// kReleaseGilAbove `bytes` or more the GIL is released, and pending signal handlers run several
/// times in 100 ms. If one raises, the work stops and ErrorSet is thrown. `work` touches no Python
/// object.
template <class Work>
void run_interruptibly(std::int64_t bytes, const Work& work) {
  if (bytes < kReleaseGilAbove) {
    work(core::InterruptCheck{});
    return;
  }
  GilRelease released(true);
  SignalCheck signals(released);
  const bool is_complete = work(signals.callback());
  if (!is_complete) throw ErrorSet{};  // a handler raised; unwinding takes the GIL again
}

}  // namespace refarray::extension
