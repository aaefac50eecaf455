// Owns what is kept for one device: the pool, the reaper stream and events.
#include "runtime/device_context.hpp"

#include <algorithm>
#include <new>

#include "runtime/streams/relaxed_capture.hpp"
#include "runtime/streams/stream_key.hpp"

namespace refarray::runtime {
namespace {

constexpr unsigned kNonBlocking = 1;    // of streams: not ordered with the legacy default stream
constexpr unsigned kWithoutTiming = 2;  // of events

}  // namespace

Handle DeviceContext::pool() {
  const std::lock_guard guard(lock_);
  if (pool_ == nullptr) {
    const Relaxed whatever_is_captured(api());
    Handle made = nullptr;
    check(api().pool_create(&made, id), "making the memory pool");
    pool_ = made;
  }
  return pool_;
}

Handle DeviceContext::reaper() noexcept {
  const std::lock_guard guard(lock_);
  if (reaper_ == nullptr) {
    Handle made = nullptr;
    if (api().stream_create(&made, kNonBlocking) == kSuccess) reaper_ = made;
  }
  return reaper_;
}

Handle DeviceContext::take_event() {
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

void DeviceContext::give_event(Handle event) noexcept {
  try {  // boundary: an event without a place in the list is destroyed instead
    const std::lock_guard guard(lock_);
    events_.push_back(event);
    return;
  } catch (const std::bad_alloc&) {  // boundary: as above
  }
  api().event_destroy(event);
}

void DeviceContext::note_capture(Handle stream, bool captures) noexcept {
  if (!captures && !captures_.load(std::memory_order_relaxed)) return;
  captures_.store(true, std::memory_order_relaxed);
  const std::lock_guard guard(streams_lock_);
  std::erase(capturing_, stream);
  // The default streams and our own can be asked again.
  if (!captures || StreamKey(*this, stream).is_default() ||
      std::ranges::find(streams_, stream) != streams_.end()) {
    return;
  }
  try {  // boundary: a capture that is not remembered is spoilt by calls that are made rarely
    capturing_.push_back(stream);
  } catch (const std::bad_alloc&) {  // boundary: as above
  }
}

bool DeviceContext::captures_now() noexcept {
  const auto captures = [this](Handle stream) noexcept {
    int state = 0;
    unsigned long long capture = 0;
    return api().stream_capture(stream, &state, &capture) != kSuccess || state != 0;
  };
  return captures(legacy_handle(driver.vendor)) || std::ranges::any_of(streams_, captures);
}

bool DeviceContext::may_spoil_capture() noexcept {
  if (captures_.load(std::memory_order_relaxed)) return true;
  const std::lock_guard guard(streams_lock_);
  return captures_now();
}

bool DeviceContext::is_capturing(bool ours) noexcept {
  const std::lock_guard guard(streams_lock_);
  return captures_now() || (!ours && !capturing_.empty());
}

void DeviceContext::forget_captures() noexcept {
  const std::lock_guard guard(streams_lock_);
  capturing_.clear();
}

void DeviceContext::add_stream(Handle stream) {
  const std::lock_guard guard(streams_lock_);
  streams_.push_back(stream);
}

void DeviceContext::remove_stream(Handle stream) noexcept {
  const std::lock_guard guard(streams_lock_);
  std::erase(streams_, stream);
}

}  // namespace refarray::runtime
