// Sorting and merging the axes of reductions and scans.
#include "compute/ops/reductions/strided_axes.hpp"

#include <cstdlib>
#include <utility>

namespace refarray::core {

void StridedAxes::push(std::int64_t extent, std::int64_t from_stride,
                       std::int64_t to_stride) noexcept {
  if (extent == 1) return;
  extents[count] = extent;
  from[count] = from_stride;
  to[count] = to_stride;
  ++count;
}

void StridedAxes::sort() noexcept {
  for (int end = 1; end < count; ++end) {
    for (int i = end; i > 0 && std::abs(from[i]) > std::abs(from[i - 1]); --i) {
      std::swap(extents[i], extents[i - 1]);
      std::swap(from[i], from[i - 1]);
      std::swap(to[i], to[i - 1]);
    }
  }
}

void StridedAxes::merge() noexcept {
  if (count == 0) return;
  int merged = 0;
  for (int axis = 1; axis < count; ++axis) {
    const bool continues = from[merged] == wrapped_product(extents[axis], from[axis]) &&
                           to[merged] == wrapped_product(extents[axis], to[axis]);
    if (continues) {
      extents[merged] *= extents[axis];
    } else {
      extents[++merged] = extents[axis];
    }
    from[merged] = from[axis];
    to[merged] = to[axis];
  }
  count = merged + 1;
}

bool StridedAxes::is_contiguous_to() const noexcept {
  std::int64_t expected = 1;
  for (int axis = count - 1; axis >= 0; --axis) {
    if (to[axis] != expected) return false;
    expected *= extents[axis];
  }
  return true;
}

}  // namespace refarray::core
