// Copies and fills by kernels: within one device and between two devices of one driver.
#pragma once

#include "core/array.hpp"
#include "runtime/copy/device_plan.hpp"
#include "runtime/device_context.hpp"

namespace refarray::runtime {

/// Whether our kernels run on the device; the first call loads them. Throws.
bool has_kernels(DeviceContext& context);

/// Copies between memory that one device can access; shapes are equal, overlap is allowed. Runs on
/// `stream` if it belongs to that device, else on the device's current stream, and then `stream`
/// waits for it. Requires has_kernels(). Throws as copy().
void copy_by_kernels(const core::ArrayView& dst, const core::ArrayView& src,
                     const StreamPtr& stream);

/// Copies between two devices of one driver. Requires has_kernels() for both.
void copy_between(const core::ArrayView& dst, const core::ArrayView& src, const StreamPtr& stream);

/// Fills dst with the element at `value`: host memory, read before the call returns. Requires
/// can_fill() and has_kernels().
void fill_by_kernels(const core::ArrayView& dst, const std::byte* value, const StreamPtr& stream);

/// `wanted` if it belongs to the device, else the device's current stream.
StreamPtr stream_on(DeviceContext& context, const StreamPtr& wanted);

/// The device whose kernels can access both: the one with device memory, if the other's is managed.
DeviceContext& kernel_context(const core::ArrayView& dst, const core::ArrayView& src);

}  // namespace refarray::runtime
