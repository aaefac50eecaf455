// Tests that reductions and scans give the same results for every number of threads, and write no
// byte beside their output. tests/fuzz/compute_fuzz.cpp compares every layout and instruction set
// with plain loops.
#include <bit>
#include <string>

#include "check.hpp"
#include "compute/ops/reductions/reduce.hpp"
#include "core/copy/copy.hpp"
#include "naive.hpp"
#include "operands.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

std::string label(const ReductionRow& row, ScalarType dtype) {
  return text(row.name, " of ", kScalars[static_cast<std::size_t>(dtype)].name);
}

bool is_scan(Reduction operation) {
  return operation == Reduction::kCumulativeProd || operation == Reduction::kCumulativeSum;
}

/// `operation` along `axes`; a scan has one of them.
void compute(const ArrayView& out, const ArrayView& x, Reduction operation, std::uint64_t axes) {
  if (is_scan(operation))
    check(scan(out, x, std::countr_zero(axes), operation));
  else
    check(reduce(out, x, {operation, axes, 0}));
}

List result_shape(const ReductionRow& row, const ArrayView& x, std::uint64_t axes) {
  List out(x.shape, x.shape + x.ndim);
  for (std::size_t axis = 0; !is_scan(row.operation) && axis < out.size(); ++axis)
    if ((axes >> axis & 1) != 0) out[axis] = 1;
  return out;
}

Array computed(const ReductionRow& row, const ArrayView& x, std::uint64_t axes) {
  Random random(1);
  const Guarded out(random, reduced_dtype(row.operation, x.dtype), result_shape(row, x, axes));
  compute(out.array, x, row.operation, axes);
  check(out.is_intact(), text(row.name, " of shape ", shape_text(x.extents()), " along axes ", axes,
                              " writes beside its output"));
  return contiguous(out.array);
}

const Case threads("threads do not change results", [] {
  Random random(24);
  using enum ScalarType;
  for (const ScalarType dtype : {kInt8, kFloat32, kFloat64, kComplex64}) {
    const DType type = scalar_dtype(dtype);
    const List shape{1500, 2 * ((6 << 20) / 1500 / type.itemsize())};
    const Array whole = random_array(random, type, shape);
    Layout layout = whole.layout;
    layout.shape[1] /= 2;
    layout.strides[1] = 2;
    const Array strided = with_layout(whole, layout, 0);
    for (const ReductionRow& row : kReductionRows) {
      if (!contains(row.accepts, dtype)) continue;
      for (const std::uint64_t axes : {1, 2}) {
        const Array alone = computed(row, strided, axes);
        set_copy_threads(3);
        const Array shared = computed(row, strided, axes);
        set_copy_threads(1);
        check(same(alone.dtype, alone.data, shared.data, alone.view().size()),
              text(label(row, dtype), " along axes ", axes));
      }
    }
  }
});

}  // namespace
