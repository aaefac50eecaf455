// Owns DeviceContext: one device of a driver, with what is kept for it: its memory pool, events to
// use again, a stream for frees, kernels, and pinned memory for transfers.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/copy/staging.hpp"
#include "runtime/drivers/driver.hpp"
#include "runtime/kernels/kernel_module.hpp"

namespace refarray::runtime {

class DeviceContext {
 public:
  Driver& driver;
  const int id;
  const bool has_pools;
  Modules modules;
  StagingRing staging;
  std::atomic<bool> is_ready{false};  // it has been entered, which takes long the first time

  DeviceContext(Driver& of, int number, bool pools) noexcept
      : driver(of), id(number), has_pools(pools) {}

  const Api& api() const noexcept { return driver.api; }
  std::uint64_t bit() const noexcept { return std::uint64_t{1} << (id & 63); }
  void check(Status status, const char* call) const { driver.check(status, call); }

  /// The pool, made at first use. The device must be current. Throws.
  Handle pool();
  /// The stream that frees wait on when no stream of anybody's may be used; made at first use.
  /// nullptr when it cannot be made.
  Handle reaper() noexcept;

  /// An event without timing: one that is free, or a new one. Throws.
  Handle take_event();
  void give_event(Handle event) noexcept;

  /// A stream of the device has been seen to capture a graph, or not to: once one did, calls that
  /// would spoil a capture are avoided, even where that costs waiting.
  void note_capture(Handle stream, bool captures) noexcept;
  /// Whether calls that concern all of the device's streams may spoil a capture. Captures of other
  /// libraries in streams that do not order themselves with the default one, and that were never
  /// given to us, cannot be seen. The device must be current.
  bool may_spoil_capture() noexcept;
  /// Whether a capture that was seen may still be under way. Streams of others are not asked, since
  /// they may be gone: theirs count, unless `ours` alone are asked for. The device must be current.
  bool is_capturing(bool ours) noexcept;
  /// Nothing on the device captures: it could be waited for as a whole.
  void forget_captures() noexcept;

  /// Streams of our own, which may be asked at any time.
  void add_stream(Handle stream);
  void remove_stream(Handle stream) noexcept;

 private:
  /// Under the lock: whether one of our own streams captures, or the default stream must not be
  /// used because another one does.
  bool captures_now() noexcept;

  std::mutex lock_;
  Handle pool_ = nullptr;
  Handle reaper_ = nullptr;
  std::vector<Handle> events_;
  std::mutex streams_lock_;  // of what follows
  std::vector<Handle> streams_;
  std::vector<Handle> capturing_;  // streams of others, when they were asked last
  std::atomic<bool> captures_{false};
};

}  // namespace refarray::runtime
