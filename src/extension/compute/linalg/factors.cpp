// Implements the operands of products: their dtypes, and conversions.
#include "extension/compute/linalg/factors.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/compute/operands.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {

Factors::Factors(const State& state, PyObject* x1, PyObject* x2, const char* function,
                 core::DtypeSet accepts)
    : function_(function),
      views_{computable_view(state, x1, function, accepts),
             computable_view(state, x2, function, accepts)} {
  const auto promoted = core::promote(views_[0].dtype, views_[1].dtype);
  if (!promoted) {
    core::fail(core::Fault::kType, function, "(): ", core::name(views_[0].dtype), " and ",
               core::name(views_[1].dtype), " have no common dtype in the standard; use astype()");
  }
  dtype_ = computed_ = *promoted;
  const bool is_half =
      dtype_.bits == 16 && dtype_.kind != core::Kind::kInt && dtype_.kind != core::Kind::kUInt;
  if (is_half) computed_ = {core::Kind::kFloat, 32};
}

void Factors::fail_shapes(const std::string& why, core::Fault fault) const {
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
    core::fail(core::Fault::kValue, function_, "(): x", ndims[0] == 0 ? 1 : 2,
               " has ndim 0; it must be 1 or more");
  }
  if (axis < -least || axis > -1) {
    core::fail(core::Fault::kAxis, function_, "(): axis is ", axis, "; for ndim ", ndims[0],
               " and ", ndims[1], " it must be -", least, " to -1, counted from the end");
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

}  // namespace refarray::extension
