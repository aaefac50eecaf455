// C functions that control the machine; the Python module `fakegpu` calls them.
#pragma once

#include <cstdint>

extern "C" {

/// Sets a setting by name. Returns 0, or -1 if there is no such setting.
int fakegpu_configure(const char* name, std::int64_t value);
/// Finishes all work and destroys all objects. Settings for new devices take effect.
void fakegpu_restart();
/// Runs all work, then clears the trace, violations, faults and counters.
void fakegpu_reset();
/// Holds the stream: work queued from now on does not run by itself. 0: the legacy stream of device
/// 0.
int fakegpu_hold(std::uint64_t stream);
/// Runs at most `count` held operations of the stream. Returns how many ran, or -1 if there is no
/// such stream.
std::int64_t fakegpu_step(std::uint64_t stream, std::int64_t count);
/// Releases all held work and waits for it.
void fakegpu_run();
void fakegpu_fail(const char* name, std::uint64_t k, int code, int sticky);
/// Number of calls of a function since the last reset; "*": of all functions.
std::uint64_t fakegpu_calls(const char* name);
/// Number of calls that this process, a forked child, has made: all of them failed. 0 elsewhere.
std::uint64_t fakegpu_calls_after_fork();
/// JSON lines. Valid until the thread's next call of one of these functions.
const char* fakegpu_trace();
const char* fakegpu_violations();
const char* fakegpu_live();
/// A label for the trace lines of this thread's calls; empty: none.
void fakegpu_label(const char* text);
/// Declares to the race detector that the host reads or writes the bytes.
void fakegpu_touch(const void* pointer, std::uint64_t bytes, int write);
/// Reads device memory without any driver call or ordering, for tests. Returns 0 or -1.
int fakegpu_peek(std::uint64_t pointer, void* out, std::uint64_t bytes);
/// Whether this process shares the simulated devices with others. Decides it, if nothing has yet.
int fakegpu_in_room();
/// All later calls fail as after the driver's shutdown.
void fakegpu_deinitialize();
}
