// Tests that elementwise functions give the same results on every instruction set, and with
// strided, broadcast, converted and misaligned operands as with contiguous ones.
#include "compute/ops/elementwise.hpp"

#include <array>
#include <cstring>
#include <string>

#include "check.hpp"
#include "core/copy/copy.hpp"
#include "core/kernels/table.hpp"
#include "naive.hpp"
#include "operands.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

std::string label(const ElementwiseRow& row, ScalarType dtype) {
  return text(row.name, " of ", kScalars[static_cast<std::size_t>(dtype)].name);
}

template <class Body>
void each_function_and_dtype(const Body& body) {
  for (const ElementwiseRow& row : kElementwiseRows) {
    for (const ScalarType dtype : kComputableTypes)
      if (contains(row.accepts, dtype)) body(row, dtype);
  }
}

/// The result for contiguous inputs of the result's shape.
Array computed(const ElementwiseRow& row, ScalarType dtype, std::span<const ArrayView> inputs) {
  Array out = new_array(result_dtype(row.result, dtype), inputs[0].extents(), false);
  check(run_elementwise(find_kernel(row.operation, dtype), out, inputs));
  return out;
}

const Case every_row_has_kernels("every function has a kernel for each dtype it accepts", [] {
  each_function_and_dtype([](const ElementwiseRow& row, ScalarType dtype) {
    check(find_kernel(row.operation, dtype).function != nullptr, label(row, dtype));
  });
  for (const ScalarType dtype : kComputableTypes)
    check(find_where_kernel(dtype).function != nullptr, "where");
});

const Case levels("all instruction sets give the same results", [] {
  const kernels::Choices all = kernels::choices();
  Random random(11);
  each_function_and_dtype([&](const ElementwiseRow& row, ScalarType dtype) {
    const List shape{random.between(1, 70)};
    const Array x = random_array(random, scalar_dtype(dtype), shape);
    const Array y = random_array(random, scalar_dtype(dtype), shape);
    const std::array<ArrayView, 2> inputs{x, y};
    const std::span<const ArrayView> used(inputs.data(), row.inputs);
    kernels::use(all.tables[all.count - 1]->name);
    const Array plain = computed(row, dtype, used);
    for (int i = 0; i < all.count - 1; ++i) {
      kernels::use(all.tables[i]->name);
      const Array out = computed(row, dtype, used);
      check(same(out.dtype, out.data, plain.data, shape[0]),
            text(label(row, dtype), " at level ", all.tables[i]->name));
    }
  });
  kernels::use(all.tables[0]->name);
});

const Case layouts("strided and broadcast operands give the results of contiguous ones", [] {
  Random random(12);
  each_function_and_dtype([&](const ElementwiseRow& row, ScalarType dtype) {
    for (int round = 0; round < 3; ++round) {
      List shape;
      for (std::int64_t axes = random.between(0, round == 0 ? 2 : 4); axes > 0; --axes)
        shape.push_back(random.between(1, round == 0 ? 140 : 5));
      const Array x = random_view(random, scalar_dtype(dtype), shape);
      const Array y = random_view(random, scalar_dtype(dtype), shape);
      const std::array<ArrayView, 2> strided{x, y};
      const Array x_copy = contiguous(x), y_copy = contiguous(y);
      const std::array<ArrayView, 2> copies{x_copy, y_copy};
      const Array expected = computed(row, dtype, {copies.data(), row.inputs});
      const Array out = computed(row, dtype, {strided.data(), row.inputs});
      check(same(out.dtype, out.data, expected.data, out.view().size()),
            text(label(row, dtype), " of shape ", shape_text(shape)));
    }
  });
});

const Case outputs("outputs with any strides get every result, and no byte beside them", [] {
  Random random(13);
  const auto add = find_kernel(Elementwise::kAdd, ScalarType::kFloat64);
  for (int round = 0; round < 200; ++round) {
    const List shape{random.between(1, 40), random.between(1, 40)};
    const Array x = random_view(random, scalar_dtype(ScalarType::kFloat64), shape);
    const Array whole =
        random_array(random, scalar_dtype(ScalarType::kFloat64), {shape[1] * 2, shape[0] * 3});
    const Array before = contiguous(whole);
    Layout layout(shape, shape);
    layout.strides[0] = 3;
    layout.strides[1] = shape[0] * 6;
    const Array out = with_layout(whole, layout, 1);
    const std::array<ArrayView, 2> inputs{x, x};
    check(run_elementwise(add, out, inputs));
    const Array x_copy = contiguous(x);
    const std::array<ArrayView, 2> copies{x_copy, x_copy};
    const Array expected = new_array(scalar_dtype(ScalarType::kFloat64), shape, false);
    check(run_elementwise(add, expected, copies));
    const Array seen = contiguous(out);
    check(same(seen.dtype, seen.data, expected.data, seen.view().size()), shape_text(shape));
    copy(with_layout(before, layout, 1), expected);
    check(std::memcmp(before.data, whole.data, static_cast<std::size_t>(whole.view().nbytes())) ==
                  0 ||
              same(whole.dtype, whole.data, before.data, whole.view().size()),
          "elements beside the output");
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

const Case conversions("operands of a narrower dtype are converted as copy() does", [] {
  Random random(14);
  using enum ScalarType;
  for (const auto& [narrow, wide] : {std::pair{kInt8, kInt64},
                                     {kUInt8, kInt16},
                                     {kFloat32, kFloat64},
                                     {kFloat32, kComplex128},
                                     {kFloat16, kFloat32},
                                     {kBfloat16, kFloat64}}) {
    const List shape{random.between(1, 60), random.between(1, 60)};
    const Array x = random_view(random, scalar_dtype(narrow), shape);
    const Array y = random_view(random, scalar_dtype(wide), shape);
    const Array x_wide = new_array(scalar_dtype(wide), shape, false);
    copy(x_wide, x);
    const Array y_copy = contiguous(y);
    const std::array<ArrayView, 2> mixed{x, y}, copies{x_wide, y_copy};
    const ElementwiseRow& row = row_of(Elementwise::kMultiply);
    const Array out = computed(row, wide, mixed), expected = computed(row, wide, copies);
    check(same(out.dtype, out.data, expected.data, out.view().size()), label(row, wide));
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
