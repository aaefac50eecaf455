// The host's accesses to pinned and managed memory: the pages are closed to the host while a device
// may use them, and an access then is a fault that is checked like any other access.
#pragma once

#include "machine/machine.hpp"

namespace fakegpu {

/// Handles faults of closed pages; every other fault goes to the handler that was there before.
void install_watch();
/// Opens or closes the allocation's pages, by what the calling thread is ordered after.
void watch(Machine& machine, Allocation& allocation);
/// The same for all closed allocations, after the calling thread has waited for something.
void watch_closed(Machine& machine);
/// The same for all managed memory, where the host may not touch it while a kernel runs.
void watch_managed(Machine& machine);
/// Whether the calling thread may touch the managed memory now: no kernel can be using it.
bool may_touch_managed(Machine& machine, const Allocation& allocation);

}  // namespace fakegpu
