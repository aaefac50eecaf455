// Owns the C functions by which a test steers the machine: what the Python module `fakegpu` calls.
#pragma once

#include <cstdint>

extern "C" {

/// Sets one setting by name; 0, or -1 when there is none of that name.
int fakegpu_configure(const char* name, std::int64_t value);
/// Ends all work and forgets all objects; the settings then hold for new devices.
void fakegpu_restart();
/// Runs everything, then clears the trace, the violations, the faults and the counts.
void fakegpu_reset();
/// From now on the stream runs nothing by itself; 0 for the legacy stream of device 0.
int fakegpu_hold(std::uint64_t stream);
/// Lets the stream run at most `count` pieces; how many have run, or -1 for no such stream.
std::int64_t fakegpu_step(std::uint64_t stream, std::int64_t count);
/// Lets everything run, and waits for it.
void fakegpu_run();
void fakegpu_fail(const char* name, std::uint64_t k, int code, int sticky);
/// How often a function has been called since the last reset; "*" for all.
std::uint64_t fakegpu_calls(const char* name);
/// JSON: one object on each line. Valid until the thread's next such call.
const char* fakegpu_trace();
const char* fakegpu_violations();
const char* fakegpu_live();
/// A text that every call of this thread carries in the trace; empty for none.
void fakegpu_label(const char* text);
/// The host reads or writes bytes by itself: the checker is told.
void fakegpu_touch(const void* pointer, std::uint64_t bytes, int write);
/// Reads device memory behind every driver's back, for tests to look at; 0, or -1.
int fakegpu_peek(std::uint64_t pointer, void* out, std::uint64_t bytes);
/// Every call from now on ends as it does after the driver has been taken down.
void fakegpu_deinitialize();
}
