// Waiting until the host may use memory that devices use too.
#pragma once

#include "core/array.hpp"

namespace refarray::runtime {

/// Waits until the CPU may read the array's memory or, with `writes`, write it: then also until all
/// reads have finished. Managed memory of devices that cannot share it with the host waits for all
/// work on them, other libraries' included; they must not get new work while the host uses the
/// memory. The CPU can address the memory. The caller must not hold the GIL. Throws kBuffer where
/// waiting would invalidate a graph capture, DriverError.
void wait_on_host(const core::ArrayView& array, bool writes);
/// wait_on_host()'s refusals, without side effects.
void check_host_access(const core::ArrayView& array, bool writes);
/// Whether wait_on_host() may have something to wait for. Does not block.
bool is_busy(const core::ArrayView& array);

}  // namespace refarray::runtime
