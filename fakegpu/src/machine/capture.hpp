// The rules of stream capture: how calls fail during a capture or invalidate it.
#pragma once

#include "control/call.hpp"

namespace fakegpu {

/// kCaptureUnsupported, invalidating the captures, if this thread may not make unsafe calls now;
/// else 0.
int refuse_unsafe(Call& call);
/// The same, also for threads in relaxed mode: a defect of HIP 7.0 to 7.2.
int refuse_unsafe_in_any_mode(Call& call);
void invalidate(Capture& capture);
/// kCaptureImplicit if the legacy stream may not be used now, else 0. `invalidates`: also
/// invalidates the captures.
int refuse_implicit(const Stream& stream, bool invalidates);
/// kCaptureUnsupported or kCaptureInvalidated if the host may not query or wait for the stream,
/// else 0.
int refuse_wait(const Stream& stream);
/// The same for all streams of a context.
int refuse_wait(const Context& context);
/// Not kSuccess if the event was recorded in a capture. `invalidates`: also invalidates that.
int refuse_captured(const Event& event, bool invalidates);
int capture_job(Stream& stream, Job job);
int capture_record(Stream& stream, Event& event);
/// Sets `handled` if the wait involved a capture and needs no further action.
int capture_wait(Stream& stream, Event& event, bool external, bool& handled);

int begin_capture(Call& call, Stream& stream, int mode);
int end_capture(Call& call, Stream& stream, Graph*& graph);
void leave_capture(Stream& stream);

}  // namespace fakegpu
