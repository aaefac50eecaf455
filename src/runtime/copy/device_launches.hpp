// Owns Launches: axes become the parameters of launches, as many as their numbers need.
#pragma once

#include <cstdint>

#include "runtime/copy/device_axes.hpp"
#include "runtime/copy/device_plan.hpp"

namespace refarray::runtime {

constexpr std::int64_t ceil_div(std::int64_t count, std::int64_t by) noexcept {
  return (count + by - 1) / by;
}

/// Writes down the launches of one kernel. A copy of too many units or axes is cut.
class Launches {
 public:
  Launches(DeviceSteps& steps, int kernel, const kernels::Params& params, bool in_bits) noexcept
      : steps_(steps), kernel_(kernel), params_(params), in_bits_(in_bits) {}

  /// A thread for each kPerThread units.
  void units(const DeviceAxes& axes);
  /// Units are rows of `nbytes` bytes, and a thread has kPerThread pieces of them.
  void rows(const DeviceAxes& axes, std::int64_t nbytes);
  /// A block for each tile of the last two axes, and of those that continue them if they are short.
  void tiles(const DeviceAxes& axes, std::int64_t unit);

 private:
  template <class Again>
  bool cut(const DeviceAxes& axes, std::int64_t count, Again again);
  void launch(const DeviceAxes& axes, std::int64_t count, bool is_blocks);

  DeviceSteps& steps_;
  int kernel_;
  kernels::Params params_;
  bool in_bits_;
};

}  // namespace refarray::runtime
