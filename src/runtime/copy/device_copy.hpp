// Copies and fills by kernels: within one device and between two devices of one driver.
#pragma once

#include "core/array.hpp"
#include "runtime/copy/device_plan.hpp"
#include "runtime/device_context.hpp"

namespace refarray::runtime {

/// Whether our kernels run on the device; the first call loads them. Throws.
bool has_kernels(DeviceContext& context);

/// The functions below run on `stream` where it belongs to the device that does the work, else on
/// that device's current stream. They throw as copy().

/// Copies between memory that one device can access; shapes are equal, overlap is allowed. Requires
/// has_kernels().
void copy_by_kernels(const core::ArrayView& dst, const core::ArrayView& src,
                     const StreamPtr& stream);

/// Copies between two devices of one driver. Requires has_kernels() for both.
void copy_between(const core::ArrayView& dst, const core::ArrayView& src, const StreamPtr& stream);

/// Fills dst with the element at `value`: host memory, read before the call returns. Requires
/// can_fill() and has_kernels().
void fill_by_kernels(const core::ArrayView& dst, const std::byte* value, const StreamPtr& stream);

/// The device whose kernels can access both: the one with device memory, if the other's is managed.
DeviceContext& kernel_context(const core::ArrayView& dst, const core::ArrayView& src);

}  // namespace refarray::runtime
