// det(), slogdet(), inv(), solve() and matrix_power(): what an LU decomposition computes.
#include <string>
#include <utility>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/matmul.hpp"
#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/compute/linalg/matrix_arguments.hpp"
#include "extension/compute/tables.hpp"
#include "extension/compute/tuples.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::InterruptCheck;

constexpr FunctionRow kDet{
    "det",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the determinants of matrices.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a new array of the dtype of x with shape (...): 0 for a singular matrix, 1 for
an empty one.

Raises ValueError for other shapes, TypeError for other dtypes, NotImplementedError on
a device.)doc",
};

constexpr FunctionRow kSlogdet{
    "slogdet",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the signs and the logarithms of the magnitudes of determinants.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a named tuple SlogdetResult(sign, logabsdet) of new arrays with shape (...).
sign has the dtype of x, and magnitude 1; logabsdet is real. A singular matrix has
sign 0 and -infinity.

Raises ValueError for other shapes, TypeError for other dtypes, NotImplementedError on
a device.)doc",
};

constexpr FunctionRow kInv{
    "inv",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the inverses of matrices.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a new array of the dtype and shape of x.

Raises ValueError if a pivot of the LU decomposition of a matrix is exactly zero and
for other shapes, TypeError for other dtypes, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kSolve{
    "solve",
    "x1, x2, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the solutions y of the linear systems x1 @ y = x2.

x1: an array of a floating-point dtype with shape (..., M, M).
x2: an array of a floating-point dtype with shape (M,), a vector, or (..., M, K). The
    leading axes broadcast.

Returns a new array of the promoted dtype with shape (..., M) for a vector, otherwise
(..., M, K).

Raises ValueError if a pivot of the LU decomposition of a matrix is exactly zero and
for shapes that do not fit, TypeError for other dtypes and where the promotion is
undefined, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kMatrixPower{
    "matrix_power",
    "x, n, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the products of matrices with themselves.

x: an array of a floating-point dtype with shape (..., M, M).
n: an integer of any size. 0 gives identity matrices; if negative, the inverses are multiplied.

Returns a new array of the dtype and shape of x, computed by repeated squaring.

Raises ValueError for other shapes and, if n is negative, as inv(), TypeError for
other dtypes and an n that is no integer, NotImplementedError on a device.)doc",
};

constexpr core::DType kFloat64{core::Kind::kFloat, 64};

Ref det(const State& state, PyObject* argument) {
  const Matrices x(state, argument, kDet.name, /*square=*/true);
  core::Array out = x.new_result(x.view().dtype, {});
  run_decomposition(
      x, [&](const InterruptCheck& interrupt) { return core::det(out, x.view(), interrupt); });
  return make_array(state, finished(out, x.dtype()));
}

Ref slogdet(const State& state, PyObject* argument) {
  const Matrices x(state, argument, kSlogdet.name, /*square=*/true);
  core::Array sign = x.new_result(x.view().dtype, {});
  core::Array logarithm = x.new_result(kFloat64, {});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::slogdet(sign, logarithm, x.view(), interrupt);
  });
  finished(sign, x.dtype());
  finished(logarithm, real_dtype(x.dtype()));
  return named_tuple(state, "SlogdetResult", {&sign, &logarithm});
}

/// The inverses of the matrices, in the dtype in which they are computed.
[[gnu::noinline]] core::Array inverse(const Matrices& x) {
  core::Array out = x.new_result(x.view().dtype, {x.rows(), x.rows()});
  run_decomposition(
      x, [&](const InterruptCheck& interrupt) { return core::inv(out, x.view(), interrupt); });
  return out;
}

Ref inv(const State& state, PyObject* argument) {
  const Matrices x(state, argument, kInv.name, /*square=*/true);
  core::Array out = inverse(x);
  return make_array(state, finished(out, x.dtype()));
}

// --- solve

/// The right sides as matrices: a vector becomes one column.
core::Layout right_sides(const core::ArrayView& x2) {
  core::Layout out(x2.extents(), x2.stride_span());
  if (x2.ndim == 1) out.push(1, 0);
  return out;
}

/// The shape of the solution as matrices. Throws kValue if the operands do not fit, kLinAlg for
/// an x1 that is not square.
[[gnu::noinline]] core::Layout solution_shape(const Factors& factors) {
  const core::ArrayView &x1 = factors.x1(), &x2 = factors.x2();
  if (x1.ndim < 2 || x1.shape[x1.ndim - 2] != x1.shape[x1.ndim - 1])
    factors.fail_shapes("x1 must have two axes or more, the last two of equal extents",
                        core::Fault::kLinAlg);
  if (x2.ndim == 0) factors.fail_shapes("x2 must have one axis or more");
  const core::Layout left(x1.extents(), x1.stride_span()), right = right_sides(x2);
  const std::int64_t rows = left.shape[left.ndim - 1];
  if (right.shape[right.ndim - 2] != rows)
    factors.fail_shapes(core::text("x2 must have ", rows, " rows"));
  core::Layout out = factors.broadcast(leading(left), leading(right));
  out.push(rows, 0);
  out.push(right.shape[right.ndim - 1], 0);
  return out;
}

