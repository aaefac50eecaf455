// copy(): checks of dtypes and shapes, overlapping memory, and the fast path of small copies.
#include "core/copy/copy.hpp"

#include <algorithm>
#include <cstring>

#include "core/copy/chunks.hpp"
#include "core/copy/plan.hpp"
#include "core/error.hpp"

namespace refarray::core {

namespace {

/// Each element of one array is at the same address as that of the other.
bool is_same_memory(const ArrayView& a, const ArrayView& b) noexcept {
  return a.data == b.data && a.bit == b.bit && a.dtype == b.dtype &&
         std::ranges::equal(a.stride_span(), b.stride_span());
}

/// Contiguous copies of up to this many bytes need no plan: making one takes as long.
constexpr std::int64_t kSmallCopyBytes = 4096;

bool is_contiguous(const ArrayView& array) noexcept {
  return is_c_contiguous(array.extents(), array.stride_span());
}

/// memmove() in chunks that can be interrupted, ordered so that none is overwritten before
/// it is copied.
bool move_overlapping(std::byte* dst, const std::byte* src, std::int64_t nbytes,
                      const InterruptCheck& interrupt) noexcept {
  constexpr std::int64_t kChunkBytes = std::int64_t{8} << 20;
  for (std::int64_t done = 0; done < nbytes; done += kChunkBytes) {
    const std::int64_t size = std::min(kChunkBytes, nbytes - done);
    const std::int64_t at = dst < src ? done : nbytes - done - size;
    std::memmove(dst + at, src + at, static_cast<std::size_t>(size));
    if (size < nbytes && interrupt()) return false;
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
                                        const InterruptCheck& interrupt) {
  const Plan plan(dst, src);
  if (plan.is_memmove())
    return move_overlapping(plan.dst.data, plan.src.data, dst.nbytes(), interrupt);
  if (is_same_memory(dst, src)) return true;
  const Array temporary = new_array(src.dtype, src.extents(), false);
  return run(Plan(temporary, src), interrupt) && run(Plan(dst, temporary), interrupt);
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

bool copy(const ArrayView& dst, const ArrayView& src, const InterruptCheck& interrupt) {
  check_copy(dst, src);
  const std::int64_t size = dst.size();
  if (size == 0) return true;
  if (dst.dtype == src.dtype && !dst.dtype.is_packed() &&
      size <= kSmallCopyBytes / dst.dtype.itemsize() && is_contiguous(dst) && is_contiguous(src)) {
    std::memmove(dst.data, src.data, static_cast<std::size_t>(size * dst.dtype.itemsize()));
    return true;
  }
  if (may_overlap(dst, src)) return copy_overlapping(dst, src, interrupt);
  return run(Plan(dst, src), interrupt);
}

}  // namespace refarray::core
