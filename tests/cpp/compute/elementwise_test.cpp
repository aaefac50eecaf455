// Tests of the table of elementwise kernels, of axes with gaps, and of threads.
// tests/fuzz/compute_fuzz.cpp compares every function, layout and instruction set with single
// elements.
#include "compute/ops/elementwise.hpp"

#include <array>
#include <string>

#include "check.hpp"
#include "core/copy/copy.hpp"
#include "naive.hpp"
#include "operands.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

/// The result for contiguous inputs of the result's shape.
Array computed(const ElementwiseRow& row, ScalarType dtype, std::span<const ArrayView> inputs) {
  Array out = new_array(result_dtype(row.result, dtype), inputs[0].extents(), false);
  check(run_elementwise(find_kernel(row.operation, dtype), out, inputs));
  return out;
}

const Case every_row_has_kernels("every function has a kernel for each dtype it accepts", [] {
  for (const ScalarType dtype : kComputableTypes) {
    for (const ElementwiseRow& row : kElementwiseRows)
      check(!contains(row.accepts, dtype) || find_kernel(row.operation, dtype).function != nullptr,
            text(row.name, " of ", info_of(dtype).name));
    check(find_where_kernel(dtype).function != nullptr, "where");
  }
});

const Case rows_with_gaps("one axis with gaps, in blocks for the cache and for memory", [] {
  Random random(16);
  using enum ScalarType;
  for (const ScalarType dtype : {kInt16, kInt64, kUInt8, kFloat32, kFloat64, kComplex128}) {
    for (const std::int64_t size : {300, 9001, 90001}) {
      const List shape{size};
      const Array x = random_view(random, scalar_dtype(dtype), shape);
      const Array y = random_view(random, scalar_dtype(dtype), shape);
      const Array whole = random_array(random, scalar_dtype(dtype), {3 * size});
      const Array before = contiguous(whole);
      Layout layout(shape, List{-3});
      const Array out = with_layout(whole, layout, 3 * size - 2);
      const Array x_copy = contiguous(x), y_copy = contiguous(y);
      const std::array<ArrayView, 2> inputs{x, y}, copies{x_copy, y_copy};
      check(run_elementwise(find_kernel(Elementwise::kAdd, dtype), out, inputs));
      const Array expected = computed(row_of(Elementwise::kAdd), dtype, copies);
      copy(with_layout(before, layout, 3 * size - 2), expected);
      check(same(whole.dtype, whole.data, before.data, 3 * size),
            text(scalar_dtype(dtype).itemsize(), " bytes, ", size, " elements"));
    }
  }
});

const Case threads("threads and pieces do not change results, and an interrupt ends them", [] {
  Random random(15);
  const List shape{3, 700001};
  const Array x = random_array(random, scalar_dtype(ScalarType::kFloat64), shape);
  const std::array<ArrayView, 2> inputs{x, x};
  const ElementwiseRow& row = row_of(Elementwise::kMultiply);
  const Array alone = computed(row, ScalarType::kFloat64, inputs);
  set_copy_threads(4);
  const Array shared = computed(row, ScalarType::kFloat64, inputs);
  set_copy_threads(1);
  check(same(alone.dtype, alone.data, shared.data, alone.view().size()), "four threads");
  const InterruptCheck always{[](void*) noexcept { return true; }, nullptr};
  check(!run_elementwise(find_kernel(row.operation, ScalarType::kFloat64), shared, inputs, always),
        "interrupted");
});

}  // namespace
