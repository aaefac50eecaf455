// cross() and outer().
#include <algorithm>
#include <array>
#include <utility>

#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/linalg/matrix_arguments.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Elementwise;
using core::Fault;

constexpr FunctionRow kCross{
    "cross",
    "x1, x2, /, *, axis=-1",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the cross products of vectors of three elements.

x1, x2: arrays of numeric dtypes with extent 3 along the axis; the other axes broadcast.
axis: counted from the end, so that it means the same axis of both arrays:
    -min(x1.ndim, x2.ndim) to -1.

Returns a new array of the promoted dtype. Integers wrap around.

Raises ValueError for other extents, shapes that do not broadcast and ndim 0,
IndexError for an axis out of range, TypeError for other dtypes and where the
promotion is undefined, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kOuter{
    "outer",
    "x1, x2, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the products of every two elements of two vectors.

x1, x2: arrays of numeric dtypes with shapes (M,) and (N,).

Returns a new array of the promoted dtype with shape (M, N). Integers wrap around.

Raises ValueError for other shapes, TypeError for other dtypes and where the promotion
is undefined, NotImplementedError on a device.)doc",
};

/// out = x1 op x2, whose shapes broadcast to that of `out`.
[[gnu::noinline]] void compute(Elementwise operation, const core::ArrayView& out,
                               const core::ArrayView& x1, const core::ArrayView& x2) {
  const std::array inputs{x1, x2};
  const auto kernel = core::find_kernel(operation, core::computable_scalar(out.dtype));
  run_interruptibly(out.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::run_elementwise(kernel, out, inputs, interrupt);
  });
}

// --- cross

/// The elements at one index along an axis that is counted from the end; it stays, with extent 1.
[[gnu::noinline]] core::Array component(const core::ArrayView& x, int axis, int index) {
  core::Layout layout(x.extents(), x.stride_span());
  layout.shape[x.ndim + axis] = 1;
  const bool is_empty = x.size() == 0;
  return core::with_layout(x, layout, is_empty ? 0 : index * x.strides[x.ndim + axis]);
}

[[gnu::noinline]] core::Array new_cross(const Factors& factors, int axis) {
  for (const core::ArrayView* x : {&factors.x1(), &factors.x2()}) {
    if (x->shape[x->ndim + axis] == 3) continue;
    factors.fail_shapes(core::text("along axis ", axis, " both must have 3 elements"));
  }
  const core::Layout shape = factors.broadcast(factors.x1().extents(), factors.x2().extents());
  return core::new_array(factors.computed(), shape.extents(), /*zeroed=*/false);
}

/// out = the products of the components i of x1 and j of x2.
[[gnu::noinline]] void multiply(const core::ArrayView& out, const Factors& factors, int axis, int i,
                                int j) {
  const core::Array a = component(factors.x1(), axis, i % 3);
  const core::Array b = component(factors.x2(), axis, j % 3);
  compute(Elementwise::kMultiply, out, a, b);
}

/// Memory for one component.
[[gnu::noinline]] core::Array new_component(const core::ArrayView& out, int axis) {
  core::Layout one(out.extents(), out.stride_span());
  one.shape[one.ndim + axis] = 1;
  return core::new_array(out.dtype, one.extents(), /*zeroed=*/false);
}

Ref cross(const State& state, const Given<kCross>& given) {
  const auto [x1, x2, axis_argument] = given;
  Factors factors(state, x1, x2, kCross.name);
  const int axis = factors.common_axis(axis_argument);
  core::Array out = new_cross(factors, axis);
  factors.convert();
  const core::Array product = new_component(out, axis);
  for (int i = 0; i < 3; ++i) {
    const core::Array to = component(out, axis, i);
    multiply(to, factors, axis, i + 1, i + 2);
    multiply(product, factors, axis, i + 2, i + 1);
    compute(Elementwise::kSubtract, to, to, product);
  }
  return make_array(state, factors.finished(out));
}

// --- outer

Ref outer(const State& state, const Given<kOuter>& given) {
  const auto [x1, x2] = given;
  Factors factors(state, x1, x2, kOuter.name);
  if (factors.x1().ndim != 1 || factors.x2().ndim != 1)
    factors.fail_shapes("both must have one axis");
  const std::int64_t shape[] = {factors.x1().shape[0], factors.x2().shape[0]};
  core::Array out = core::new_array(factors.computed(), shape, /*zeroed=*/false);
  factors.convert();
  core::Layout column(factors.x1().extents(), factors.x1().stride_span());
  column.push(1, 0);
  compute(Elementwise::kMultiply, out, core::with_layout(factors.x1(), column, 0), factors.x2());
  return make_array(state, factors.finished(out));
}

}  // namespace

PyMethodDef kVectorFunctions[] = {
    computing_entry<kCross, &cross>(),
    computing_entry<kOuter, &outer>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
