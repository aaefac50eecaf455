// matrix_rank() and pinv().
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "core/error.hpp"
#include "extension/compute/linalg/matrix_arguments.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::InterruptCheck;

constexpr FunctionRow kMatrixRank{
    "matrix_rank",
    "x, /, *, rtol=None",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the numbers of singular values of matrices that are not zero.

x: an array of a floating-point dtype with shape (..., M, N).
rtol: a number that is not negative, or an array of real floats that broadcasts to the
    shape (...). Singular values up to rtol times the greatest one count as zero.
    None: max(M, N) times the epsilon of the dtype.

Returns a new array of dtype int64 with shape (...). A matrix with an element that is
not finite has rank 0.

Raises ValueError for a negative rtol, NaN and shapes that do not fit, TypeError for
other dtypes, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kPinv{
    "pinv",
    "x, /, *, rtol=None",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the Moore-Penrose inverses of matrices.

x: an array of a floating-point dtype with shape (..., M, N).
rtol: as of matrix_rank().

Returns a new array of the dtype of x with shape (..., N, M). A matrix with an element
that is not finite has NaN only.

Raises ValueError for a negative rtol, NaN and shapes that do not fit, TypeError for
other dtypes, NotImplementedError on a device.)doc",
};

constexpr core::DType kFloat64{core::Kind::kFloat, 64};
constexpr core::DType kInt64{core::Kind::kInt, 64};

/// The distance from 1 to the next number of the dtype, or of its parts.
double epsilon(const core::DType& dtype) noexcept {
  const core::DType real = real_dtype(dtype);
  if (real.kind == core::Kind::kBfloat) return 0x1p-7;
  return real.bits == 16 ? 0x1p-10 : real.bits == 32 ? 0x1p-23 : 0x1p-52;
}

/// A float64 array of ndim 0.
core::Array of_number(double value) {
  core::Array out = core::new_array(kFloat64, {}, /*zeroed=*/false);
  *reinterpret_cast<double*>(out.data) = value;
  return out;
}

[[noreturn, gnu::cold]] void fail_rtol(const Matrices& x, double value) {
  core::fail(Fault::kValue, x.function(), "(): rtol is ", number_text(value),
             "; it must be 0 or more");
}

/// An argument that is an array, broadcast to the leading axes of x.
core::Array to_array_rtol(const Matrices& x, const State& state, PyObject* argument) {
  const core::ArrayView rtol =
      computable_view(state, argument, x.function(), core::dtype_sets::kRealFloating);
  const core::Extents to = x.leading();
  const core::Extents from = rtol.extents();
  const bool fits =
      from.size() <= to.size() &&
      std::ranges::equal(from, to.last(from.size()),
                         [](std::int64_t a, std::int64_t b) { return a == b || a == 1; });
  if (!fits) {
    core::fail(Fault::kValue, x.function(), "(): rtol has shape ", core::shape_text(from),
               ", which does not broadcast to ", core::shape_text(to), ", that of the matrices");
  }
  const core::Layout layout = core::broadcast_layout(from, rtol.stride_span(), to);
  core::Array out = working_copy(core::with_layout(rtol, layout, 0), kFloat64);
  const auto* const values = reinterpret_cast<const double*>(out.data);
  for (std::int64_t i = 0; i < out.view().size(); ++i)
    if (!(values[i] >= 0)) fail_rtol(x, values[i]);
  return out;
}

/// The tolerance for each matrix.
core::Array to_rtol(const Matrices& x, const State& state, PyObject* argument) {
  if (is_given(argument) && is_array(state, argument)) return to_array_rtol(x, state, argument);
  double value = static_cast<double>(std::max(x.rows(), x.columns())) * epsilon(x.dtype());
  if (is_given(argument)) value = to_real(state, argument, x.function(), "rtol");
  if (value < 0) fail_rtol(x, value);
  const core::Layout layout = core::broadcast_layout({}, {}, x.leading());
  return working_copy(core::with_layout(of_number(value), layout, 0), kFloat64);
}

Ref matrix_rank(const State& state, const Given<kMatrixRank>& given) {
  const auto [argument, rtol_argument] = given;
  const Matrices x(state, argument, kMatrixRank.name, /*square=*/false);
  const core::Array rtol = to_rtol(x, state, rtol_argument);
  core::Array out = x.new_result(kInt64, {});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::matrix_rank(out, x.view(), rtol, interrupt);
  });
  return make_array(state, std::move(out));
}

Ref pinv(const State& state, const Given<kPinv>& given) {
  const auto [argument, rtol_argument] = given;
  const Matrices x(state, argument, kPinv.name, /*square=*/false);
  const core::Array rtol = to_rtol(x, state, rtol_argument);
  core::Array out = x.new_result(x.view().dtype, {x.columns(), x.rows()});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::pinv(out, x.view(), rtol, interrupt);
  });
  return make_array(state, finished(out, x.dtype()));
}

}  // namespace

PyMethodDef kRankFunctions[] = {
    computing_entry<kMatrixRank, &matrix_rank>(),
    computing_entry<kPinv, &pinv>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
