// Launches: turns axes into kernel parameters, splitting copies that exceed a launch's limits.
#pragma once

#include <cstdint>

#include "runtime/copy/device_axes.hpp"
#include "runtime/copy/device_plan.hpp"

namespace refarray::runtime {

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
