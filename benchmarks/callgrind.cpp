// Client requests by which the counted process starts and dumps callgrind's instruction counts.
#include <valgrind/callgrind.h>

extern "C" {

/// Starts instrumentation. Before it, the process runs at nearly the speed without instrumentation.
void refarray_start() { CALLGRIND_START_INSTRUMENTATION; }

/// Writes the counts since the last dump to a new file marked with `label`.
void refarray_dump(const char* label) { CALLGRIND_DUMP_STATS_AT(label); }

}  // extern "C"
