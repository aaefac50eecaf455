// Queries and waits for events through streams that wait for them.
#include "runtime/drivers/hip_events.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "runtime/drivers/hip_abi.hpp"

namespace refarray::runtime::hip {
namespace {

constexpr int kFirstDefective = 70000000;
constexpr int kFirstRepaired = 70300000;
/// Streams per device that wait for queried events. If more events are asked for while unfinished,
/// an event may count as unfinished until another one has finished too.
constexpr std::ptrdiff_t kMostQueried = 8;

const Calls* calls = nullptr;  // written once, when the driver is loaded

/// A stream of ours that waits for events of its device.
struct Waiter {
  Handle stream = nullptr;
  int device = 0;
  Handle event = nullptr;  // the event whose latest record the stream is known to wait for
  bool busy = false;       // the stream may still wait
};

class Waiters {
 public:
  /// A loop that asks for one event until it is done uses one stream, whatever it asks for between.
  Status query(Handle event) {
    const std::lock_guard guard(lock_);
    const auto asked =
        std::ranges::find_if(all_, [&](const Waiter& one) { return one.event == event; });
    if (asked != all_.end()) return ask(*asked);
    Waiter waiter;
    if (const Status status = take(waiter, /*blocks=*/false); status != kSuccess) return status;
    Status status = calls->stream_wait(waiter.stream, event, 0);
    if (status == kSuccess) {
      waiter.event = event;
      waiter.busy = true;
      status = ask(waiter);
    }
    all_.push_back(waiter);  // take() has reserved the space
    return status;
  }

  /// Blocks without the lock.
  Status synchronize(Handle event) {
    Waiter waiter;
    {
      const std::lock_guard guard(lock_);
      if (const Status status = take(waiter, /*blocks=*/true); status != kSuccess) return status;
    }
    Status status = calls->stream_wait(waiter.stream, event, 0);
    if (status == kSuccess) status = calls->stream_synchronize(waiter.stream);
    waiter.busy = status != kSuccess;
    // A stream that was asked for the event before may arrive later than this one.
    if (status == kSuccess) forget(event);
    const std::lock_guard guard(lock_);
    all_.push_back(waiter);
    return status;
  }

  /// The event is done, recorded again or destroyed: streams that wait for it wait for the past.
  void forget(Handle event) noexcept {
    const std::lock_guard guard(lock_);
    for (Waiter& one : all_) {
      if (one.event == event) one.event = nullptr;
    }
  }

 private:
  /// Whether the stream has arrived. Any status but kNotReady ends its wait.
  static Status ask(Waiter& waiter) {
    const Status status = calls->stream_query(waiter.stream);
    waiter.busy = status == kNotReady;
    if (!waiter.busy) waiter.event = nullptr;
    return status;
  }

  /// An idle stream of the current device, removed from the list, or a new one. The list keeps
  /// space for it. If many wait and the caller does not block, the one that waits for the longest
  /// time: idle ones are left to callers that block. The lock is held.
  Status take(Waiter& out, bool blocks) {
    if (const Status status = calls->get_device(&out.device); status != kSuccess) return status;
    const auto is_idle = [&](Waiter& one) {
      return one.device == out.device && one.event == nullptr &&
             (!one.busy || ask(one) == kSuccess);
    };
    const auto waits = [&](Waiter& one) { return one.device == out.device && !is_idle(one); };
    const bool many_wait = !blocks && std::ranges::count_if(all_, waits) >= kMostQueried;
    const auto found =
        many_wait ? std::ranges::find_if(all_, waits) : std::ranges::find_if(all_, is_idle);
    if (found != all_.end()) {
      out = *found;
      all_.erase(found);
      return kSuccess;
    }
    all_.reserve(++taken_);
    return calls->stream_create(&out.stream, kStreamNonBlocking);
  }

  std::mutex lock_;
  std::vector<Waiter> all_;
  std::size_t taken_ = 0;  // streams created so far, in the list or not
};

Waiters& waiters() {
  static auto& all = *new Waiters;  // outlives every thread
  return all;
}

Status event_query(Handle event) {
  try {  // boundary: the table's entries return statuses
    return waiters().query(event);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

Status event_synchronize(Handle event) {
  try {  // boundary: the table's entries return statuses
    return waiters().synchronize(event);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

Status event_record(Handle event, Handle stream) {
  waiters().forget(event);
  return calls->event_record(event, stream);
}

Status event_destroy(Handle event) {
  waiters().forget(event);
  return calls->event_destroy(event);
}

}  // namespace

bool has_event_defect(int version) noexcept {
  return version >= kFirstDefective && version < kFirstRepaired;
}

void wait_for_events_by_streams(DriverTable& api, const Calls& of) noexcept {
  calls = &of;
  api.event_query = event_query;
  api.event_synchronize = event_synchronize;
  api.event_record = event_record;
  api.event_destroy = event_destroy;
}

}  // namespace refarray::runtime::hip
