// DeviceAxes: the axes of a device copy, between the host's plan and kernel parameters. Launches:
// turns them into the parameters, splitting copies that exceed a launch's limits.
#pragma once

#include <bit>
#include <cstdint>

#include "core/copy/plan.hpp"
#include "runtime/copy/device_plan.hpp"

namespace refarray::runtime {

/// Axes from slowest to fastest, as in core::Plan. Strides and offsets are in bytes, or in bits for
/// the bit and conversion kernels.
struct DeviceAxes {
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t dst = 0;
    std::int64_t src = 0;
  };
  std::uint64_t dst;        // address
  std::uint64_t src;        // address
  std::int64_t dst_offset;  // from `dst` to element (0,...,0)
  std::int64_t src_offset;  // from `src` to element (0,...,0)
  int count = 0;
  Axis axis[core::kMaxRank + 2];

  DeviceAxes(const core::Plan& plan, bool in_bits) noexcept
      : dst(address_of(plan.dst.data)),
        src(address_of(plan.src.data)),
        dst_offset(plan.dst.bit),
        src_offset(plan.src.bit) {
    const int bits = in_bits ? 1 : 8;
    for (int i = 0; i < plan.ndim; ++i)
      push({plan.shape[i], plan.dst_strides[i] / bits, plan.src_strides[i] / bits});
  }
  Axis& last() noexcept { return axis[count - 1]; }
  const Axis& last() const noexcept { return axis[count - 1]; }
  void push(const Axis& added) noexcept { axis[count++] = added; }
  /// At least one axis always remains.
  void erase(int at) noexcept {
    --count;
    for (int i = at; i < count; ++i) axis[i] = axis[i + 1];
    if (count == 0) push({1, 0, 0});
  }
  /// Restricts an axis to `extent` indices starting at `begin`.
  void narrow(int at, std::int64_t begin, std::int64_t extent) noexcept {
    dst_offset += begin * axis[at].dst;
    src_offset += begin * axis[at].src;
    axis[at].extent = extent;
  }
  /// The product of the first `end` extents; INT64_MAX if it overflows.
  std::int64_t product(int end) const noexcept {
    std::int64_t out = 1;
    for (int i = 0; i < end; ++i) {
      if (__builtin_mul_overflow(out, axis[i].extent, &out)) return INT64_MAX;
    }
    return out;
  }
  /// The largest power of two up to `most` that divides both start addresses and all strides of the
  /// first `end` axes. Strides are in bytes.
  std::int64_t alignment(int end, std::uint64_t most) const noexcept {
    const std::uint64_t begins = (dst + static_cast<std::uint64_t>(dst_offset)) |
                                 (src + static_cast<std::uint64_t>(src_offset));
    std::uint64_t all = begins | most;
    for (int i = 0; i < end; ++i) {
      if (axis[i].extent == 1) continue;
      all |= static_cast<std::uint64_t>(axis[i].dst) | static_cast<std::uint64_t>(axis[i].src);
    }
    return std::int64_t{1} << std::countr_zero(all);
  }

 private:
  static std::uint64_t address_of(const std::byte* data) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data));
  }
};

constexpr std::int64_t ceil_div(std::int64_t count, std::int64_t by) noexcept {
  return (count + by - 1) / by;
}

/// Appends the launches of one kernel to a plan.
class Launches {
 public:
  Launches(DeviceSteps& steps, int kernel, const kernels::Params& params, bool in_bits) noexcept
      : steps_(steps), kernel_(kernel), params_(params), in_bits_(in_bits) {}

  /// One thread per kPerThread words or elements.
  void words(const DeviceAxes& axes);
  /// Rows of `nbytes` bytes; one thread per kPerThread pieces of them.
  void rows(const DeviceAxes& axes, std::int64_t nbytes);
  /// One block per tile of the last two axes. Short ones are joined with the axes that continue
  /// them.
  void tiles(const DeviceAxes& axes, std::int64_t word);

 private:
  template <class Again>
  bool split(const DeviceAxes& axes, std::int64_t count, Again again);
  void launch(const DeviceAxes& axes, std::int64_t count, bool is_blocks);

  DeviceSteps& steps_;
  int kernel_;
  kernels::Params params_;
  bool in_bits_;
};

}  // namespace refarray::runtime
