// Events of both drivers: a wait refers to the latest record at the time of the call.
#include <algorithm>

#include "machine/capture.hpp"
#include "machine/driver.hpp"
#include "machine/room.hpp"

namespace fakegpu {
namespace {

/// Whether the host may query the event or wait for it: on CUDA not for one of a capture, in any
/// mode, nor for others while a capture affects the thread. HIP refuses the latter from 7 on, and
/// until 7.2 relaxed mode does not help (ROCm/rocm-systems#3176).
int refuse_look(Call& call, const Event& event) {
  const bool cuda = call.vendor == Vendor::kCuda;
  if (const int code = refuse_captured(event, cuda)) return code;
  if (cuda) return refuse_unsafe(call);
  const int version = call.machine.settings.hip_version;
  if (version < 70000000) return kSuccess;
  return version < 70300000 ? refuse_unsafe_in_any_mode(call) : refuse_unsafe(call);
}

/// Other processes see the record, and when its work has run.
void publish_record(Call& call, Event& event, Stream& stream) {
  Room* room = Room::get();
  const std::size_t number = *event.shared;
  const std::uint64_t record = room->record(number, event.snapshot.clock);
  event.snapshot.ops = {call.machine.enqueue(stream, [=] { room->finish(number, record); }, {})};
}

int query_shared(Call& call, const Event& event) {
  const SharedRecord record = Room::get()->latest(*event.shared);
  if (!Room::get()->is_finished(*event.shared, record.number)) return kNotReady;
  call.join(record.clock);
  return kSuccess;
}

constexpr std::uint64_t kEventMagic = 0x31544E5655504746;  // "FGPUVNT1"

}  // namespace

int event_export(Call& call, EventHandle* out, Handle handle) {
  Event* event = nullptr;
  if (const int code = find_event(call, handle, event)) return code;
  if (out == nullptr || (event->flags & kInterprocess) == 0) return kInvalidValue;
  if (!event->shared) return kNotSupported;
  *out = {kEventMagic, *event->shared, {}};
  return kSuccess;
}

int event_open(Call& call, Handle* out, const EventHandle& from) {
  Context* context = nullptr;
  if (const int code = find_current(call, context)) return code;
  const Room* room = Room::get();
  const bool is_known =
      room != nullptr && from.magic == kEventMagic && room->has_event(from.number);
  if (out == nullptr || !is_known) return kInvalidHandle;
  for (const auto& own : call.machine.events.all())
    if (own->alive && own->shared == from.number && !own->opened) return kInvalidContext;
  Event* event = call.machine.events.add();
  event->context = context;
  event->flags = kDisableTiming | kInterprocess;
  event->shared = from.number;
  event->opened = true;
  *out = event->handle;
  call.note("event", *out);
  return kSuccess;
}

bool has_finished(const Snapshot& snapshot) {
  return std::all_of(snapshot.ops.begin(), snapshot.ops.end(),
                     [](const Op* op) { return op->done(); });
}

int find_event(Call& call, Handle handle, Event*& event) {
  call.note("event", handle);
  event = call.machine.events.alive(handle);
  if (event != nullptr && event->context->device->vendor == call.vendor) return kSuccess;
  call.violation("bad-handle", "no such event, or it has been destroyed", 0, handle);
  const bool was_ours = call.vendor == Vendor::kCuda && call.machine.events.find(handle) != nullptr;
  return was_ours ? kContextIsDestroyed : kInvalidHandle;
}

void check_maker(Call& call, const Event& event) {
  if (event.opened && !Room::get()->has_event(*event.shared))
    call.violation("bad-handle", "the process that made the event has destroyed it", 0,
                   event.handle);
}

int event_create(Call& call, Handle* out, unsigned flags) {
  Context* context = nullptr;
  if (const int code = find_current(call, context)) return code;
  if (out == nullptr) return kInvalidValue;
  const bool shareable = (flags & kInterprocess) != 0;
  if (shareable && (flags & kDisableTiming) == 0) return kInvalidValue;
  Event* event = call.machine.events.add({}, call.machine.settings.reuse);
  event->context = context;
  event->flags = flags;
  if (Room* room = Room::get(); shareable && room != nullptr) event->shared = room->add_event();
  *out = event->handle;
  call.note("event", *out).note("flags", flags).note("device", context->device->ordinal);
  return kSuccess;
}

int event_destroy(Call& call, Handle handle) {
  Event* event = nullptr;
  if (const int code = find_event(call, handle, event)) return code;
  event->snapshot = {};
  if (event->shared && !event->opened) Room::get()->retire_event(*event->shared);
  call.machine.events.retire(*event);  // legal while the event is pending
  return kSuccess;
}

int event_record(Call& call, Handle handle, Handle stream_handle) {
  Event* event = nullptr;
  Stream* stream = nullptr;
  if (const int code = find_event(call, handle, event)) return code;
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  if (&event->context->whole() != &stream->context->whole()) {
    call.violation("wrong-device-record", "an event is recorded on a stream of another context");
    return kInvalidHandle;
  }
  if (event->capture != nullptr && call.vendor == Vendor::kHip)
    call.violation("captured-event-recorded",
                   "an event of a capture is recorded again, on which HIP before 7.2 has crashed");
  if (stream->capture != nullptr) return capture_record(*stream, *event);
  if (const int code = refuse_implicit(*stream, true)) return code;
  call.machine.next_call = call.number;
  event->snapshot = call.machine.snapshot(*stream);
  check_maker(call, *event);
  if (event->shared) publish_record(call, *event, *stream);
  event->recorded = true;
  event->stream = stream;
  event->capture = nullptr;
  return kSuccess;
}

int event_query(Call& call, Handle handle) {
  Event* event = nullptr;
  if (const int code = find_event(call, handle, event)) return code;
  if (const int code = refuse_look(call, *event)) return code;
  check_maker(call, *event);
  if (event->shared) return query_shared(call, *event);
  if (!has_finished(event->snapshot)) return kNotReady;
  call.join(event->snapshot.clock);
  return kSuccess;
}

int event_synchronize(Call& call, Handle handle) {
  Event* event = nullptr;
  if (const int code = find_event(call, handle, event)) return code;
  if (const int code = refuse_look(call, *event)) return code;
  check_maker(call, *event);
  if (event->shared) {
    const Snapshot own = event->snapshot;  // of another process's record it is an earlier one
    call.wait(own);
    const SharedRecord record = Room::get()->latest(*event->shared);
    call.wait(*event->shared, record.number);
    call.join(record.clock);
    return kSuccess;
  }
  const Snapshot what = event->snapshot;  // the event may be recorded again while the host waits
  call.wait(what);
  return kSuccess;
}

int event_elapsed(Call& call, float* milliseconds, Handle start_handle, Handle end_handle) {
  Event* start = nullptr;
  Event* end = nullptr;
  if (const int code = find_event(call, start_handle, start)) return code;
  if (const int code = find_event(call, end_handle, end)) return code;
  if (&start->context->whole() != &end->context->whole()) return kInvalidHandle;
  if (((start->flags | end->flags) & kDisableTiming) != 0) return kInvalidHandle;
  if (!start->recorded || !end->recorded || start->capture != end->capture) return kInvalidHandle;
  if (start->capture != nullptr) return kCapturedEvent;
  if (!has_finished(start->snapshot) || !has_finished(end->snapshot)) return kNotReady;
  const auto at = [](const Event& event) {
    std::int64_t latest = 0;
    for (const Op* op : event.snapshot.ops) latest = std::max(latest, op->finished_at());
    return latest;
  };
  *milliseconds = static_cast<float>(static_cast<double>(at(*end) - at(*start)) / 1e6);
  return kSuccess;
}

int context_record(Call& call, Context& context, Handle handle) {
  Event* event = nullptr;
  if (const int code = find_event(call, handle, event)) return code;
  if (&event->context->whole() != &context.whole()) return kInvalidHandle;
  if (const int code = refuse_wait(context)) return code;
  event->snapshot = call.machine.snapshot(context);
  event->recorded = true;
  event->stream = nullptr;
  event->capture = nullptr;
  call.note("device", context.device->ordinal);
  return kSuccess;
}

int context_wait(Call& call, Context& context, Handle handle) {
  Event* event = nullptr;
  if (const int code = find_event(call, handle, event)) return code;
  if (event->capture != nullptr) return kCaptureUnsupported;
  if (const int code = refuse_wait(context)) return code;
  call.machine.next_call = call.number;
  for (Stream* stream : context.streams) call.machine.enqueue(*stream, {}, event->snapshot);
  context.waits.clock.join(event->snapshot.clock);
  context.waits.ops.insert(context.waits.ops.end(), event->snapshot.ops.begin(),
                           event->snapshot.ops.end());
  return kSuccess;
}

}  // namespace fakegpu
