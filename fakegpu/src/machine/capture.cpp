// The state machine of stream capture: none, active, invalidated.
#include "machine/capture.hpp"

#include <algorithm>

namespace fakegpu {
namespace {

bool active(const Capture* capture) { return capture != nullptr && capture->status == kActive; }

bool affects(const Capture& capture, const Thread& thread) {
  if (capture.origin == nullptr || capture.mode == kRelaxed || thread.mode == kRelaxed)
    return false;
  if (capture.thread == thread.id) return true;
  return thread.mode == kGlobal && capture.mode == kGlobal;
}

void join(Stream& stream, Capture& capture, const std::set<std::uint64_t>& nodes) {
  if (stream.capture == nullptr) {
    stream.capture = &capture;
    stream.captured.clear();
    capture.members.push_back(&stream);
  }
  stream.captured.insert(nodes.begin(), nodes.end());
}

int invalidate_with(Capture& capture, Code code) {
  invalidate(capture);
  return code;
}

/// The status of using an event whose capture has ended.
int ended(const Event& event) {
  return event.context->device->vendor == Vendor::kCuda ? kInvalidValue : kCapturedEvent;
}

}  // namespace

void invalidate(Capture& capture) { capture.status = kInvalidated; }

int refuse_unsafe(Call& call) {
  int code = kSuccess;
  for (const auto& capture : call.machine.captures)
    if (affects(*capture, call.machine.thread()))
      code = invalidate_with(*capture, kCaptureUnsupported);
  return code;
}

int refuse_unsafe_in_any_mode(Call& call) {
  int code = kSuccess;
  for (const auto& capture : call.machine.captures) {
    const bool own = capture->thread == call.machine.thread().id;
    if (capture->origin != nullptr && (own ? capture->mode != kRelaxed : capture->mode == kGlobal))
      code = invalidate_with(*capture, kCaptureUnsupported);
  }
  return code;
}

int refuse_implicit(const Stream& stream, bool invalidates) {
  if (!stream.legacy) return kSuccess;
  int code = kSuccess;
  for (const Stream* other : stream.context->streams) {
    if (!other->blocking() || other->capture == nullptr) continue;
    if (invalidates) invalidate(*other->capture);
    code = kCaptureImplicit;
  }
  return code;
}

int refuse_wait(const Stream& stream) {
  if (stream.capture == nullptr) return refuse_implicit(stream, true);
  if (!active(stream.capture)) return kCaptureInvalidated;
  return invalidate_with(*stream.capture, kCaptureUnsupported);
}

int refuse_wait(const Context& context) {
  for (const Context* green : context.greens)
    if (const int code = refuse_wait(*green)) return code;
  int code = kSuccess;
  for (const Stream* stream : context.streams)
    if (stream->capture != nullptr) code = invalidate_with(*stream->capture, kCaptureUnsupported);
  return code;
}

int refuse_captured(const Event& event, bool invalidates) {
  if (event.capture == nullptr) return kSuccess;
  if (event.capture->origin == nullptr) return ended(event);
  if (invalidates) invalidate(*event.capture);
  return kCapturedEvent;
}

int capture_job(Stream& stream, Job job) {
  Capture& capture = *stream.capture;
  if (!active(&capture)) return kCaptureInvalidated;
  job.after = stream.captured;
  capture.graph->jobs.push_back(std::move(job));
  stream.captured.insert(++capture.nodes);
  return kSuccess;
}

int capture_record(Stream& stream, Event& event) {
  if (!active(stream.capture)) return kCaptureInvalidated;
  event.recorded = true;
  event.stream = &stream;
  event.capture = stream.capture;
  event.captured = stream.captured;
  event.snapshot = {};
  return kSuccess;
}

int capture_wait(Stream& stream, Event& event, bool external, bool& handled) {
  handled = true;
  if (stream.capture != nullptr && !active(stream.capture)) return kCaptureInvalidated;
  if (event.capture == nullptr) {
    handled = stream.capture != nullptr && !external;
    return handled ? invalidate_with(*stream.capture, kCaptureIsolation) : int{kSuccess};
  }
  Capture* capture = event.capture;
  if (capture->origin == nullptr) return ended(event);
  if (!active(capture)) return kCaptureInvalidated;
  if (stream.legacy) return invalidate_with(*capture, kCaptureImplicit);
  if (stream.capture != nullptr && stream.capture != capture) {
    invalidate(*stream.capture);
    return invalidate_with(*capture, kCaptureMerge);
  }
  join(stream, *capture, event.captured);
  return kSuccess;
}

int begin_capture(Call& call, Stream& stream, int mode) {
  if (mode < kGlobal || mode > kRelaxed) return kInvalidValue;
  if (stream.legacy) return kCaptureUnsupported;
  if (stream.capture != nullptr) return kIllegalState;
  Machine& machine = call.machine;
  Capture& capture = *machine.captures.emplace_back(std::make_unique<Capture>());
  capture.id = machine.captures.size();
  capture.mode = static_cast<CaptureMode>(mode);
  capture.origin = &stream;
  capture.thread = machine.thread().id;
  capture.graph = machine.graphs.add();
  join(stream, capture, {});
  return kSuccess;
}

int end_capture(Call& call, Stream& stream, Graph*& graph) {
  graph = nullptr;
  Capture* capture = stream.capture;
  if (capture == nullptr) return kIllegalState;
  if (capture->mode != kRelaxed && capture->thread != call.machine.thread().id)
    return kCaptureWrongThread;
  if (capture->origin != &stream) return invalidate_with(*capture, kCaptureUnmatched);
  int code = capture->status == kActive ? kSuccess : kCaptureInvalidated;
  if (code == kSuccess && stream.captured.size() < capture->nodes) code = kCaptureUnjoined;
  if (code == kSuccess)
    graph = capture->graph;
  else
    capture->graph->alive = false;
  capture->origin = nullptr;
  for (Stream* member : capture->members) {
    member->capture = nullptr;
    member->captured.clear();
  }
  return code;
}

void leave_capture(Stream& stream) {
  if (stream.capture == nullptr) return;
  invalidate(*stream.capture);
  if (stream.capture->origin == &stream) stream.capture->origin = nullptr;
  std::erase(stream.capture->members, &stream);
  stream.capture = nullptr;
}

}  // namespace fakegpu
