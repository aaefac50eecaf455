// Streams and context-wide calls of both drivers.
#include <csignal>

#include "machine/capture.hpp"
#include "machine/driver.hpp"
#include "machine/room.hpp"
#include "memory/watch.hpp"

namespace fakegpu {
namespace {

int bad_stream(Call& call, Handle handle) {
  Machine& machine = call.machine;
  const bool stale = machine.streams.find(handle) != nullptr;
  call.violation("bad-handle", stale ? "a stream that has been destroyed" : "no such stream", 0,
                 handle);
  if (machine.settings.crash_on_bad_handle) std::raise(SIGSEGV);
  const bool old_hip = call.vendor == Vendor::kHip && machine.settings.hip_version < 70000000;
  return old_hip ? kContextIsDestroyed : kInvalidHandle;
}

int special_stream(Call& call, Handle handle, Stream*& stream) {
  Machine& machine = call.machine;
  if (handle == kLegacyHandle && call.vendor == Vendor::kHip) {
    call.violation("hip-stream-one", "HIP dereferences the value 1 (hipStreamLegacy)");
    if (machine.settings.hip_crash_on_one) std::raise(SIGSEGV);
    return kInvalidHandle;
  }
  Context* context = nullptr;
  if (const int code = find_current(call, context)) return code;
  const bool own = handle == kPerThreadHandle || (handle == 0 && null_is_per_thread());
  stream = own ? machine.per_thread_stream(*context) : context->legacy;
  return kSuccess;
}

/// Whether the host may query the stream or wait for it. HIP asks only for the stream's own
/// capture.
int refuse_look(Call& call, const Stream& stream) {
  if (const int code = refuse_wait(stream)) return code;
  return call.vendor == Vendor::kCuda ? refuse_unsafe(call) : int{kSuccess};
}

}  // namespace

int find_stream(Call& call, Handle handle, Stream*& stream) {
  call.note("stream", handle);
  if (handle <= kPerThreadHandle) {
    if (const int code = special_stream(call, handle, stream)) return code;
  } else {
    stream = call.machine.streams.alive(handle);
    if (stream == nullptr || stream->context->device->vendor != call.vendor)
      return bad_stream(call, handle);
  }
  call.note("device", stream->context->device->ordinal);
  if (stream->capture != nullptr) call.note("capture", stream->capture->id);
  return kSuccess;
}

int submit(Call& call, Stream& stream, Job job) {
  if (stream.capture != nullptr) return capture_job(stream, std::move(job));
  if (const int code = refuse_implicit(stream, true)) return code;
  Machine& machine = call.machine;
  Op::Work work = [run = std::move(job.run)] {
    if (run) run();
  };
  machine.next_call = call.number;
  // Whether an allocation or a free in the legacy stream synchronizes the blocking streams, as a
  // kernel does, is not documented: programs must not rely on it.
  machine.enqueue(stream, std::move(work), {}, job.allocates);
  check_job(call, stream, accessor_of(call, stream, job.kernel), job);
  return kSuccess;
}

void check_job(Call& call, Stream& stream, const Accessor& accessor, const Job& job) {
  if (job.kernel) {
    const Moment& now = accessor.moment;
    stream.kernels.raise(now.component, now.time);
    stream.context->device->kernels.raise(now.component, now.time);
    watch_managed(call.machine);
  }
  for (const Touch& touch : job.touches) check_touch(call, accessor, touch);
}

int stream_create(Call& call, Handle* out, unsigned flags, int priority) {
  Context* context = nullptr;
  if (const int code = find_current(call, context)) return code;
  if (out == nullptr || flags > kNonBlocking) return kInvalidValue;
  *out = call.machine.add_stream(*context, flags, priority)->handle;
  call.note("stream", *out).note("flags", flags).note("device", context->device->ordinal);
  return kSuccess;
}

int stream_destroy(Call& call, Handle handle) {
  Stream* stream = nullptr;
  if (handle <= kPerThreadHandle) return kInvalidHandle;
  if (const int code = find_stream(call, handle, stream)) return code;
  leave_capture(*stream);
  call.machine.destroy_stream(*stream);
  return kSuccess;
}

int stream_synchronize(Call& call, Handle handle) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, handle, stream)) return code;
  if (const int code = refuse_look(call, *stream)) return code;
  call.wait(call.machine.everything(*stream));
  return kSuccess;
}

