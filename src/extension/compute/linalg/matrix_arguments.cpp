// Implements the arguments and results of functions of linear algebra.
#include "extension/compute/linalg/matrix_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/capi/errors.hpp"
#include "extension/compute/operands.hpp"
#include "extension/copy/copying.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {

using core::Fault;
using core::Kind;

// --- Two operands.

Factors::Factors(const State& state, PyObject* x1, PyObject* x2, const char* function,
                 core::DtypeSet accepts)
    : function_(function),
      views_{computable_view(state, x1, function, accepts),
             computable_view(state, x2, function, accepts)} {
  const auto promoted = core::promote(views_[0].dtype, views_[1].dtype);
  if (!promoted) {
    core::fail(Fault::kType, function, "(): ", core::name(views_[0].dtype), " and ",
               core::name(views_[1].dtype), " have no common dtype in the standard; use astype()");
  }
  dtype_ = computed_ = *promoted;
  const bool is_half =
      dtype_.bits == 16 && dtype_.kind != core::Kind::kInt && dtype_.kind != core::Kind::kUInt;
  if (is_half) computed_ = {core::Kind::kFloat, 32};
}

void Factors::fail_shapes(const std::string& why, Fault fault) const {
  core::fail(fault, function_, "(): x1 has shape ", core::shape_text(views_[0].extents()),
             " and x2 has shape ", core::shape_text(views_[1].extents()), ": ", why);
}

core::Layout Factors::broadcast(core::Extents a, core::Extents b) const {
  const std::size_t common = std::min(a.size(), b.size());
  const bool fits =
      std::ranges::equal(a.last(common), b.last(common),
                         [](std::int64_t x, std::int64_t y) { return x == y || x == 1 || y == 1; });
  if (!fits) fail_shapes("the leading axes do not broadcast");
  return core::broadcast_shapes(a, b);
}

int Factors::common_axis(PyObject* argument) const {
  const std::int64_t axis = argument == nullptr ? -1 : to_int64(argument, "axis");
  const int ndims[] = {x1().ndim, x2().ndim};
  const int least = std::min(ndims[0], ndims[1]);
  if (least == 0) {
    core::fail(Fault::kValue, function_, "(): x", ndims[0] == 0 ? 1 : 2,
               " has ndim 0; it must be 1 or more");
  }
  if (axis < -least || axis > -1) {
    core::fail(Fault::kAxis, function_, "(): axis is ", axis, "; for ndim ", ndims[0], " and ",
               ndims[1], " it must be -", least, " to -1, counted from the end");
  }
  return static_cast<int>(axis);
}

void Factors::convert() {
  for (int i = 0; i < 2; ++i) {
    if (views_[i].dtype == computed_) continue;
    owners_[i] = std::make_unique<const core::Array>(working_copy(views_[i], computed_));
    views_[i] = *owners_[i];
  }
}

core::Array&& Factors::finished(core::Array& result) const {
  if (dtype_ != computed_) result = working_copy(result, dtype_);
  return std::move(result);
}

std::int64_t bytes_like(std::int64_t count, std::int64_t depth) noexcept {
  std::int64_t out = 0;
  const bool overflows = __builtin_mul_overflow(count, depth, &out);
  return overflows ? std::numeric_limits<std::int64_t>::max() : out;
}

// --- Matrices.

core::DType decomposed_dtype(const core::DType& dtype) noexcept {
  return dtype.is_complex() ? core::DType{Kind::kComplex, 128} : core::DType{Kind::kFloat, 64};
}

core::DType real_dtype(const core::DType& dtype) noexcept {
  if (!dtype.is_complex()) return dtype;
  return {Kind::kFloat, static_cast<std::uint8_t>(dtype.bits / 2)};
}

core::DType complex_dtype(const core::DType& dtype) noexcept {
  const bool is_double = real_dtype(dtype).bits == 64;
  return {Kind::kComplex, static_cast<std::uint8_t>(is_double ? 128 : 64)};
}

Matrices::Matrices(const State& state, PyObject* x, const char* function, bool square)
    : function_(function), view_(computable_view(state, x, function, core::dtype_sets::kFloating)) {
  dtype_ = view_.dtype;
  if (view_.ndim < 2) {
    core::fail(Fault::kLinAlg, function, "(): x has shape ", core::shape_text(view_.extents()),
               "; matrices need 2 axes or more");
  }
  if (square && rows() != columns()) {
    core::fail(Fault::kLinAlg, function, "(): x has shape ", core::shape_text(view_.extents()),
               "; its last two extents must be equal");
  }
  const core::DType computed = decomposed_dtype(dtype_);
  if (computed == dtype_) return;
  owner_ = std::make_unique<const core::Array>(working_copy(view_, computed));
  view_ = *owner_;
}

core::Array Matrices::new_result(const core::DType& dtype,
                                 std::initializer_list<std::int64_t> axes) const {
  core::Layout shape(leading(), view_.stride_span().first(leading().size()));
  for (const std::int64_t extent : axes) shape.push(extent, 0);
  return core::new_array(dtype, shape.extents(), /*zeroed=*/false);
}

std::int64_t Matrices::work() const noexcept {
  return bytes_like(view_.nbytes(), std::max(rows(), columns()));
}

core::Array&& finished(core::Array& result, const core::DType& dtype) {
  if (result.dtype != dtype) result = working_copy(result, dtype);
  return std::move(result);
}

void detail::fail_outcome(const char* function, const char* x, core::Extents leading,
                          const core::Outcome& outcome) {
  std::string which = x;
  if (!leading.empty()) {
    core::Layout index(leading, leading);
    std::int64_t position = outcome.matrix;
    for (int axis = index.ndim; axis-- > 0; position /= leading[static_cast<std::size_t>(axis)])
      index.shape[axis] = position % leading[static_cast<std::size_t>(axis)];
    which = core::text("matrix ", core::shape_text(index.extents()), " of ", x);
  }
  if (outcome.ending == core::Ending::kSingular) {
    core::fail(Fault::kLinAlg, function, "(): ", which, " is singular: pivot ", outcome.pivot,
               " of its LU decomposition is zero");
  }
  if (outcome.ending == core::Ending::kNotPositiveDefinite) {
    core::fail(Fault::kLinAlg, function, "(): ", which, " is not positive definite: pivot ",
               outcome.pivot, " is not positive");
  }
  core::fail(Fault::kLinAlg, function, "(): the iterations for ", which, " did not converge");
}

// --- Numbers.

double to_real(const State& state, PyObject* object, const char* function, const char* what) {
  Ref number = to_exact_number(state, object);
  if (!number && PyIndex_Check(object)) number = check(calling<PyNumber_Index>(object));
  if (!number || PyBool_Check(number.get()) || PyComplex_Check(number.get())) {
    core::fail(Fault::kType, function, "(): ", what, " must be a real number, not ",
               type_name(object));
  }
  const double out = check_number<PyFloat_AsDouble>(number.get());
  if (std::isnan(out)) core::fail(Fault::kValue, function, "(): ", what, " is NaN");
  return out;
}

std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace refarray::extension
