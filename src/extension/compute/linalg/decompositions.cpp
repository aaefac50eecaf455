// cholesky(), qr(), the eigenvalues, and the singular values.
#include <algorithm>
#include <string>
#include <utility>

#include "compute/linalg/decompositions/cholesky.hpp"
#include "compute/linalg/decompositions/eig.hpp"
#include "compute/linalg/decompositions/eigh.hpp"
#include "compute/linalg/decompositions/qr.hpp"
#include "compute/linalg/decompositions/svd.hpp"
#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/compute/linalg/decomposition_rows.hpp"
#include "extension/compute/linalg/matrix_functions.hpp"
#include "extension/compute/named_tuple.hpp"
#include "extension/compute/reduction_functions.hpp"
#include "extension/compute/tables.hpp"
#include "extension/objects/array_object.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::InterruptCheck;

constexpr core::DType kFloat64{core::Kind::kFloat, 64};
constexpr core::DType kComplex128{core::Kind::kComplex, 128};

Ref cholesky(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [argument, upper] = bind<kCholesky>(state, args, nargs, kwnames);
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

Ref qr(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [argument, mode] = bind<kQr>(state, args, nargs, kwnames);
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

Ref eig(PyObject* module, PyObject* argument) {
  const State& state = State::of_module(module);
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

Ref eigvals(PyObject* module, PyObject* argument) {
  const State& state = State::of_module(module);
  const Matrices x(state, argument, kEigvals.name, /*square=*/true);
  core::Array values = x.new_result(kComplex128, {x.rows()});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::eigvals(values, x.view(), interrupt);
  });
  return make_array(state, finished(values, complex_dtype(x.dtype())));
}

Ref eigh(PyObject* module, PyObject* argument) {
  const State& state = State::of_module(module);
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

Ref eigvalsh(PyObject* module, PyObject* argument) {
  const State& state = State::of_module(module);
  const Matrices x(state, argument, kEigvalsh.name, /*square=*/true);
  core::Array values = x.new_result(kFloat64, {x.rows()});
  run_decomposition(x, [&](const InterruptCheck& interrupt) {
    return core::eigvalsh(values, x.view(), interrupt);
  });
  return make_array(state, finished(values, real_dtype(x.dtype())));
}

// --- singular values

Ref svd(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [argument, full_matrices] = bind<kSvd>(state, args, nargs, kwnames);
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

Ref svdvals(PyObject* module, PyObject* argument) {
  const State& state = State::of_module(module);
  const Matrices x(state, argument, kSvdvals.name, /*square=*/false);
  core::Array s = x.new_result(kFloat64, {std::min(x.rows(), x.columns())});
  run_decomposition(
      x, [&](const InterruptCheck& interrupt) { return core::svdvals(s, x.view(), interrupt); });
  return make_array(state, finished(s, real_dtype(x.dtype())));
}

}  // namespace

PyMethodDef kDecompositionFunctions[] = {
    entry<kCholesky, &cholesky>(), entry<kEig, &eig>(),           entry<kEigh, &eigh>(),
    entry<kEigvals, &eigvals>(),   entry<kEigvalsh, &eigvalsh>(), entry<kQr, &qr>(),
    entry<kSvd, &svd>(),           entry<kSvdvals, &svdvals>(),   {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
