// The table of the mathematics of one instruction set, put together.
#include "compute/math/levels/math_kernels.hpp"

namespace refarray::core::math::REFARRAY_MATH {

const kernels::ElementwiseTable& functions() noexcept {
  static const kernels::ElementwiseTable table = [] {
    kernels::ElementwiseTable out{};
    add_float32(out);
    add_float64(out);
    return out;
  }();
  return table;
}

}  // namespace refarray::core::math::REFARRAY_MATH
