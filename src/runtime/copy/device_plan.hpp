// Owns how a copy or a fill inside one device becomes launches of kernels: plain data that needs no
// driver to be made or looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/array.hpp"
#include "runtime/kernels/names.hpp"
#include "runtime/kernels/params.hpp"

namespace refarray::runtime {

/// One thing to ask a driver for. Steps may run in any order and beside each other, save that where
/// elements of dst share memory the order decides which of them stay.
struct DeviceStep {
  enum class Kind : std::uint8_t {
    kMemcpy,  // `nbytes` gapless bytes from params.src to params.dst
    kLaunch,  // `grid` blocks of kernels::kBlock threads of kernel `kernel`, given `params`
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

/// What core::copy does, as steps. The views' data are addresses on one device and are not looked
/// at; shapes are equal, can_convert holds, and the memory of the two does not overlap. Where
/// elements of dst share memory, each unit of up to 16 bytes is whole. Throws kMemory.
DeviceSteps plan_device_copy(const core::ArrayView& dst, const core::ArrayView& src);

/// Whether plan_device_fill can be asked for elements of that type: up to 16 bytes, or packed into
/// up to 64 bits. Others are filled by a copy of one element with strides of zero.
bool can_fill(const core::DType& dtype) noexcept;

/// Steps that give every element the bits of the one at `value`, which is host memory and begins on
/// a byte. can_fill holds. Throws kMemory.
DeviceSteps plan_device_fill(const core::ArrayView& dst, const std::byte* value);

}  // namespace refarray::runtime
