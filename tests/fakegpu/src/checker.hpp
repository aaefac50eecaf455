// Owns the proof of order: every access is held against all earlier ones of the same bytes.
#pragma once

#include "call.hpp"

namespace fakegpu {

/// Who makes the accesses that a check is about.
struct Accessor {
  Moment moment;
  const Clock* clock = nullptr;
  const Context* context = nullptr;  // of the stream; a null pointer for the host
  bool kernel = false;               // it dereferences, so that peer access counts
};

/// Reports what is not ordered, not inside its allocation, or not accessible, and remembers it.
void check_touch(Call& call, const Accessor& accessor, const Touch& touch);
/// A new allocation's first access, and a dying one's last.
void check_allocation(Call& call, const Accessor& accessor, Allocation& allocation);
void check_free(Call& call, const Accessor& accessor, Allocation& allocation);
Accessor accessor_of(Call& call, const Stream& stream, bool kernel = false);
Accessor accessor_of_host(Call& call);

}  // namespace fakegpu
