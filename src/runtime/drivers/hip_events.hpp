// Events of HIP 7.0 to 7.2, whose hipEventQuery and hipEventSynchronize fail while any thread
// captures globally, even in a thread in relaxed mode, and invalidate that capture
// (ROCm/rocm-systems#3176).
#pragma once

#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime::hip {

struct Calls;

/// Whether the version of the runtime, from hipRuntimeGetVersion, has the defect. HIP 7.2.1 repairs
/// it, but patch releases cannot be told apart by that number.
bool has_event_defect(int version) noexcept;

/// Replaces the entries for events: a stream of ours waits for the event, and is queried or
/// synchronized instead, which relaxed mode allows. `calls` is used for good.
void wait_for_events_by_streams(DriverTable& api, const Calls& calls) noexcept;

}  // namespace refarray::runtime::hip
