// Owns what copy() promises: who may become what, equal shapes, and results that overlap cannot
// spoil.
#include "core/copy/copy.hpp"

#include <algorithm>
#include <cstring>

#include "core/copy/pieces.hpp"
#include "core/copy/plan.hpp"
#include "core/error.hpp"

namespace refarray::core {

namespace {

/// Every element of one is the very same bits as that of the other.
bool is_same_memory(const ArrayView& a, const ArrayView& b) noexcept {
  return a.data == b.data && a.bit == b.bit && a.dtype == b.dtype &&
         std::ranges::equal(a.stride_span(), b.stride_span());
}

/// Bytes up to which a gapless copy needs no plan: making one takes as long as moving so many.
constexpr std::int64_t kSmallCopy = 4096;

bool is_gapless(const ArrayView& array) noexcept {
  return is_c_contiguous(array.extents(), array.stride_span());
}

/// memmove in pieces: each is moved before a later one overwrites it.
bool move_overlapping(std::byte* dst, const std::byte* src, std::int64_t nbytes,
                      const InterruptCheck& watch) noexcept {
  constexpr std::int64_t kPiece = std::int64_t{8} << 20;
  for (std::int64_t done = 0; done < nbytes; done += kPiece) {
    const std::int64_t size = std::min(kPiece, nbytes - done);
    const std::int64_t at = dst < src ? done : nbytes - done - size;
    std::memmove(dst + at, src + at, static_cast<std::size_t>(size));
    if (size < nbytes && watch.stops != nullptr && watch.stops(watch.context)) return false;
  }
  return true;
}

[[gnu::cold, gnu::noinline]] void refuse(const ArrayView& dst, const ArrayView& src) {
  if (!can_convert(src.dtype, dst.dtype)) {
    fail(Fault::kType, "no conversion from ", name(src.dtype), " to ", name(dst.dtype));
  }
  fail(Fault::kValue, "cannot copy an array of shape ", shape_text(src.extents()),
       " into one of shape ", shape_text(dst.extents()));
}

[[gnu::noinline]] bool copy_overlapping(const ArrayView& dst, const ArrayView& src,
                                        const InterruptCheck& watch) {
  const Plan plan(dst, src);
  if (plan.is_memmove()) return move_overlapping(plan.dst.data, plan.src.data, dst.nbytes(), watch);
  if (is_same_memory(dst, src)) return true;
  const Array temporary = new_array(src.dtype, src.extents(), false);
  return run(Plan(temporary, src), watch) && run(Plan(dst, temporary), watch);
}

}  // namespace

bool can_convert(const DType& from, const DType& to) noexcept {
  if (from.kind == to.kind && from.bits == to.bits && from.lanes == to.lanes) return true;
  if (from.lanes != 1 || to.lanes != 1 || from.index() < 0 || to.index() < 0) return false;
  return !from.is_complex() || to.is_complex() || to.kind == Kind::kBool;
}

void check_copy(const ArrayView& dst, const ArrayView& src) {
  if (!can_convert(src.dtype, dst.dtype) || !std::ranges::equal(dst.extents(), src.extents()))
    refuse(dst, src);
}

bool copy(const ArrayView& dst, const ArrayView& src, const InterruptCheck& watch) {
  check_copy(dst, src);
  const std::int64_t size = dst.size();
  if (size == 0) return true;
  if (dst.dtype == src.dtype && !dst.dtype.is_packed() &&
      size <= kSmallCopy / dst.dtype.itemsize() && is_gapless(dst) && is_gapless(src)) {
    std::memmove(dst.data, src.data, static_cast<std::size_t>(size * dst.dtype.itemsize()));
    return true;
  }
  if (may_overlap(dst, src)) return copy_overlapping(dst, src, watch);
  return run(Plan(dst, src), watch);
}

}  // namespace refarray::core
