// cholesky(), qr(), the eigenvalues, and the singular values.
#include "compute/linalg/decompositions/decompositions.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "extension/compute/linalg/matrix_arguments.hpp"
#include "extension/compute/reduction_functions.hpp"
#include "extension/compute/tables.hpp"
#include "extension/compute/tuples.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::InterruptCheck;

constexpr FunctionRow kCholesky{
    "cholesky",
    "x, /, *, upper=False",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the Cholesky factors of positive definite matrices.

x: an array of a floating-point dtype with shape (..., M, M). Only its lower triangle
    is read, with upper=True only its upper one, and the real part of its diagonal.
upper: whether the factor U with x = U^H U is wanted, instead of L with x = L L^H.

Returns a new array of the dtype and shape of x: a triangular factor with a real,
positive diagonal. Its other triangle is zero.

Raises ValueError if a matrix is not positive definite and for other shapes, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kQr{
    "qr",
    "x, /, *, mode='reduced'",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the factors Q with orthonormal columns and R, upper triangular.

x: an array of a floating-point dtype with shape (..., M, N).
mode: "reduced" or "complete".

Returns a named tuple QRResult(Q, R) of new arrays of the dtype of x, with x = Q @ R.
With K = min(M, N), or M if complete, Q has shape (..., M, K) and R (..., K, N). The
diagonal of R is real, with the signs that Householder reflections give. A matrix with
an element that is not finite has NaN in both.

Raises ValueError for another mode and ndim less than 2, TypeError for other dtypes,
NotImplementedError on a device.)doc",
};

constexpr FunctionRow kEig{
    "eig",
    "x, /",
    Category::kLinearAlgebra,
    2025,
    R"doc(Return the eigenvalues and eigenvectors of matrices.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a named tuple EigResult(eigenvalues, eigenvectors) of new arrays of dtype
complex128 for float64 and complex128, otherwise complex64, with shapes (..., M) and
(..., M, M). The eigenvalues are in no particular order; those of a real matrix are
real or conjugate pairs. The eigenvectors are columns of norm 1, whose component of the
greatest magnitude is real and positive. A matrix with an element that is not finite
has NaN in both.

Raises ValueError for other shapes and if the iterations do not converge, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kEigvals{
    "eigvals",
    "x, /",
    Category::kLinearAlgebra,
    2025,
    R"doc(Return the eigenvalues of matrices.

x: an array of a floating-point dtype with shape (..., M, M).

Returns a new array with shape (..., M), as the eigenvalues of eig(); they may differ
from those in the last bits.

Raises ValueError for other shapes and if the iterations do not converge, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kEigh{
    "eigh",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the eigenvalues and eigenvectors of Hermitian or symmetric matrices.

x: an array of a floating-point dtype with shape (..., M, M). Only its lower triangle
    is read, and the real part of its diagonal.

Returns a named tuple EighResult(eigenvalues, eigenvectors) of new arrays with shapes
(..., M) and (..., M, M): real values in ascending order, and orthonormal columns of
the dtype of x. A matrix with an element that is not finite has NaN in both.

Raises ValueError for other shapes and if the iterations do not converge, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kEigvalsh{
    "eigvalsh",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the eigenvalues of Hermitian or symmetric matrices.

x: an array of a floating-point dtype with shape (..., M, M). Only its lower triangle
    is read, and the real part of its diagonal.

Returns a new array with shape (..., M), as the eigenvalues of eigh(); they may differ
from those in the last bits.

Raises ValueError for other shapes and if the iterations do not converge, TypeError
for other dtypes, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kSvd{
    "svd",
    "x, /, *, full_matrices=True",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the singular value decompositions of matrices.

x: an array of a floating-point dtype with shape (..., M, N).
full_matrices: whether U and Vh are square. Otherwise they have K = min(M, N) columns
    and rows.

Returns a named tuple SVDResult(U, S, Vh) of new arrays with x = U * S @ Vh for the
first K columns of U and rows of Vh. U and Vh have the dtype of x, S (..., K) is real
and in descending order. The signs, or phases, of each pair of a column and a row are
as the algorithm leaves them. A matrix with an element that is not finite has NaN in
all three.

Raises ValueError for ndim less than 2 and if the iterations do not converge,
TypeError for other dtypes and a flag that is no bool, NotImplementedError on a
device.)doc",
};

constexpr FunctionRow kSvdvals{
    "svdvals",
    "x, /",
    Category::kLinearAlgebra,
    2021,
    R"doc(Return the singular values of matrices.

x: an array of a floating-point dtype with shape (..., M, N).

Returns a new array with shape (..., min(M, N)), as the singular values of svd(); they
may differ from those in the last bits.

Raises ValueError for ndim less than 2 and if the iterations do not converge,
TypeError for other dtypes, NotImplementedError on a device.)doc",
};

constexpr core::DType kFloat64{core::Kind::kFloat, 64};
constexpr core::DType kComplex128{core::Kind::kComplex, 128};

Ref cholesky(const State& state, const Given<kCholesky>& given) {
  const auto [argument, upper] = given;
  const bool is_upper = to_flag(upper, kCholesky.name, "upper");
  const Matrices x(state, argument, kCholesky.name, /*square=*/true);
  core::Array out = x.new_result(x.view().dtype, {x.rows(), x.rows()});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::cholesky(out, x.view(), is_upper, interrupt);
  });
  return make_array(state, finished(out, x.dtype()));
}