/// The matrices broadcast to the leading axes of `shape`.
[[gnu::noinline]] core::Array broadcast_stack(const core::ArrayView& x,
                                              const core::Layout& matrices,
                                              const core::Layout& shape) {
  core::Layout to = shape;
  for (const int axis : {1, 2}) to.shape[to.ndim - axis] = matrices.shape[matrices.ndim - axis];
  const core::Layout out =
      core::broadcast_layout(matrices.extents(), matrices.stride_span(), to.extents());
  return core::with_layout(x, out, 0);
}

[[gnu::noinline]] core::Array left_stack(const core::ArrayView& x1, const core::Layout& shape) {
  return broadcast_stack(x1, core::Layout(x1.extents(), x1.stride_span()), shape);
}
[[gnu::noinline]] core::Array right_stack(const core::ArrayView& x2, const core::Layout& shape) {
  return broadcast_stack(x2, right_sides(x2), shape);
}

/// `shape`: of the solution, as of `out`.
[[gnu::noinline]] void compute_solution(const core::ArrayView& out, const Factors& factors,
                                        const core::Layout& shape) {
  const core::ArrayView &x1 = factors.x1(), &x2 = factors.x2();
  const core::Array a = left_stack(x1, shape), b = right_stack(x2, shape);
  const std::int64_t work = bytes_like(a.view().size() + b.view().size(), x1.shape[x1.ndim - 1]);
  run_decomposition(kSolve.name, "x1", leading(shape), work, [&](const InterruptCheck& interrupt) {
    return core::solve(out, a, b, interrupt);
  });
}

Ref solve(const State& state, const Given<kSolve>& given) {
  const auto [first, second] = given;
  Factors factors(state, first, second, kSolve.name, core::dtype_sets::kFloating);
  factors.compute_in(decomposed_dtype(factors.dtype()));
  const core::Layout shape = solution_shape(factors);
  core::Array out = core::new_array(factors.computed(), shape.extents(), /*zeroed=*/false);
  factors.convert();
  compute_solution(out, factors, shape);
  if (factors.x2().ndim == 1) --out.layout.ndim;
  return make_array(state, factors.finished(out));
}

// --- matrix_power

/// Computes the product of two stacks of the same shape.
[[gnu::noinline]] core::Array product(const core::Array& a, const core::Array& b,
                                      std::int64_t work) {
  core::Array out = core::new_array(a.dtype, a.layout.extents(), /*zeroed=*/false);
  run_interruptibly(
      work, [&](const InterruptCheck& interrupt) { return core::matmul(out, a, b, interrupt); });
  return out;
}

/// Identity matrices of the shape and dtype of a row-major stack.
[[gnu::noinline]] core::Array identities(const core::Array& like) {
  core::Array out = core::new_array(like.dtype, like.layout.extents(), /*zeroed=*/true);
  const int last = out.layout.ndim - 1;
  core::Layout diagonal = out.layout;
  diagonal.ndim = last;
  diagonal.strides[last - 1] = out.layout.shape[last] + 1;
  core::Array one = core::new_array(kFloat64, {}, /*zeroed=*/false);
  *reinterpret_cast<double*>(one.data) = 1;
  const core::Layout everywhere =
      core::broadcast_layout(core::Extents{}, core::Extents{}, diagonal.extents());
  move_elements(core::with_layout(out, diagonal, 0), core::with_layout(one, everywhere, 0));
  return out;
}

/// An integer of any size.
struct Exponent {
  bool is_negative;
  std::string digits;  // binary ones of the magnitude, the highest first
};

Exponent to_exponent(PyObject* n) {
  if (PyBool_Check(n) || !PyIndex_Check(n)) {
    core::fail(Fault::kType, "matrix_power(): n must be an integer, not ", type_name(n));
  }
  const Ref integer = check(calling<PyNumber_Index>(n));
  const Ref binary = check(calling<PyNumber_ToBase>(integer.get(), 2));
  const std::string text = utf8(binary.get());  // "0b101", "-0b101"
  const bool is_negative = text.front() == '-';
  return {is_negative, text.substr(is_negative ? 3 : 2)};
}

/// base^exponent, by squaring. `base` is row-major.
[[gnu::noinline]] core::Array power(const core::Array& base, const Exponent& exponent,
                                    std::int64_t work) {
  core::Array out;
  for (const char digit : exponent.digits) {
    if (out.storage) out = product(out, out, work);
    if (digit == '1') out = out.storage ? product(out, base, work) : base;
  }
  return out.storage ? out : identities(base);
}

Ref matrix_power(const State& state, const Given<kMatrixPower>& given) {
  const auto [argument, n] = given;
  const Exponent exponent = to_exponent(n);
  const Matrices x(state, argument, kMatrixPower.name, /*square=*/true);
  core::Array out = exponent.is_negative ? inverse(x) : working_copy(x.view(), x.view().dtype);
  out = power(out, exponent, x.work());
  return make_array(state, finished(out, x.dtype()));
}

}  // namespace

PyMethodDef kSystemFunctions[] = {
    computing_entry<kDet, &det>(),
    computing_entry<kInv, &inv>(),
    computing_entry<kMatrixPower, &matrix_power>(),
    computing_entry<kSlogdet, &slogdet>(),
    computing_entry<kSolve, &solve>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
