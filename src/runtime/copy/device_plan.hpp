// Plans copies and fills within one device as kernel launches. Pure data: needs no driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/array.hpp"
#include "runtime/kernels/names.hpp"
#include "runtime/kernels/params.hpp"

namespace refarray::runtime {

/// One driver call. Steps may run in any order and concurrently. Where elements of dst overlap, the
/// order decides which value remains.
struct DeviceStep {
  enum class Kind : std::uint8_t {
    kMemcpy,  // `nbytes` contiguous bytes from params.src to params.dst
    kLaunch,  // `grid` blocks of kernels::kBlock threads of kernel `kernel`, with `params`
  };
  Kind kind = Kind::kLaunch;
  int kernel = 0;  // row of kernels::kKernelNames
  std::uint32_t grid = 0;
  std::int64_t nbytes = 0;
  kernels::Params params;

  const char* name() const noexcept {
    return kernels::kKernelNames[static_cast<std::size_t>(kernel)];
  }
};

using DeviceSteps = std::vector<DeviceStep>;

/// Plans a core::copy. Data pointers are device addresses and are not dereferenced; shapes are
/// equal, can_convert holds, and dst and src do not overlap. Where elements of dst overlap each
/// other, words of up to 16 bytes are written whole. Throws kMemory.
DeviceSteps plan_device_copy(const core::ArrayView& dst, const core::ArrayView& src);

/// Whether plan_device_fill supports the dtype: up to 16 bytes, or packed with up to 64 bits.
/// Others are filled by copying one element with strides of zero.
bool can_fill(const core::DType& dtype) noexcept;

/// Plans to fill dst with the element at `value`: byte-aligned host memory. Requires can_fill.
/// Throws kMemory.
DeviceSteps plan_device_fill(const core::ArrayView& dst, const std::byte* value);

}  // namespace refarray::runtime
