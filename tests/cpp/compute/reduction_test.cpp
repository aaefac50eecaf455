// Tests that reductions and scans give the same results for every layout, instruction set and
// number of threads, and write no byte beside their output.
#include <bit>
#include <string>

#include "check.hpp"
#include "compute/ops/reductions/reduce.hpp"
#include "compute/ops/reductions/scan.hpp"
#include "core/copy/copy.hpp"
#include "core/kernels/table.hpp"
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

template <class Body>
void each_function_and_dtype(const Body& body) {
  for (const ReductionRow& row : kReductionRows) {
    for (const ScalarType dtype : kComputableTypes)
      if (contains(row.accepts, dtype)) body(row, dtype);
  }
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

std::uint64_t random_axes(Random& random, Reduction operation, std::size_t rank) {
  const auto bits = static_cast<std::int64_t>(rank);
  if (is_scan(operation)) return std::uint64_t{1} << random.between(0, bits - 1);
  return static_cast<std::uint64_t>(random.between(1, (std::int64_t{1} << bits) - 1));
}

List random_shape(Random& random, int round) {
  if (round == 0) return {random.between(1, 3000)};
  if (round < 5) return {random.between(1, 70), random.between(1, round < 3 ? 300 : 40)};
  return {random.between(1, 5), random.between(1, 20), random.between(1, 30)};
}

const Case layouts("strided inputs give the results of contiguous ones, and no byte more", [] {
  Random random(21);
  each_function_and_dtype([&](const ReductionRow& row, ScalarType dtype) {
    for (int round = 0; round < 8; ++round) {
      const List shape = random_shape(random, round);
      const std::uint64_t axes = random_axes(random, row.operation, shape.size());
      const Array x = random_view(random, scalar_dtype(dtype), shape);
      const Array out = computed(row, x, axes);
      const Array expected = computed(row, contiguous(x), axes);
      check(same(out.dtype, out.data, expected.data, out.view().size()),
            text(label(row, dtype), " of shape ", shape_text(shape), " along axes ", axes));
    }
  });
});

const Case columns("outputs denser than the elements of one are reduced row by row", [] {
  Random random(22);
  each_function_and_dtype([&](const ReductionRow& row, ScalarType dtype) {
    const List shape{random.between(2, 90), 2 * random.between(8, 1200)};
    const Array whole = random_array(random, scalar_dtype(dtype), shape);
    Layout layout = whole.layout;
    layout.shape[1] /= 2;
    layout.strides[1] = 2;
    const Array x = with_layout(whole, layout, 0);
    const Array out = computed(row, x, 1);
    const Array expected = computed(row, contiguous(x), 1);
    check(same(out.dtype, out.data, expected.data, out.view().size()), label(row, dtype));
  });
});

const Case levels("all instruction sets give the same results", [] {
  const kernels::Choices all = kernels::choices();
  Random random(23);
  each_function_and_dtype([&](const ReductionRow& row, ScalarType dtype) {
    for (int round = 0; round < 3; ++round) {
      const List shape = random_shape(random, round);
      const std::uint64_t axes = random_axes(random, row.operation, shape.size());
      const Array x = random_view(random, scalar_dtype(dtype), shape);
      kernels::use(all.tables[all.count - 1]->name);
      const Array plain = computed(row, x, axes);
      for (int i = 0; i < all.count - 1; ++i) {
        kernels::use(all.tables[i]->name);
        const Array out = computed(row, x, axes);
        check(same(out.dtype, out.data, plain.data, out.view().size()),
              text(label(row, dtype), " at level ", all.tables[i]->name));
      }
    }
  });
  kernels::use(all.tables[0]->name);
});

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
