// matmul() and the operators @ and @=.
#include "extension/compute/linalg/matmul_operator.hpp"

#include <algorithm>
#include <utility>

#include "compute/linalg/matmul.hpp"
#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/signals.hpp"
#include "extension/compute/linalg/factors.hpp"
#include "extension/compute/linalg/product_rows.hpp"
#include "extension/copy/copying.hpp"
#include "extension/modes/poisoned_views.hpp"
#include "extension/objects/array_object.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// An operand as matrices: a vector as one row, or as one column.
core::Layout matrices(const core::ArrayView& x, bool is_first) {
  core::Layout out(x.extents(), x.stride_span());
  if (x.ndim > 1) return out;
  out.push(1, 0);
  if (is_first) {
    std::swap(out.shape[0], out.shape[1]);
    std::swap(out.strides[0], out.strides[1]);
  }
  return out;
}

core::Extents leading(const core::Layout& layout) noexcept {
  return layout.extents().first(static_cast<std::size_t>(layout.ndim - 2));
}

/// The shape of the result as matrices.
core::Layout product_shape(const Factors& factors) {
  const core::Layout left = matrices(factors.x1(), true), right = matrices(factors.x2(), false);
  const std::int64_t columns = left.shape[left.ndim - 1];
  const std::int64_t rows = right.shape[right.ndim - 2];
  if (columns != rows) {
    factors.fail_shapes(
        core::text("rows of ", columns, " and columns of ", rows, " elements have no product"));
  }
  core::Layout out = factors.broadcast(leading(left), leading(right));
  out.push(left.shape[left.ndim - 2], 0);
  out.push(right.shape[right.ndim - 1], 0);
  return out;
}

/// An operand as matrices.
[[gnu::noinline]] core::Array as_matrices(const core::ArrayView& x, bool is_left) {
  return core::with_layout(x, matrices(x, is_left), 0);
}

[[gnu::noinline]] void multiply(const core::ArrayView& out, const Factors& factors) {
  const core::Array left = as_matrices(factors.x1(), true);
  const core::Array right = as_matrices(factors.x2(), false);
  const std::int64_t depth = left.layout.shape[left.layout.ndim - 1];
  run_interruptibly(bytes_like(out.size(), depth), [&](const core::InterruptCheck& interrupt) {
    return core::matmul(out, left, right, interrupt);
  });
}

/// Memory for the product, as matrices.
[[gnu::noinline]] core::Array new_product(const Factors& factors) {
  return core::new_array(factors.computed(), product_shape(factors).extents(), /*zeroed=*/false);
}

/// Without the axes that a vector has not.
[[gnu::noinline]] void drop_axes(core::Layout& layout, const Factors& factors) {
  core::Layout kept;
  for (int axis = 0; axis < layout.ndim; ++axis) {
    const bool is_missing = (axis == layout.ndim - 2 && factors.x1().ndim == 1) ||
                            (axis == layout.ndim - 1 && factors.x2().ndim == 1);
    if (!is_missing) kept.push(layout.shape[axis], layout.strides[axis]);
  }
  layout = kept;
}

core::Array product(const State& state, PyObject* first, PyObject* second) {
  Factors factors(state, first, second, kMatmul.name);
  for (const int i : {0, 1}) {
    if ((i == 0 ? factors.x1() : factors.x2()).ndim == 0)
      core::fail(Fault::kValue, "matmul(): x", i + 1, " has ndim 0; it must be 1 or more");
  }
  core::Array out = new_product(factors);
  factors.convert();
  multiply(out, factors);
  drop_axes(out.layout, factors);
  factors.finished(out);
  return out;
}

}  // namespace

Ref compute_matmul(const State& state, PyObject* x1, PyObject* x2) {
  return make_array(state, product(state, x1, x2));
}

Ref compute_matmul_in_place(const State& state, PyObject* x1, PyObject* x2) {
  const core::ArrayView out = view_of(x1);
  if (!out.writable()) core::fail(Fault::kValue, "matmul() in place: the array is read-only");
  const core::Array result = product(state, x1, x2);
  if (result.dtype != out.dtype) {
    core::fail(Fault::kType, "matmul() in place: the result would be ", core::name(result.dtype),
               ", which an array of ", core::name(out.dtype), " cannot hold");
  }
  if (!std::ranges::equal(result.layout.extents(), out.extents())) {
    core::fail(Fault::kValue, "matmul() in place: the result has shape ",
               core::shape_text(result.layout.extents()), ", the array ",
               core::shape_text(out.extents()));
  }
  refuse_other_owners(state, {x1, out, x2}, "@ in place");
  move_elements(out, result);
  return Ref::borrow(x1);
}

}  // namespace refarray::extension
