// eye(), tril() and triu().
#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/triangle.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/signals.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/nested_sequences.hpp"
#include "extension/creation/range_rows.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

void refuse_without_zero(const core::DType& dtype) {
  if (dtype.kind != core::Kind::kFloat8_e8m0fnu) return;
  core::fail(Fault::kValue, core::name(dtype), " has no zero; its smallest value is 2**-127");
}

std::int64_t to_extent(PyObject* argument, const char* what) {
  const std::int64_t out = to_int64(argument, what);
  if (out < 0) core::fail(Fault::kValue, what, " is ", out, "; it must be 0 or more");
  return out;
}

/// The number of a diagonal; 0 if not given. Integers outside int64 become its limits, for no
/// matrix has a diagonal there.
std::int64_t to_diagonal(PyObject* k) {
  if (k == nullptr) return 0;
  if (!PyIndex_Check(k)) return to_int64(k, "k");  // throws TypeError
  PyObject* const no_overflow_error = nullptr;
  const Py_ssize_t out = calling<PyNumber_AsSsize_t>(k, no_overflow_error);
  if (out == -1 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return out;
}

/// The diagonal `k` of a row-major matrix, as a view.
core::Array diagonal(const core::Array& matrix, std::int64_t k) {
  const std::int64_t rows = matrix.layout.shape[0];
  const std::int64_t columns = matrix.layout.shape[1];
  k = std::clamp(k, -rows, columns);
  core::Layout layout;
  layout.push(k < 0 ? std::min(rows + k, columns) : std::min(rows, columns - k), columns + 1);
  return core::with_layout(matrix, layout, k < 0 ? -k * columns : k);
}

Ref eye(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [n_rows, n_cols, k, dtype_argument, device] = bind<kEye>(state, args, nargs, kwnames);
  const std::int64_t rows = to_extent(n_rows, "n_rows");
  const std::int64_t shape[] = {rows, is_given(n_cols) ? to_extent(n_cols, "n_cols") : rows};
  const std::int64_t offset = to_diagonal(k);
  const core::DType dtype = to_dtype_or(state, dtype_argument, core::DType{core::Kind::kFloat, 64});
  refuse_without_zero(dtype);
  core::checked_nbytes(core::checked_size(shape), dtype);
  Unfinished out(allocate_on(to_device_or(state, device, core::Device{}), dtype, shape,
                             /*zeroed=*/true));
  const core::Array ones = diagonal(out.array(), offset);
  const core::Array one = array_from_nested(state, Py_True, &dtype);  // 1 in every dtype
  move_elements(ones,
                core::with_layout(one, core::broadcast_layout({}, {}, ones.layout.extents()), 0));
  return make_array(state, out.finish());
}

Ref triangle(const State& state, PyObject* x, PyObject* k_argument, const char* function,
             bool is_lower) {
  const core::ArrayView array = to_view(state, x, function);
  const std::int64_t k = to_diagonal(k_argument);
  if (array.ndim < 2)
    core::fail(Fault::kValue, function, "(): x has ndim ", array.ndim, "; it must be 2 or more");
  refuse_without_zero(array.dtype);
  core::check_byte_sized(array.dtype, function);
  require_computable_memory(array, function);
  core::Array out = working_copy(array, array.dtype);
  run_interruptibly(array.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::clear_triangle(out, k, !is_lower, interrupt);
  });
  return make_array(state, std::move(out));
}

Ref tril(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, k] = bind<kTril>(state, args, nargs, kwnames);
  return triangle(state, x, k, kTril.name, true);
}

Ref triu(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, k] = bind<kTriu>(state, args, nargs, kwnames);
  return triangle(state, x, k, kTriu.name, false);
}

}  // namespace

PyMethodDef kMatrixFunctions[] = {
    entry<kEye, &eye>(),
    entry<kTril, &tril>(),
    entry<kTriu, &triu>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
