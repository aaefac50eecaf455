// Owns copies between host memory and a device: what is gathered, converted and spread on which
// side.
#pragma once

#include "core/array.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// dst is in device memory, src in host memory; any layouts, any conversion. Memory of the CPU's
/// own has been read when it returns. False, having done nothing, when the device would need
/// kernels and has none. Throws as copy().
bool copy_to_device(const core::ArrayView& dst, const core::ArrayView& src,
                    const StreamPtr& stream);

/// The other way; memory of the CPU's own has been written when it returns.
bool copy_to_host(const core::ArrayView& dst, const core::ArrayView& src, const StreamPtr& stream);

}  // namespace refarray::runtime
