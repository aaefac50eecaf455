// Tests that elementwise functions give the same results on every instruction set, and with
// strided, broadcast, converted and misaligned operands as with contiguous ones.
#include "core/ops/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/copy/copy.hpp"
#include "core/element.hpp"
#include "core/kernels/table.hpp"
#include "naive.hpp"

namespace refarray::core {
namespace {

using check::Case;
using check::check;
using check::List;
using check::Random;

using Bytes = std::vector<std::byte>;

/// Random bits, but mostly small numbers: those of an int8, converted.
Array random_array(Random& random, const DType& dtype, const List& shape) {
  Array out = new_array(dtype, shape, false);
  for (std::int64_t i = 0; i < out.view().nbytes(); ++i)
    out.data[i] = static_cast<std::byte>(random.between(0, 255));
  if (dtype.kind == Kind::kBool || random.between(0, 3) == 0) return out;
  const Array small = new_array({Kind::kInt, 8}, shape, false);
  for (std::int64_t i = 0; i < small.view().size(); ++i)
    small.data[i] = static_cast<std::byte>(random.between(-9, 9));
  copy(out, small);
  return out;
}

template <class T>
bool is_nan_at(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value != value;
}

/// Equal bits, or both NaN: which NaN a sum of two gives depends on the order of the instruction's
/// operands.
bool same(const DType& dtype, const std::byte* a, const std::byte* b, std::int64_t count) {
  const bool is_complex = dtype.is_complex();
  const int bytes = is_complex ? dtype.itemsize() / 2 : dtype.itemsize();
  const bool is_floating = is_complex || dtype.kind == Kind::kFloat;
  for (std::int64_t i = 0; i < (is_complex ? 2 * count : count); ++i) {
    if (std::memcmp(a + i * bytes, b + i * bytes, static_cast<std::size_t>(bytes)) == 0) continue;
    if (is_floating && bytes == 4 && is_nan_at<float>(a, i) && is_nan_at<float>(b, i)) continue;
    if (is_floating && bytes == 8 && is_nan_at<double>(a, i) && is_nan_at<double>(b, i)) continue;
    if (bytes == 2 && dtype.kind != Kind::kInt && dtype.kind != Kind::kUInt) {
      std::uint16_t x, y;
      std::memcpy(&x, a + 2 * i, 2);
      std::memcpy(&y, b + 2 * i, 2);
      const unsigned infinity = dtype.kind == Kind::kFloat ? 0x7C00U : 0x7F80U;
      if ((x & 0x7FFFU) > infinity && (y & 0x7FFFU) > infinity) continue;
    }
    return false;
  }
  return true;
}

std::string label(const ElementwiseRow& row, int dtype) {
  return text(row.name, " of ", kScalars[static_cast<std::size_t>(dtype)].name);
}

template <class Body>
void each_function_and_dtype(const Body& body) {
  for (const ElementwiseRow& row : kElementwiseRows) {
    for (int dtype = 0; dtype < kComputable; ++dtype)
      if ((row.accepts >> dtype & 1) != 0) body(row, dtype);
  }
}

Array contiguous(const ArrayView& view) {
  Array out = new_array(view.dtype, view.extents(), false);
  copy(out, view);
  return out;
}

/// The result for contiguous inputs of the result's shape.
Array computed(const ElementwiseRow& row, int dtype, std::span<const ArrayView> inputs) {
  Array out = new_array(result_dtype(row.result, dtype), inputs[0].extents(), false);
  check(run_elementwise(find_kernel(row.operation, dtype), out, inputs));
  return out;
}

const Case every_row_has_kernels("every function has a kernel for each dtype it accepts", [] {
  each_function_and_dtype([](const ElementwiseRow& row, int dtype) {
    check(find_kernel(row.operation, dtype).function != nullptr, label(row, dtype));
  });
  for (int dtype = 0; dtype < kComputable; ++dtype)
    check(find_where_kernel(dtype).function != nullptr, "where");
});

const Case levels("all instruction sets give the same results", [] {
  const kernels::Choices all = kernels::choices();
  Random random(11);
  each_function_and_dtype([&](const ElementwiseRow& row, int dtype) {
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

/// A view with random strides in a larger random array, which broadcasts to `shape`.
Array random_view(Random& random, const DType& dtype, const List& shape) {
  List base, steps;
  for (const std::int64_t extent : shape) {
    const bool repeats = random.between(0, 4) == 0;
    steps.push_back(repeats ? 0 : random.between(1, 3) * (random.between(0, 1) == 0 ? 1 : -1));
    base.push_back(repeats ? 1 : extent * std::abs(steps.back()));
  }
  List order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
  List permuted;
  for (const std::int64_t axis : order) permuted.push_back(base[static_cast<std::size_t>(axis)]);
  const Array whole = random_array(random, dtype, permuted);
  Layout layout(shape, shape);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto axis = static_cast<std::size_t>(order[i]);
    layout.strides[axis] = whole.layout.strides[i] * steps[axis];
    if (steps[axis] < 0) offset -= (shape[axis] - 1) * layout.strides[axis];
  }
  return with_layout(whole, layout, offset);
}

const Case layouts("strided and broadcast operands give the results of contiguous ones", [] {
  Random random(12);
  each_function_and_dtype([&](const ElementwiseRow& row, int dtype) {
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
  const auto add = find_kernel(Elementwise::kAdd, 10);
  for (int round = 0; round < 200; ++round) {
    const List shape{random.between(1, 40), random.between(1, 40)};
    const Array x = random_view(random, scalar_dtype(10), shape);
    const Array whole = random_array(random, scalar_dtype(10), {shape[1] * 2, shape[0] * 3});
    const Array before = contiguous(whole);
    Layout layout(shape, shape);
    layout.strides[0] = 3;
    layout.strides[1] = shape[0] * 6;
    const Array out = with_layout(whole, layout, 1);
    const std::array<ArrayView, 2> inputs{x, x};
    check(run_elementwise(add, out, inputs));
    const Array x_copy = contiguous(x);
    const std::array<ArrayView, 2> copies{x_copy, x_copy};
    const Array expected = new_array(scalar_dtype(10), shape, false);
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

const Case conversions("operands of a narrower dtype are converted as copy() does", [] {
  Random random(14);
  for (const auto& [narrow, wide] :
       {std::pair{1, 4}, {5, 2}, {9, 10}, {9, 12}, {13, 9}, {14, 10}}) {
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
  const Array x = random_array(random, scalar_dtype(10), shape);
  const std::array<ArrayView, 2> inputs{x, x};
  const ElementwiseRow& row = row_of(Elementwise::kMultiply);
  const Array alone = computed(row, 10, inputs);
  set_copy_threads(4);
  const Array shared = computed(row, 10, inputs);
  set_copy_threads(1);
  check(same(alone.dtype, alone.data, shared.data, alone.view().size()), "four threads");
  const InterruptCheck always{[](void*) noexcept { return true; }, nullptr};
  check(!run_elementwise(find_kernel(row.operation, 10), shared, inputs, always), "interrupted");
});

}  // namespace
}  // namespace refarray::core
