// Tests that matrix products and sums of products of vectors have the bits of plain loops, on every
// instruction set, for every layout and number of threads, and write no byte beside their output.
// Stacks that broadcast and empty operands are those of tests/fuzz/product_fuzz.cpp.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "check.hpp"
#include "compute/linalg/matmul.hpp"
#include "compute/ops/reductions/reduce.hpp"
#include "core/copy/copy.hpp"
#include "core/kernels/table.hpp"
#include "naive.hpp"
#include "naive_products.hpp"
#include "operands.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr int kMultiplied = 13;       // matmul takes the dtypes [1, kMultiplied)
constexpr std::int64_t kLong = 8205;  // longer than what is packed at a time
// At the edges of tiles and slices.
constexpr std::int64_t kExtents[] = {1, 2, 3, 5, 12, 13, 31, 33, 255, 256, 257, 513};

// --- operands

/// Random numbers. The sums of most of their products are rounded, so that the order matters.
Array numbers(Random& random, const DType& dtype, std::int64_t count) {
  if (random.between(0, 3) == 0) return random_array(random, dtype, {count});  // NaN, zeros
  Array out = new_array(dtype, List{count}, false);
  if (dtype == scalar_dtype(ScalarType::kFloat16) || dtype == scalar_dtype(ScalarType::kBfloat16)) {
    copy(out, numbers(random, scalar_dtype(ScalarType::kFloat32), count));
    return out;
  }
  const DType part = dtype.is_complex() ? scalar_dtype(dtype.bits == 64 ? ScalarType::kFloat32
                                                                        : ScalarType::kFloat64)
                                        : dtype;
  const std::int64_t parts = out.view().nbytes() / part.itemsize();
  with_type(part, [&]<class T>(T) {
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t bits = random.between(-(std::int64_t{1} << 53), std::int64_t{1} << 53);
      if constexpr (std::is_integral_v<T>) elements<T>(out)[i] = static_cast<T>(bits);
      if constexpr (std::is_floating_point_v<T>)
        elements<T>(out)[i] = static_cast<T>(static_cast<double>(bits) / 0x1p50);
    }
  });
  return out;
}

/// A view of any layout: axes in any order, gaps, reversed and repeated axes, misaligned elements.
Array placed(Random& random, const DType& dtype, const List& shape) {
  const std::int64_t widest = size_of(shape) > 50'000 ? 1 : 3;
  const std::size_t rank = shape.size();
  Layout layout(shape, shape);
  List order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
  if (rank > 1 && random.between(0, 1) == 0) std::swap(order[rank - 1], order[rank - 2]);
  if (random.between(0, 3) == 0) std::swap(order[0], order[rank - 1]);
  std::int64_t count = 1, offset = 0;
  for (std::size_t i = rank; i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    const std::int64_t step = random.between(0, 7) == 0 ? 0 : random.between(1, widest);
    layout.strides[axis] = count * step;
    if (step == 0) continue;
    count *= std::max<std::int64_t>(shape[axis], 1) * step;
    if (random.between(0, 2) > 0 || shape[axis] == 0) continue;
    offset += (shape[axis] - 1) * layout.strides[axis];
    layout.strides[axis] *= -1;
  }
  const Array content = numbers(random, dtype, count);
  const std::int64_t nbytes = content.view().nbytes();
  const std::int64_t shift = random.between(0, 1) == 0 ? 0 : random.between(1, 15);
  Array out = new_array(scalar_dtype(ScalarType::kUInt8), List{nbytes + shift}, false);
  std::memcpy(out.data + shift, content.data, static_cast<std::size_t>(nbytes));
  out.data += shift + offset * dtype.itemsize();
  out.dtype = dtype;
  out.layout = layout;
  return out;
}

// --- comparisons

/// The shape of x1 @ x2, with the leading axes `batch`.
List product_shape(const List& batch, const ArrayView& x1, const ArrayView& x2) {
  List shape = batch;
  shape.push_back(x1.shape[x1.ndim - 2]);
  shape.push_back(x2.shape[x2.ndim - 1]);
  return shape;
}

std::string label(const ArrayView& x1, const ArrayView& x2) {
  return text(name(x1.dtype), " ", show(x1.extents(), x1.stride_span()), " by ",
              show(x2.extents(), x2.stride_span()));
}

template <class Compute>
void compare_at_each_level(const Array& expected, const std::string& what, const Compute& compute) {
  const kernels::Choices all = kernels::choices();
  const List shape(expected.layout.shape, expected.layout.shape + expected.layout.ndim);
  for (int i = all.count - 1; i >= 0; --i) {  // the best is left in use
    kernels::use(all.tables[i]->name);
    Random random(1);
    const Guarded out(random, expected.dtype, shape);
    check(compute(out.array), text(what, " was interrupted"));
    check(same(expected.dtype, out.array.data, expected.data, expected.view().size()),
          text(what, " at level ", all.tables[i]->name));
    check(out.is_intact(), text(what, " writes beside its output"));
  }
}

void compare_product(const Array& x1, const Array& x2, const List& batch = {}) {
  const Array expected = product(x1, x2, product_shape(batch, x1, x2));
  compare_at_each_level(expected, label(x1, x2),
                        [&](const ArrayView& out) { return matmul(out, x1, x2, {}); });
}

void compare_vecdot(const Array& x1, const Array& x2) {
  List shape(x1.layout.shape, x1.layout.shape + x1.layout.ndim);
  shape.back() = 1;
  const Array expected = sums_of_products(x1, x2, shape);
  compare_at_each_level(expected, label(x1, x2),
                        [&](const ArrayView& out) { return vecdot(out, x1, x2, {}); });
}

