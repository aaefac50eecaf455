// Implements the operands of products: their dtypes, and conversions.
#include "extension/linalg/factors.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/promotion.hpp"
#include "extension/copy/copying.hpp"
#include "extension/namespace/operands.hpp"

namespace refarray::extension {

Factors::Factors(const State& state, PyObject* x1, PyObject* x2, const char* function)
    : function_(function),
      views_{computable_view(state, x1, function, core::dtype_sets::kNumeric),
             computable_view(state, x2, function, core::dtype_sets::kNumeric)} {
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

void Factors::fail_shapes(const std::string& why) const {
  core::fail(core::Fault::kValue, function_, "(): x1 has shape ",
             core::shape_text(views_[0].extents()), " and x2 has shape ",
             core::shape_text(views_[1].extents()), ": ", why);
}

core::Layout Factors::broadcast(core::Extents a, core::Extents b) const {
  const std::size_t common = std::min(a.size(), b.size());
  const bool fits =
      std::ranges::equal(a.last(common), b.last(common),
                         [](std::int64_t x, std::int64_t y) { return x == y || x == 1 || y == 1; });
  if (!fits) fail_shapes("the leading axes do not broadcast");
  return core::broadcast_shapes(a, b);
}

void Factors::convert() {
  for (int i = 0; i < 2; ++i) {
    if (views_[i].dtype == computed_) continue;
    owners_[i] = copy_to_new(views_[i], computed_);
    views_[i] = owners_[i];
  }
}

core::Array Factors::finished(core::Array result) const {
  return dtype_ == computed_ ? std::move(result) : copy_to_new(result, dtype_);
}

std::int64_t bytes_like(std::int64_t count, std::int64_t depth) noexcept {
  std::int64_t out = 0;
  const bool overflows = __builtin_mul_overflow(count, depth, &out);
  return overflows ? std::numeric_limits<std::int64_t>::max() : out;
}

}  // namespace refarray::extension
