// Owns the rules of stream capture: what a call does to the captures in progress.
#pragma once

#include "call.hpp"

namespace fakegpu {

/// 900 and the captures are lost when this thread may make no unsafe call now, else 0.
int refuse_unsafe(Call& call);
void invalidate(Capture& capture);
/// 906 when the legacy stream may not be used now; `lose` says whether the captures are lost.
int refuse_implicit(const Stream& stream, bool lose);
/// 900 or 901 when the host may not ask about or wait for a stream that captures, else 0.
int refuse_wait(const Stream& stream);
/// The same for everything of a context.
int refuse_wait(const Context& context);
int capture_job(Stream& stream, Job job);
int capture_record(Stream& stream, Event& event);
/// Sets `handled` when the wait was the captures' business.
int capture_wait(Stream& stream, Event& event, bool external, bool& handled);

int begin_capture(Call& call, Stream& stream, int mode);
int end_capture(Call& call, Stream& stream, Graph*& graph);
void leave_capture(Stream& stream);

}  // namespace fakegpu
