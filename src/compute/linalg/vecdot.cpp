// Implements vecdot(): products of a part of the vectors, and their sums.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "compute/linalg/matmul.hpp"
#include "compute/ops/elementwise.hpp"
#include "compute/ops/reductions/reduce.hpp"

namespace refarray::core {
namespace {

/// Products in memory at a time, unless one pair of vectors has more.
constexpr std::int64_t kMaxProducts = std::int64_t{1} << 20;

/// The indices [begin, begin + extent) along an axis. `shape` becomes that of the part.
ArrayView part(const ArrayView& array, int axis, std::int64_t begin, std::int64_t extent,
               std::int64_t* shape) noexcept {
  ArrayView out = array;
  std::copy_n(array.shape, array.ndim, shape);
  shape[axis] = extent;
  out.shape = shape;
  out.data += begin * array.strides[axis] * array.dtype.itemsize();
  return out;
}

/// Computes conj(x1) * x2. Returns false if interrupted.
bool multiply(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
              const InterruptCheck& interrupt) {
  const ScalarType dtype = computable_scalar(x1.dtype);
  std::array<ArrayView, 2> factors{x1, x2};
  if (x1.dtype.is_complex()) {
    if (!run_elementwise(find_kernel(Elementwise::kConj, dtype), out, {&x1, 1}, interrupt))
      return false;
    factors[0] = out;
  }
  return run_elementwise(find_kernel(Elementwise::kMultiply, dtype), out, factors, interrupt);
}

}  // namespace

bool vecdot(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
            const InterruptCheck& interrupt) {
  const int last = x1.ndim - 1;
  if (x1.size() > kMaxProducts && out.size() > 1) {
    const std::int64_t* const longest = std::max_element(out.shape, out.shape + last);
    const auto axis = static_cast<int>(longest - out.shape);
    const std::int64_t half = *longest / 2;
    std::int64_t shapes[3][kMaxRank];
    for (const auto& [begin, extent] :
         {std::array{std::int64_t{0}, half}, std::array{half, *longest - half}}) {
      if (!vecdot(part(out, axis, begin, extent, shapes[0]),
                  part(x1, axis, begin, extent, shapes[1]),
                  part(x2, axis, begin, extent, shapes[2]), interrupt))
        return false;
    }
    return true;
  }
  const Array products = new_array(x1.dtype, x1.extents(), /*zeroed=*/false);
  if (!multiply(products, x1, x2, interrupt)) return false;
  const ReductionCall sum{Reduction::kSum, std::uint64_t{1} << last};
  return reduce(out, products, sum, interrupt) && !interrupt();
}

}  // namespace refarray::core
