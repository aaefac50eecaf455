// Owns copies that the device kernels carry out: within a device, and between two of one driver.
#pragma once

#include "core/array.hpp"
#include "runtime/copy/device_plan.hpp"
#include "runtime/device_context.hpp"

namespace refarray::runtime {

/// Whether kernels run on the device; loads them at the first call. Throws.
bool has_kernels(DeviceContext& unit);

/// dst and src are in memory that one device reaches, of equal shape; overlap is allowed. On
/// `stream` when it is of that device, else on its current one, and then `stream` waits for it.
/// has_kernels is true. Throws as copy().
void copy_by_kernels(const core::ArrayView& dst, const core::ArrayView& src,
                     const StreamPtr& stream);

/// dst and src are on two devices of one driver that both have kernels.
void copy_between(const core::ArrayView& dst, const core::ArrayView& src, const StreamPtr& stream);

/// Every element of dst becomes the one at `value`: host memory, read before the call returns.
/// can_fill and has_kernels are true.
void fill_by_kernels(const core::ArrayView& dst, const std::byte* value, const StreamPtr& stream);

/// A stream of `unit`: `wanted`, or else the current one.
StreamPtr stream_at(DeviceContext& unit, const StreamPtr& wanted);

/// The unit whose kernels reach both: that of device memory, if one of them is managed memory.
DeviceContext& kernel_unit(const core::ArrayView& dst, const core::ArrayView& src);

}  // namespace refarray::runtime
