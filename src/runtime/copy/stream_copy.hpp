// copy(): copies that involve memory the CPU cannot read.
#pragma once

#include "core/array.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// core::copy for arrays of which at least one is in device memory. The copy is ordered after all
/// unfinished work on both arrays and enqueued on `stream` where that belongs to the device that
/// does the work, else on that device's current stream; `stream` then waits for the copy. Returns
/// before the copy has finished, unless pageable host memory is read or written. Throws as
/// core::copy, kBuffer, DriverError. The caller must not hold the GIL.
void copy(const core::ArrayView& dst, const core::ArrayView& src,
          const StreamPtr& stream = nullptr);

}  // namespace refarray::runtime
