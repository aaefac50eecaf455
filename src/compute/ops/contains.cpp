// Implements contains(): comparisons of blocks, in the order of memory.
#include "compute/ops/contains.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "compute/ops/elementwise.hpp"
#include "compute/ops/reductions/strided_axes.hpp"
#include "core/memory/scratch.hpp"

namespace refarray::core {
namespace {

constexpr std::int64_t kBlock = std::int64_t{16} << 10;  // elements

/// Compares the elements of a box of at most kBlock.
bool has_in_box(const ElementwiseKernel& equal, const ArrayView& x, const StridedAxes& axes,
                const Box& box, const ArrayView& value, std::byte* results) {
  Layout part, out;
  for (int axis = box.axis; axis < axes.count; ++axis)
    part.push(axis == box.axis ? box.length : axes.extents[axis], axes.from[axis]);
  out = c_layout(part.extents());
  ArrayView elements = x, to;
  elements.data += box.from * x.dtype.itemsize();
  elements.ndim = to.ndim = part.ndim;
  elements.shape = to.shape = part.shape;
  elements.strides = part.strides;
  to.strides = out.strides;
  to.data = results;
  to.dtype = equal.out;
  run_elementwise(equal, to, std::array{elements, value}, {});
  return std::memchr(results, 1, static_cast<std::size_t>(to.size())) != nullptr;
}

}  // namespace

bool contains(bool& found, const ArrayView& x, const ArrayView& value, ScalarType dtype,
              const InterruptCheck& interrupt) {
  found = false;
  if (x.size() == 0) return true;
  StridedAxes axes;
  for (int axis = 0; axis < x.ndim; ++axis)
    if (x.strides[axis] != 0) axes.push(x.shape[axis], x.strides[axis], 0);
  axes.sort();
  axes.merge();
  const ElementwiseKernel equal = find_kernel(Elementwise::kEqual, dtype);
  const std::int64_t size = axes.size();
  for (std::int64_t begin = 0; begin < size && !found; begin += kBlock) {
    {
      const Scratch results(kBlock);
      each_box(axes, begin, std::min(begin + kBlock, size), 0, [&](const Box& box) {
        if (!found) found = has_in_box(equal, x, axes, box, value, results.data());
      });
    }
    if (begin + kBlock < size && interrupt()) return false;
  }
  return true;
}

}  // namespace refarray::core
