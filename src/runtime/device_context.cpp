// The lazily created resources of a device, and the graph captures seen on it.
#include "runtime/device_context.hpp"

#include <algorithm>
#include <new>

#include "runtime/streams/stream_key.hpp"

namespace refarray::runtime {
Handle DeviceContext::pool() {
  const std::lock_guard guard(lock_);
  if (pool_ == nullptr) {
    Handle made = nullptr;
    check(api().pool_create(&made, id), "creating a memory pool");
    pool_ = made;
  }
  return pool_;
}

void DeviceContext::trim_pool() noexcept {
  const std::lock_guard guard(lock_);
  const RelaxedCaptureMode relaxed(api());
  if (pool_ != nullptr) api().pool_trim(pool_, 0);
}

Handle DeviceContext::free_stream() noexcept {
  const std::lock_guard guard(lock_);
  if (free_stream_ == nullptr) {
    Handle made = nullptr;
    if (api().stream_create(&made, kStreamNonBlocking) == kSuccess) free_stream_ = made;
  }
  return free_stream_;
}

Handle DeviceContext::relay() {
  constexpr std::size_t kMostRelays = 8;
  const std::lock_guard guard(lock_);
  const RelaxedCaptureMode relaxed(api());
  for (const Handle one : relays_) {
    if (api().stream_query(one) == kSuccess) return one;
  }
  if (relays_.size() >= kMostRelays) return relays_[next_relay_++ % kMostRelays];
  relays_.reserve(kMostRelays);
  Handle made = nullptr;
  check(api().stream_create(&made, kStreamNonBlocking), "creating a stream");
  relays_.push_back(made);
  return made;
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
  check(api().event_create(&event, kEventDisableTiming), "creating an event");
  return event;
}

void DeviceContext::return_event(Handle event) noexcept {
  try {  // boundary: an event that cannot be cached is destroyed
    const std::lock_guard guard(lock_);
    events_.push_back(event);
    return;
  } catch (const std::bad_alloc&) {
  }
  api().event_destroy(event);
}

void DeviceContext::destroy(Handle handle, Destroy function) noexcept {
  const TryDeviceGuard on_device(*this);
  if (on_device) {
    destroy_left();
    (api().*function)(handle);
    return;
  }
  try {  // boundary: without memory the object stays until the process ends
    const std::lock_guard guard(lock_);
    undestroyed_.push_back({handle, function});
  } catch (const std::bad_alloc&) {
  }
}

void DeviceContext::destroy_left() noexcept {
  std::vector<Undestroyed> left;
  {
    const std::lock_guard guard(lock_);
    left.swap(undestroyed_);
  }
  for (const Undestroyed& one : left) (api().*one.function)(one.handle);
}

void DeviceContext::note_capture(Handle stream, bool captures) noexcept {
  if (!captures && !has_seen_capture_.load(std::memory_order_relaxed)) return;
  has_seen_capture_.store(true, std::memory_order_relaxed);
  const std::lock_guard guard(streams_lock_);
  std::erase(capturing_, stream);
  // Default streams and our own can be queried again.
  if (!captures || StreamKey(*this, stream).is_default() ||
      std::ranges::find(streams_, stream, &OwnStream::handle) != streams_.end()) {
    return;
  }
  try {  // boundary: a forgotten capture may be invalidated by a rare call
    capturing_.push_back(stream);
  } catch (const std::bad_alloc&) {
  }
}

void DeviceContext::note_capture_of(Handle stream) noexcept {
  int state = 0;
  unsigned long long capture = 0;
  const Status status = api().stream_capture(stream, &state, &capture);
  if (status == kCaptureImplicit || status == kSuccess)
    note_capture(stream, status == kCaptureImplicit || state != 0);
}

bool DeviceContext::is_in_use() const noexcept {
  if (is_ready.load(std::memory_order_acquire)) return true;
  int active = 0;
  return api().is_active == nullptr || api().is_active(id, &active) != kSuccess || active != 0;
}

template <class Captures>
bool DeviceContext::is_any_stream(Captures captures) noexcept {
  return captures(legacy_handle(driver.vendor)) ||
         std::ranges::any_of(streams_, [&](const OwnStream& one) {
           return one.alive->may_capture() && captures(one.handle);
         });
}

bool DeviceContext::has_active_capture() noexcept {
  const auto captures = [this](Handle stream) noexcept {
    int state = 0;
    unsigned long long capture = 0;
    return api().stream_capture(stream, &state, &capture) != kSuccess || state != 0;
  };
  return is_any_stream(captures);
}

bool DeviceContext::may_invalidate_capture() noexcept {
  if (has_seen_capture_.load(std::memory_order_relaxed)) return true;
  const std::lock_guard guard(streams_lock_);
  return has_active_capture();
}

bool DeviceContext::may_be_capturing(bool own_streams_only) noexcept {
  const std::lock_guard guard(streams_lock_);
  return has_active_capture() || (!own_streams_only && !capturing_.empty());
}

bool DeviceContext::is_known_capturing() noexcept {
  const std::lock_guard guard(streams_lock_);
  const auto captures = [this](Handle stream) noexcept {
    int state = 0;
    unsigned long long capture = 0;
    const Status status = api().stream_capture(stream, &state, &capture);
    return status == kCaptureImplicit || (status == kSuccess && state != 0);
  };
  return is_any_stream(captures);
}

void DeviceContext::clear_captures() noexcept {
  const std::lock_guard guard(streams_lock_);
  capturing_.clear();
}

void DeviceContext::add_stream(const StreamPtr& stream) {
  const std::lock_guard guard(streams_lock_);
  streams_.push_back({stream->handle(), stream.get(), stream});
}

StreamPtr DeviceContext::own_stream(Handle stream) noexcept {
  const std::lock_guard guard(streams_lock_);
  const auto found = std::ranges::find(streams_, stream, &OwnStream::handle);
  return found == streams_.end() ? nullptr : found->object.lock();
}

void DeviceContext::remove_stream(Handle stream) noexcept {
  const std::lock_guard guard(streams_lock_);
  std::erase_if(streams_, [stream](const OwnStream& one) { return one.handle == stream; });
}

}  // namespace refarray::runtime
