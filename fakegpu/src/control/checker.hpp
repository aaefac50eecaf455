// The race detector: compares every access with all earlier ones of the same bytes.
#pragma once

#include "control/call.hpp"

namespace fakegpu {

/// The stream or host thread that makes an access.
struct Accessor {
  Moment moment;
  const Clock* clock = nullptr;
  const Context* context = nullptr;  // the stream's context; nullptr for the host
  bool kernel = false;               // it dereferences pointers, so it needs peer access
};

/// Reports accesses that are unordered, out of bounds or not permitted, and records this one.
void check_touch(Call& call, const Accessor& accessor, const Touch& touch);
/// The first access of an allocation, and its last.
void check_allocation(Call& call, const Accessor& accessor, Allocation& allocation);
void check_free(Call& call, const Accessor& accessor, Allocation& allocation);
Accessor accessor_of(Call& call, const Stream& stream, bool kernel = false);
Accessor accessor_of_host(Call& call);

}  // namespace fakegpu
