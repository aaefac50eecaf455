// Which pending work conflicts, how streams and the host wait for it, and which waits would
// invalidate a graph capture.
#include "runtime/streams/pending_work.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/error.hpp"

namespace refarray::runtime {
namespace {

bool conflicts(const PendingUse& use, const StreamKey& stream, bool writes) {
  return (writes || use.writes) && !(use.key == stream);
}

[[noreturn]] void refuse_mixed_capture() {
  core::fail(core::Fault::kBuffer,
             "the array's unfinished work and the stream do not belong to the same graph capture, "
             "and waiting would invalidate the capture; export with stream=-1, or before the "
             "capture begins");
}

void record_event(PendingUse& use, const StreamPtr& stream) {
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  // An event of a capture is not used again: HIP has crashed on those (ROCm/rocm-systems#2072).
  EventPtr event = use.capture == 0 ? pooled_event(context) : single_use_event(context);
  record_in(*event, stream, use.capture);
  use.event = std::move(event);
}

/// The stream of a use, if it can be asked for its capture: nullptr once it may have ended, and in
/// other threads than that of a per-thread default stream.
StreamPtr askable_stream(const PendingUse& use) noexcept {
  const bool is_elsewhere = use.key.thread != 0 && use.key.thread != thread_number();
  return is_elsewhere ? nullptr : use.stream.lock();
}

/// Captured in a stream that cannot be asked whether the capture has ended.
bool is_orphan(const PendingUse& use) noexcept {
  return use.capture != 0 && askable_stream(use) == nullptr;
}

/// Whether work outside of captures has finished. Without an event, all of its stream must have.
bool is_known_finished(const PendingUse& use) {
  if (use.event != nullptr || use.capture != 0) return is_finished(use);
  const StreamPtr stream = use.stream.lock();  // without an event it is one of ours
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  if (capture_of(*stream).active) return false;
  const RelaxedCaptureMode relaxed(context.api());
  return context.api().stream_query(stream->handle()) == kSuccess;
}

/// Refuses a use without an event whose stream has left the capture that the use belongs to, or
/// entered one: an event recorded there now would not stand for the use.
void check_can_record(const PendingUse& use) {
  if (use.event != nullptr) return;
  const StreamPtr stream = use.stream.lock();  // as above
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  const Capture capture = capture_of(*stream);
  if (capture.active != (use.capture != 0) || capture.id != use.capture) refuse_mixed_capture();
}

}  // namespace

Capture capture_of(DeviceContext& context, Handle stream) {
  int state = 0;
  unsigned long long id = 0;
  const Status status = context.api().stream_capture(stream, &state, &id);
  if (status == kCaptureImplicit || status == kSuccess) {
    context.note_capture(stream, status == kCaptureImplicit || state != 0);
  }
  if (status == kCaptureImplicit) return {true, 0};
  context.check(status, "querying a stream's capture status");
  if (state == 0) return {};
  return {true, state == kCaptureStatusActive ? id : 0};
}

Capture capture_of(const Stream& stream) {
  return stream.may_capture() ? capture_of(stream.context(), stream.handle()) : Capture{};
}

void refuse_capture(DeviceContext& context, Handle stream, const char* what) {
  if (!capture_of(context, stream).active) return;
  core::fail(core::Fault::kBuffer, what,
             " cannot become part of a graph, and the stream is capturing one; do it before the "
             "capture begins, or on another stream");
}

void refuse_capture_on(DeviceContext& context, const char* what) {
  if (!context.is_known_capturing()) return;
  core::fail(core::Fault::kBuffer, what, " would invalidate the graph capture of a stream of ",
             core::name(device_of(context)),
             "; do it before the capture begins or after it has ended");
}

const EventPtr& event_of(PendingUse& use) {
  if (use.event != nullptr) return use.event;
  check_can_record(use);
  record_event(use, use.stream.lock());
  return use.event;
}

PendingUse unrecorded_use(const StreamPtr& stream, bool writes, const Capture& capture) {
  using Kind = Stream::Kind;
  const bool can_record_later = stream->kind() == Kind::kOwn || stream->kind() == Kind::kLegacy;
  if (!can_record_later) {
    if (capture.active && capture.id == 0) refuse_mixed_capture();
    return recorded_use(stream, writes, capture.id);
  }
  return {nullptr, stream, StreamKey(*stream), writes, capture.id};
}

PendingUse recorded_use(const StreamPtr& stream, bool writes, unsigned long long capture) {
  PendingUse use{nullptr, stream, StreamKey(*stream), writes, capture};
  record_event(use, stream);
  return use;
}

bool is_from_ended_capture(const PendingUse& use) noexcept {
  if (use.capture == 0) return false;
  const StreamPtr stream = askable_stream(use);
  if (stream == nullptr) return true;
  const DeviceContext& context = stream->context();
  const TryDeviceGuard on_device(context);
  int state = 0;
  unsigned long long id = 0;
  return on_device && context.api().stream_capture(stream->handle(), &state, &id) == kSuccess &&
         (state != kCaptureStatusActive || id != use.capture);
}

bool is_finished(const PendingUse& use) noexcept {
  if (is_from_ended_capture(use)) return true;
  if (use.event == nullptr || use.capture != 0) return false;
  const DriverTable& api = use.event->context().api();
  const TryDeviceGuard on_device(use.event->context());
  const RelaxedCaptureMode relaxed(api);
  return on_device && api.event_query(use.event->handle()) == kSuccess;
}

void PendingWork::update_sole_stream() noexcept {
  const void* only = uses_.empty() ? kIdle : identity_of(uses_.front().key);
  const auto is_elsewhere = [&](const PendingUse& use) { return !(use.key == uses_.front().key); };
  if (std::ranges::any_of(uses_, is_elsewhere)) only = nullptr;
  sole_stream_.store(only, std::memory_order_release);
}

bool PendingWork::is_ready_on_slow_path(const StreamKey& stream, bool writes) {
  const std::unique_lock guard(lock_, std::try_to_lock);
  return guard.owns_lock() && std::ranges::none_of(uses_, [&](const PendingUse& use) {
           return conflicts(use, stream, writes);
         });
}

bool PendingWork::prepare_wait(DeviceContext& context, const StreamKey& key, bool writes,
                               Capture& capture) {
  const auto may_wait = [&](const PendingUse& use) { return conflicts(use, key, writes); };
  if (std::ranges::none_of(uses_, may_wait)) return false;
  forget_ended_captures();
  if (std::ranges::none_of(uses_, may_wait)) return false;
  capture = capture_of(context, key.handle);
  const auto must_wait = [&](const PendingUse& use) {
    return may_wait(use) && (use.capture == capture.id || !is_orphan(use));
  };
  if (std::ranges::none_of(uses_, must_wait)) return false;
  for (const PendingUse& use : uses_) {
    if (!must_wait(use)) continue;
    const bool same_capture = use.capture == capture.id && (use.capture != 0) == capture.active;
    if (same_capture) {
      check_can_record(use);
    } else if (!is_known_finished(use)) {
      refuse_mixed_capture();
    }
  }
  return true;
}

void PendingWork::check_can_wait(DeviceContext& context, const StreamKey& key, bool writes) {
  const std::lock_guard guard(lock_);
  Capture capture;
  prepare_wait(context, key, writes, capture);
}

std::uint64_t PendingWork::make_stream_wait(DeviceContext& context, const StreamKey& key,
                                            bool writes, bool* asked) {
  const std::lock_guard guard(lock_);
  Capture capture;
  if (!prepare_wait(context, key, writes, capture)) return newest_;
  if (asked != nullptr) *asked = true;
  for (PendingUse& use : uses_) {
    if (!conflicts(use, key, writes)) continue;
    if (capture.active && use.capture == 0) continue;  // prepare_wait() found it finished
    if (use.capture != capture.id) continue;           // its capture has ended
    if (use.event == nullptr) record_event(use, use.stream.lock());  // as prepare_wait() allows
    context.check(context.api().stream_wait(key.handle, use.event->handle(), 0),
                  "making a stream wait for an event");
  }
  return newest_;
}

/// Orphans stay for work of the same capture. The lock is held.
void PendingWork::forget_ended_captures() noexcept {
  std::erase_if(
      uses_, [](const PendingUse& use) { return is_from_ended_capture(use) && !is_orphan(use); });
  update_sole_stream();
}

void PendingWork::prepare_host_wait(bool writes) {
  forget_ended_captures();
  for (const PendingUse& use : uses_) {
    if ((!writes && !use.writes) || is_orphan(use)) continue;
    if (use.capture != 0) refuse_mixed_capture();
    check_can_record(use);
  }
}

void PendingWork::check_can_wait_on_host(bool writes) {
  const std::lock_guard guard(lock_);
  prepare_host_wait(writes);
}

void PendingWork::wait_on_host(bool writes) {
  std::vector<EventPtr> events;
  {
    const std::lock_guard guard(lock_);
    prepare_host_wait(writes);
    for (PendingUse& use : uses_) {
      if ((writes || use.writes) && use.capture == 0) events.push_back(event_of(use));
    }
  }
  for (const EventPtr& event : events) synchronize(*event);
  const std::lock_guard guard(lock_);
  std::erase_if(uses_, [&](const PendingUse& use) {
    return std::ranges::find(events, use.event) != events.end();
  });
  update_sole_stream();
}

void PendingWork::add(PendingUse use, std::uint64_t waited_for) {
  const std::lock_guard guard(lock_);
  if (uses_.size() >= kMaxUnchecked) std::erase_if(uses_, runtime::is_finished);
  uses_.reserve(uses_.size() + 1);  // the only step that can fail
  // Captured work only waits for work of the same capture.
  std::erase_if(uses_, [&](const PendingUse& old) {
    const bool covered = use.writes || (!old.writes && old.key == use.key);
    return covered && old.number <= waited_for &&
           (old.capture == use.capture || (use.writes && use.capture == 0));
  });
  use.number = ++newest_;
  uses_.push_back(std::move(use));
  update_sole_stream();
}

void PendingWork::record_events() noexcept {
  const std::lock_guard guard(lock_);
  for (PendingUse& use : uses_) {
    try {  // boundary: may be retried later
      if (use.capture == 0) event_of(use);
    } catch (const std::exception&) {
    }
  }
}

std::uint64_t PendingWork::newest() {
  const std::lock_guard guard(lock_);
  return newest_;
}

void PendingWork::mark_exported(const DeviceContext& context) noexcept {
  if ((exported_.load(std::memory_order_relaxed) & context.bit()) == 0) {
    exported_.fetch_or(context.bit(), std::memory_order_acq_rel);
  }
}

void PendingWork::mark_exported_to_other_context(DeviceContext& device, Handle context) {
  const std::lock_guard guard(lock_);
  const OtherContext other{&device, context};
  if (std::ranges::find(other_contexts_, other) == other_contexts_.end())
    other_contexts_.push_back(other);
}

bool PendingWork::try_join_other_contexts(bool may_block) noexcept {
  std::erase_if(other_contexts_, [may_block](const OtherContext& other) {
    const DriverTable& api = other.device->api();
    if (api.record_all == nullptr && !may_block) return false;
    const TryDeviceGuard on_device(*other.device);
    const Handle stream = on_device ? other.device->free_stream() : nullptr;
    return stream != nullptr && api.wait_for_context(stream, other.context) == kSuccess;
  });
  return other_contexts_.empty();
}

namespace {

/// An event for all work of the device, from `events` or new. nullptr if recording it would
/// invalidate a capture. Throws.
EventPtr event_of_all_work(DeviceContext& context, std::vector<EventPtr>& events) {
  const auto is_here = [&](const EventPtr& event) { return &event->context() == &context; };
  if (const auto found = std::ranges::find_if(events, is_here); found != events.end())
    return *found;
  const DeviceGuard on_device(context);
  if (context.may_invalidate_capture()) return nullptr;
  EventPtr all = pooled_event(context);
  context.check(context.api().record_all(context.id, all->handle()), "recording a device's work");
  events.push_back(all);
  return all;
}

}  // namespace

bool PendingWork::cover_exports(Vendor vendor, std::vector<EventPtr>& events) noexcept {
  if (exported_to() == 0) return true;
  const Driver* driver = loaded_driver(vendor);
  if (driver == nullptr || driver->api.record_all == nullptr ||
      !join_other_contexts(/*may_block=*/false))
    return false;
  try {  // boundary: the host waits for the devices later instead
    for (const auto& context : driver->contexts) {
      if ((exported_to() & context->bit()) == 0 || !context->is_in_use()) continue;
      EventPtr all = event_of_all_work(*context, events);
      if (all == nullptr) return false;
      std::erase_if(uses_, [&](const PendingUse& use) {  // the event covers those, too
        return use.key.context == context.get() && use.capture == 0;
      });
      uses_.push_back({std::move(all), {}, StreamKey(*context, nullptr), true});
    }
    clear_exported();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool PendingWork::is_finished(const Event*& busy) noexcept {
  const std::lock_guard guard(lock_);
  return std::ranges::all_of(uses_, [&busy](const PendingUse& use) {
    const Event* event = use.event.get();
    if (event != nullptr && event == busy) return false;
    if (runtime::is_finished(use)) return true;
    busy = event;
    return false;
  });
}

}  // namespace refarray::runtime
