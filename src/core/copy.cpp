// Owns what copy() promises: who may become what, equal shapes, and results that overlap cannot
// spoil.
#include "refarray/core/copy.hpp"

#include <algorithm>

#include "core/copy_plan.hpp"
#include "refarray/core/error.hpp"

namespace refarray::core {

namespace {

/// The door for faster kernels: whatever stands here gets every non-empty, non-overlapping copy of
/// host memory. It may run a plan in any order and on any number of threads, as long as bits beside
/// packed elements survive.
using Executor = void (*)(const Plan& plan) noexcept;
constexpr Executor kExecute = &walk;

/// Every element of one is the very same bits as that of the other.
bool is_same_memory(const ArrayView& a, const ArrayView& b) noexcept {
  return a.data == b.data && a.bit == b.bit && a.dtype == b.dtype &&
         std::ranges::equal(a.stride_span(), b.stride_span());
}

}  // namespace

bool can_convert(const DType& from, const DType& to) noexcept {
  if (from.kind == to.kind && from.bits == to.bits && from.lanes == to.lanes) return true;
  if (from.lanes != 1 || to.lanes != 1 || from.index() < 0 || to.index() < 0) return false;
  return !from.is_complex() || to.is_complex() || to.kind == Kind::kBool;
}

void copy(const ArrayView& dst, const ArrayView& src) {
  if (!can_convert(src.dtype, dst.dtype)) {
    fail(Fault::kType, "no conversion from ", name(src.dtype), " to ", name(dst.dtype));
  }
  if (!std::ranges::equal(dst.extents(), src.extents())) {
    fail(Fault::kValue, "cannot copy an array of shape ", shape_text(src.extents()),
         " into one of shape ", shape_text(dst.extents()));
  }
  if (dst.size() == 0) return;
  const Plan plan(dst, src);
  if (may_overlap(dst, src) && !plan.is_memmove()) {
    if (is_same_memory(dst, src)) return;
    const Array temporary = new_array(src.dtype, src.extents(), false);
    kExecute(Plan(temporary, src));
    kExecute(Plan(dst, temporary));
    return;
  }
  kExecute(plan);
}

}  // namespace refarray::core