/// A body for each dtype that matmul takes.
template <class Body>
void each_dtype(const Body& body) {
  for (int i = 1; i < kMultiplied; ++i) body(scalar_dtype(static_cast<ScalarType>(i)));
}

const Case edges("products around the edges of tiles and slices", [] {
  Random random(31);
  each_dtype([&](const DType& dtype) {
    for (const std::int64_t extent : kExtents) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        List extents(3);  // of rows, the summed axis and columns
        for (std::int64_t& each : extents) each = kExtents[random.between(0, 7)];
        extents[axis] = extent;
        const auto [rows, depth, columns] = std::array{extents[0], extents[1], extents[2]};
        compare_product(placed(random, dtype, {rows, depth}),
                        placed(random, dtype, {depth, columns}));
      }
    }
  });
});

const Case blocks("products of several blocks", [] {
  Random random(32);
  each_dtype([&](const DType& dtype) {
    for (const List& extents : {List{257, 31, 513}, List{513, 257, 33}, List{33, 513, 257}})
      compare_product(placed(random, dtype, {extents[0], extents[1]}),
                      placed(random, dtype, {extents[1], extents[2]}));
  });
});

const Case long_axes("products with a long axis, of vectors too", [] {
  Random random(33);
  each_dtype([&](const DType& dtype) {
    for (const List& extents :
         {List{kLong, 3, 5}, List{3, kLong, 5}, List{2, 5, kLong}, List{kLong, 257, 1},
          List{1, 257, kLong}, List{1, kLong, 2}, List{2, kLong, 1}, List{1, kLong, 1}})
      compare_product(placed(random, dtype, {extents[0], extents[1]}),
                      placed(random, dtype, {extents[1], extents[2]}));
  });
});

const Case strides_of_one("strides of axes of extent 1 are ignored", [] {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  Random random(38);
  each_dtype([&](const DType& dtype) {
    for (const List& extents : {List{1, 1, 1}, List{1, 5, 1}, List{13, 1, 33}, List{1, 300, 7}}) {
      Array x1 = placed(random, dtype, {1, extents[0], extents[1]});
      Array x2 = placed(random, dtype, {extents[1], extents[2]});
      for (Array* const each : {&x1, &x2}) {
        for (int axis = 0; axis < each->layout.ndim; ++axis)
          if (each->layout.shape[axis] == 1) each->layout.strides[axis] = -kFar - axis;
      }
      compare_product(x1, x2, {1});
    }
  });
});

const Case vectors("sums of products of rows", [] {
  Random random(36);
  for (const ScalarType dtype : kComputableTypes) {
    if (dtype == ScalarType::kBool) continue;
    for (const std::int64_t extent : kExtents) {
      for (const List& shape :
           {List{extent}, List{random.between(1, 9), extent}, List{extent, 2, 7}}) {
        const DType type = scalar_dtype(dtype);
        compare_vecdot(placed(random, type, shape), placed(random, type, shape));
      }
    }
    for (const List& shape : {List{kLong}, List{(1 << 20) + 5}, List{1030, 1024}})
      compare_vecdot(placed(random, scalar_dtype(dtype), shape),
                     placed(random, scalar_dtype(dtype), shape));
  }
});

/// Matrices and vectors that are worth several threads.
template <class Body>
void each_long_product(const Body& body) {
  Random random(37);
  using enum ScalarType;
  for (const ScalarType dtype : {kInt8, kUInt32, kFloat32, kFloat64, kComplex64, kComplex128}) {
    const DType type = scalar_dtype(dtype);
    const Array x1 = placed(random, type, {513, 300}), x2 = placed(random, type, {300, 1030});
    body(text("matmul of ", name(type)), x1, x2, List{513, 1030}, &matmul);
    const Array y1 = placed(random, type, {1100, 1100}), y2 = placed(random, type, {1100, 1100});
    body(text("vecdot of ", name(type)), y1, y2, List{1100, 1}, &vecdot);
  }
}

const Case threads("threads do not change results", [] {
  each_long_product([](const std::string& what, const Array& x1, const Array& x2, const List& shape,
                       const auto compute) {
    const Array alone = new_array(x1.dtype, shape, true), shared = new_array(x1.dtype, shape, true);
    check(compute(alone, x1, x2, {}), what);
    set_copy_threads(4);
    check(compute(shared, x1, x2, {}), what);
    set_copy_threads(1);
    check(same(alone.dtype, alone.data, shared.data, alone.view().size()), what);
  });
});

const Case interrupts("an interrupt ends the work with false", [] {
  for (const int count : {1, 4}) {
    set_copy_threads(count);
    each_long_product([count](const std::string& what, const Array& x1, const Array& x2,
                              const List& shape, const auto compute) {
      const Array out = new_array(x1.dtype, shape, true);
      for (const int call : {0, 1, 1 << 30}) {
        Stopper stopper{call};
        const bool goes_on = compute(out, x1, x2, stopper.check());
        check(goes_on == (stopper.calls_left >= 0), what);
        // The other threads may have taken all pieces before this one.
        if (count == 1) check(goes_on == (call > 1), what);
      }
    });
  }
  set_copy_threads(1);
});

const Case long_vectors("products of two long vectors are interrupted before they are added", [] {
  const Array x = new_array(scalar_dtype(ScalarType::kFloat32), List{1 << 22}, true);
  const Array sum = new_array(scalar_dtype(ScalarType::kFloat32), List{1}, true);
  const ReductionCall call{Reduction::kSum, 1};
  Stopper adding{1 << 30}, both{1 << 30};
  check(reduce(sum, x, call, adding.check()));
  check(vecdot(sum, x, x, both.check()));
  check(adding.calls_left - both.calls_left > 4, "products are computed without a check");
});

}  // namespace
