// Copies between host memory and a device: where elements are gathered, converted and scattered.
#pragma once

#include "core/array.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// dst is device memory, src host memory; any layouts, any conversion. Pageable memory has been
/// read on return. Returns false, without side effects, if the copy needs kernels and the device
/// has none. Throws as copy().
bool copy_to_device(const core::ArrayView& dst, const core::ArrayView& src,
                    const StreamPtr& stream);

/// The same from device to host; pageable memory has been written on return.
bool copy_to_host(const core::ArrayView& dst, const core::ArrayView& src, const StreamPtr& stream);

}  // namespace refarray::runtime
