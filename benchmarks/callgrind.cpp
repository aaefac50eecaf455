// The two callgrind client requests that start and stop counting.
#include <valgrind/callgrind.h>

extern "C" {

/// Counting starts here: until now the process ran nearly as fast as without callgrind's records.
void refarray_start() { CALLGRIND_START_INSTRUMENTATION; }

/// What was counted since the last call goes into a file of its own, with `label` in it.
void refarray_dump(const char* label) { CALLGRIND_DUMP_STATS_AT(label); }

}  // extern "C"
