// Implements the arguments and results of functions of matrices.
#include "extension/compute/linalg/matrix_functions.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "extension/compute/linalg/factors.hpp"
#include "extension/compute/operands.hpp"
#include "extension/copy/copying.hpp"

namespace refarray::extension {

using core::Fault;
using core::Kind;

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

}  // namespace refarray::extension
