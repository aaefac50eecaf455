// Owns Unit: one device of a driver, with what is kept for it: its memory pool, events to use
// again, a stream for frees, kernels, and pinned memory for transfers.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/driver.hpp"
#include "runtime/modules.hpp"
#include "runtime/staging.hpp"

namespace refarray::runtime {

class Unit {
 public:
  Driver& driver;
  const int id;
  const bool has_pools;
  Modules modules;
  StagingRing staging;

  Unit(Driver& of, int number, bool pools) noexcept : driver(of), id(number), has_pools(pools) {}

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

  /// A stream of the device has been seen to capture a graph: from then on calls that would spoil
  /// one are avoided, even where that costs waiting.
  void note_capture() noexcept { captures_.store(true, std::memory_order_relaxed); }
  bool has_captures() const noexcept { return captures_.load(std::memory_order_relaxed); }

 private:
  std::mutex lock_;
  Handle pool_ = nullptr;
  Handle reaper_ = nullptr;
  std::vector<Handle> events_;
  std::atomic<bool> captures_{false};
};

}  // namespace refarray::runtime