/// Whether the argument asks for the complete matrix Q.
bool is_complete(PyObject* mode) {
  if (mode == nullptr) return false;
  constexpr const char* kWanted = "it must be 'reduced' or 'complete'";
  if (!PyUnicode_Check(mode))
    core::fail(Fault::kType, "qr(): mode is of type ", type_name(mode), "; ", kWanted);
  const std::string text = utf8(mode);
  if (text != "reduced" && text != "complete")
    core::fail(Fault::kValue, "qr(): mode is ", short_repr(mode), "; ", kWanted);
  return text == "complete";
}

Ref qr(const State& state, const Given<kQr>& given) {
  const auto [argument, mode] = given;
  const bool complete = is_complete(mode);
  const Matrices x(state, argument, kQr.name, /*square=*/false);
  const std::int64_t k = complete ? x.rows() : std::min(x.rows(), x.columns());
  core::Array q = x.new_result(x.view().dtype, {x.rows(), k});
  core::Array r = x.new_result(x.view().dtype, {k, x.columns()});
  run_decomposition(
      x, [&](const InterruptCheck& interrupt) { return core::qr(q, r, x.view(), interrupt); });
  finished(q, x.dtype());
  finished(r, x.dtype());
  return named_tuple(state, "QRResult", {&q, &r});
}

// --- eigenvalues

Ref eig(const State& state, PyObject* argument) {
  const Matrices x(state, argument, kEig.name, /*square=*/true);
  core::Array values = x.new_result(kComplex128, {x.rows()});
  core::Array vectors = x.new_result(kComplex128, {x.rows(), x.rows()});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::eig(values, vectors, x.view(), interrupt);
  });
  finished(values, complex_dtype(x.dtype()));
  finished(vectors, complex_dtype(x.dtype()));
  return named_tuple(state, "EigResult", {&values, &vectors});
}

Ref eigvals(const State& state, PyObject* argument) {
  const Matrices x(state, argument, kEigvals.name, /*square=*/true);
  core::Array values = x.new_result(kComplex128, {x.rows()});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::eigvals(values, x.view(), interrupt);
  });
  return make_array(state, finished(values, complex_dtype(x.dtype())));
}

Ref eigh(const State& state, PyObject* argument) {
  const Matrices x(state, argument, kEigh.name, /*square=*/true);
  core::Array values = x.new_result(kFloat64, {x.rows()});
  core::Array vectors = x.new_result(x.view().dtype, {x.rows(), x.rows()});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::eigh(values, vectors, x.view(), interrupt);
  });
  finished(values, real_dtype(x.dtype()));
  finished(vectors, x.dtype());
  return named_tuple(state, "EighResult", {&values, &vectors});
}

Ref eigvalsh(const State& state, PyObject* argument) {
  const Matrices x(state, argument, kEigvalsh.name, /*square=*/true);
  core::Array values = x.new_result(kFloat64, {x.rows()});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::eigvalsh(values, x.view(), interrupt);
  });
  return make_array(state, finished(values, real_dtype(x.dtype())));
}

// --- singular values

Ref svd(const State& state, const Given<kSvd>& given) {
  const auto [argument, full_matrices] = given;
  const bool is_full =
      full_matrices == nullptr || to_flag(full_matrices, kSvd.name, "full_matrices");
  const Matrices x(state, argument, kSvd.name, /*square=*/false);
  const std::int64_t k = std::min(x.rows(), x.columns());
  core::Array u = x.new_result(x.view().dtype, {x.rows(), is_full ? x.rows() : k});
  core::Array s = x.new_result(kFloat64, {k});
  core::Array vh = x.new_result(x.view().dtype, {is_full ? x.columns() : k, x.columns()});
  run_decomposition(
      x, [&](const InterruptCheck& interrupt) { return core::svd(u, s, vh, x.view(), interrupt); });
  finished(u, x.dtype());
  finished(s, real_dtype(x.dtype()));
  finished(vh, x.dtype());
  return named_tuple(state, "SVDResult", {&u, &s, &vh});
}

Ref svdvals(const State& state, PyObject* argument) {
  const Matrices x(state, argument, kSvdvals.name, /*square=*/false);
  core::Array s = x.new_result(kFloat64, {std::min(x.rows(), x.columns())});
  run_decomposition(
      x, [&](const InterruptCheck& interrupt) { return core::svdvals(s, x.view(), interrupt); });
  return make_array(state, finished(s, real_dtype(x.dtype())));
}

}  // namespace

PyMethodDef kDecompositionFunctions[] = {
    computing_entry<kCholesky, &cholesky>(), computing_entry<kEig, &eig>(),
    computing_entry<kEigh, &eigh>(),         computing_entry<kEigvals, &eigvals>(),
    computing_entry<kEigvalsh, &eigvalsh>(), computing_entry<kQr, &qr>(),
    computing_entry<kSvd, &svd>(),           computing_entry<kSvdvals, &svdvals>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
