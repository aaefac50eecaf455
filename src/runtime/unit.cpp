// Owns what is kept for one device: the pool, the reaper stream and events.
#include "runtime/unit.hpp"

#include <new>

namespace refarray::runtime {
namespace {

constexpr unsigned kNonBlocking = 1;    // of streams: not ordered with the legacy default stream
constexpr unsigned kWithoutTiming = 2;  // of events

}  // namespace

Handle Unit::pool() {
  const std::lock_guard guard(lock_);
  if (pool_ == nullptr) {
    Handle made = nullptr;
    check(api().pool_create(&made, id), "making the memory pool");
    pool_ = made;
  }
  return pool_;
}

Handle Unit::reaper() noexcept {
  const std::lock_guard guard(lock_);
  if (reaper_ == nullptr) {
    Handle made = nullptr;
    if (api().stream_create(&made, kNonBlocking) == kSuccess) reaper_ = made;
  }
  return reaper_;
}

Handle Unit::take_event() {
  {
    const std::lock_guard guard(lock_);
    if (!events_.empty()) {
      const Handle event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  Handle event = nullptr;
  check(api().event_create(&event, kWithoutTiming), "making an event");
  return event;
}

void Unit::give_event(Handle event) noexcept {
  try {  // boundary: an event without a place in the list is destroyed instead
    const std::lock_guard guard(lock_);
    events_.push_back(event);
    return;
  } catch (const std::bad_alloc&) {  // boundary: as above
  }
  api().event_destroy(event);
}

}  // namespace refarray::runtime
