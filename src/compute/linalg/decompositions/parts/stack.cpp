// Implements the iteration over the leading axes of stacked operands.
#include "compute/linalg/decompositions/parts/stack.hpp"

#include <algorithm>

namespace refarray::core {

Stack::Stack(std::span<const Stacked> operands, std::int64_t first) noexcept
    : count_(operands.size()),
      leading_(operands[0].array.ndim - operands[0].axes),
      shape_(operands[0].array.shape) {
  for (int axis = leading_ - 1; axis >= 0; --axis) {
    const std::int64_t extent = std::max<std::int64_t>(shape_[axis], 1);
    index_[axis] = first % extent;
    first /= extent;
  }
  is_empty_ = std::ranges::all_of(operands,
                                  [](const Stacked& operand) { return operand.array.size() == 0; });
  for (std::size_t i = 0; i < count_; ++i) {
    const auto& [array, axes] = operands[i];
    parts_[i] = array;
    parts_[i].ndim = axes;
    parts_[i].shape += leading_;
    parts_[i].strides += leading_;
    // Strides of axes of extent 1 may be any numbers; as steps they could overflow.
    for (int axis = 0; axis < leading_; ++axis)
      steps_[i][axis] = shape_[axis] <= 1 ? 0 : array.strides[axis] * array.dtype.itemsize();
    for (int axis = 0; axis < leading_; ++axis) parts_[i].data += index_[axis] * steps_[i][axis];
  }
}

bool Stack::advance() noexcept {
  for (int axis = leading_ - 1; axis >= 0; --axis) {
    const bool wraps = ++index_[axis] == shape_[axis];
    for (std::size_t i = 0; i < count_; ++i)
      parts_[i].data += steps_[i][axis] * (wraps ? 1 - shape_[axis] : 1);
    if (!wraps) return true;
    index_[axis] = 0;
  }
  return false;
}

}  // namespace refarray::core