int stream_query(Call& call, Handle handle) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, handle, stream)) return code;
  if (const int code = refuse_look(call, *stream)) return code;
  const Snapshot all = call.machine.everything(*stream);
  for (const Op* op : all.ops)
    if (!op->done()) return kNotReady;
  call.join(all.clock);
  return kSuccess;
}

int stream_wait_event(Call& call, Handle handle, Handle event_handle, unsigned flags) {
  Stream* stream = nullptr;
  Event* event = nullptr;
  if (const int code = find_stream(call, handle, stream)) return code;
  if (const int code = find_event(call, event_handle, event)) return code;
  constexpr unsigned kExternal = 1;
  if (flags > kExternal || (flags == kExternal && stream->capture == nullptr)) return kInvalidValue;
  Room* room = Room::get();
  check_maker(call, *event);
  if (event->shared && stream->capture == nullptr) {
    const SharedRecord record = room->latest(*event->shared);
    call.machine.next_call = call.number;
    call.machine.enqueue(
        *stream, [room, at = *event->shared, number = record.number] { room->wait(at, number); },
        {{}, record.clock});
    return kSuccess;
  }
  if (!event->recorded) return kSuccess;
  bool handled = false;
  if (const int code = capture_wait(*stream, *event, flags == kExternal, handled)) return code;
  if (handled) return kSuccess;
  if (const int code = refuse_implicit(*stream, true)) return code;
  const bool dead = event->stream != nullptr && !event->stream->alive;
  // HIP does not wait for an event whose recording stream has been destroyed.
  if (call.vendor == Vendor::kHip && dead) return kSuccess;
  if (call.vendor == Vendor::kHip && has_finished(event->snapshot)) {  // HIP queues nothing then
    stream->clock.join(event->snapshot.clock);
    return kSuccess;
  }
  call.machine.next_call = call.number;
  call.machine.enqueue(*stream, {}, event->snapshot);
  return kSuccess;
}

int stream_device(Call& call, Handle handle, int* ordinal) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, handle, stream)) return code;
  *ordinal = stream->context->device->ordinal;
  return kSuccess;
}

int stream_is_capturing(Call& call, Handle handle, int* status) {
  return stream_capture_info(call, handle, status, nullptr);
}

int stream_capture_info(Call& call, Handle handle, int* status, std::uint64_t* id) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, handle, stream)) return code;
  if (status == nullptr) return kInvalidValue;
  if (const int code = refuse_implicit(*stream, false)) return code;
  const Capture* capture = stream->capture;
  *status = capture == nullptr ? kNoCapture : capture->status;
  if (id != nullptr && *status == kActive) *id = capture->id;
  return kSuccess;
}

int stream_begin_capture(Call& call, Handle handle, int mode) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, handle, stream)) return code;
  return begin_capture(call.note("mode", mode), *stream, mode);
}

int stream_end_capture(Call& call, Handle handle, Handle* out) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, handle, stream)) return code;
  Graph* graph = nullptr;
  const int code = end_capture(call, *stream, graph);
  *out = graph != nullptr ? graph->handle : 0;
  return code;
}

int exchange_capture_mode(Call& call, int* mode) {
  if (mode == nullptr || *mode < kGlobal || *mode > kRelaxed) return kInvalidValue;
  CaptureMode& own = call.machine.thread().mode;
  const CaptureMode before = own;
  own = static_cast<CaptureMode>(*mode);
  call.note("mode", *mode);
  *mode = before;
  return kSuccess;
}

int context_synchronize(Call& call, Context& context) {
  call.note("device", context.device->ordinal);
  if (const int code = refuse_wait(context)) return code;
  call.wait(call.machine.snapshot(context));
  return kSuccess;
}

}  // namespace fakegpu
