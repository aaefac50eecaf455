// Gather and scatter: offsets from index arrays, and the walk over the axes around them.
#include "compute/indexing/index_arrays.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "compute/kernels/rearranging/gather.hpp"
#include "compute/kernels_in_use.hpp"
#include "core/copy/copy.hpp"
#include "core/error.hpp"

namespace refarray::core {
namespace {

using kernels::IndexedMove;

constexpr DType kInt64{Kind::kInt, 64};
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

const kernels::Gathering& kernels_in_use() noexcept { return *kernels::operations().gathering; }

std::int64_t* words(const Array& array) noexcept {
  return reinterpret_cast<std::int64_t*>(array.data);
}

bool is_integer(const DType& dtype) noexcept {
  return (dtype.kind == Kind::kInt || dtype.kind == Kind::kUInt) && dtype.lanes == 1;
}

[[noreturn, gnu::cold]] void fail_out_of_range(std::int64_t value, const AxisIndex& index) {
  const bool is_unsigned = index.values.dtype.kind == Kind::kUInt;
  const std::string text =
      is_unsigned ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
  fail(Fault::kIndex, "index ", text, " is out of range for axis ", index.axis, " of extent ",
       index.extent, "; the range is [", is_unsigned ? 0 : -index.extent, ", ", index.extent, ")");
}

/// Adds the term of one index to the offsets, or stores it if not `adds`.
bool add_index(const Array& offsets, const AxisIndex& index, Extents shape, int itemsize, bool adds,
               const InterruptCheck& interrupt) {
  // Indices are checked even where they select nothing, as beside an empty index array.
  const std::int64_t count = size_of(shape);
  const Layout layout = broadcast_layout(index.values.extents(), index.values.stride_span(), shape);
  const Array all = with_layout(index.values, layout, 0);
  Array own;
  if (adds || count == 0) {
    if (!private_indices(own, count == 0 ? index.values : all.view(), interrupt)) return false;
  } else {  // the indices become offsets in place
    own = with_layout(offsets, c_layout(shape), 0);
    if (!copy(own, all, interrupt)) return false;
  }
  const bool is_unsigned = index.values.dtype.kind == Kind::kUInt;
  const std::int64_t checked = own.view().size();
  std::int64_t* const to = count == 0 ? words(own) : words(offsets);
  constexpr std::int64_t kPiece = kPieceBytes / 8;
  for (std::int64_t at = 0; at < checked; at += kPiece) {
    const std::int64_t bad = kernels_in_use().add_term(
        {to + at, words(own) + at, std::min(kPiece, checked - at), is_unsigned ? 0 : -index.extent,
         index.extent, wrapped_product(index.stride, itemsize), adds});
    if (bad >= 0) fail_out_of_range(words(own)[at + bad], index);
    if (checked > kPiece && interrupt()) return false;
  }
  return true;
}

/// Bytes from one element of an axis to the next; 0 if there is one element, since any number may
/// be its stride.
std::int64_t step_of(const ArrayView& array, int axis) noexcept {
  return array.shape[axis] == 1 ? 0 : array.strides[axis] * array.dtype.itemsize();
}

/// The walk over the axes of `base` that surround the offsets, with the largest contiguous runs of
/// elements at its end.
struct Walk {
  Walk(const ArrayView& other, const Places& places) noexcept
      : itemsize(places.base.dtype.itemsize()), run(itemsize) {
    const int block = places.block_axis;
    step = step_of(other, block);
    int last = places.base.ndim;
    for (; last > block; --last) {  // axis last - 1 of base is axis last of the other array
      const std::int64_t extent = places.base.shape[last - 1];
      if (extent == 1) continue;
      if (places.base.strides[last - 1] * itemsize != run || other.strides[last] * itemsize != run)
        break;
      run *= extent;
    }
    for (int axis = 0; axis < last; ++axis) {
      if (places.base.shape[axis] == 1) continue;
      shape[ndim] = places.base.shape[axis];
      base_strides[ndim] = places.base.strides[axis] * itemsize;
      other_strides[ndim] = other.strides[axis < block ? axis : axis + 1] * itemsize;
      outer *= shape[ndim++];
    }
  }

  /// Calls `visit(base_offset, other_offset)`, in bytes, for each index of the axes.
  template <class Visit>
  void each(Visit visit) const noexcept {
    std::int64_t index[kMaxRank];
    std::fill_n(index, ndim, 0);
    std::int64_t base = 0, other = 0;
    for (;;) {
      visit(base, other);
      int axis = ndim - 1;
      for (; axis >= 0; --axis) {
        base += base_strides[axis];
        other += other_strides[axis];
        if (++index[axis] < shape[axis]) break;
        index[axis] = 0;
        base -= shape[axis] * base_strides[axis];
        other -= shape[axis] * other_strides[axis];
      }
      if (axis < 0) return;
    }
  }

  /// Index into the kernel tables.
  std::size_t kernel() const noexcept {
    const auto bytes = static_cast<std::uint64_t>(run);
    return bytes <= 16 && std::has_single_bit(bytes)
               ? static_cast<std::size_t>(std::countr_zero(bytes))
               : 5;
  }

  int itemsize;
  std::int64_t run;  // bytes
  std::int64_t step;
  std::int64_t outer = 1;
  int ndim = 0;
  std::int64_t shape[kMaxRank];
  std::int64_t base_strides[kMaxRank];
  std::int64_t other_strides[kMaxRank];
};

/// One copy of `base` for each offset: where it has far more elements than there are offsets.
bool copy_each(const ArrayView& other, const Places& places, bool gathers,
               const InterruptCheck& interrupt) {
  const auto* offsets = reinterpret_cast<const std::int64_t*>(places.offsets.data);
  Layout layout;
  for (int axis = 0; axis < other.ndim; ++axis) {
    if (axis != places.block_axis) layout.push(other.shape[axis], other.strides[axis]);
  }
  for (std::int64_t i = 0; i < places.offsets.shape[0]; ++i) {
    const Array part = with_layout(other, layout, i * other.strides[places.block_axis]);
    ArrayView base = places.base;
    base.data += offsets[i];
    if (!(gathers ? copy(part, base, interrupt) : copy(base, part, interrupt))) return false;
  }
  return true;
}

bool move(const ArrayView& other, const Places& places, bool gathers,
          const InterruptCheck& interrupt) {
  const std::int64_t count = places.offsets.shape[0];
  // Many indices may select nothing: they are still checked, piece by piece.
  if (count == 0 || places.base.size() == 0) return !interrupt();
  const Walk walk(other, places);
  constexpr std::int64_t kManyAxes = 32;
  if (walk.outer >= kManyAxes && walk.outer / 2 > count)
    return copy_each(other, places, gathers, interrupt);
  const std::int64_t bytes_each = walk.run * walk.outer;
  const std::int64_t piece = std::max<std::int64_t>(kPieceBytes / bytes_each, 1);
  const auto kernel = (gathers ? kernels_in_use().gather : kernels_in_use().scatter)[walk.kernel()];
  const auto* offsets = reinterpret_cast<const std::int64_t*>(places.offsets.data);
  const auto part = [&](std::int64_t i) {
    const std::int64_t begin = i * piece;
    walk.each([&](std::int64_t at_base, std::int64_t at_other) {
      std::byte* const base = places.base.data + at_base;
      std::byte* const next = other.data + at_other + begin * walk.step;
      kernel(IndexedMove{gathers ? next : base, gathers ? base : next, offsets + begin,
                         std::min(piece, count - begin), walk.step, walk.run});
    });
  };
  // Equal offsets are written in order, so one thread scatters.
  const int threads = gathers ? threads_for(count * bytes_each) : 1;
  return share_work((count + piece - 1) / piece, threads, interrupt, part);
}

}  // namespace

void check_index_dtype(const DType& dtype, const char* what) {
  if (is_integer(dtype)) return;
  fail(Fault::kType, what, " must have an integer dtype, not ", name(dtype));
}

bool private_indices(Array& out, const ArrayView& values, const InterruptCheck& interrupt) {
  out = new_array(kInt64, values.extents(), false);
  return copy(out, values, interrupt);  // uint64 wraps; the caller checks by the dtype of `values`
}

bool index_offsets(Array& out, std::span<const AxisIndex> indices, Extents shape, int itemsize,
                   const InterruptCheck& interrupt) {
  const std::int64_t flat[] = {checked_size(shape)};
  out = new_array(kInt64, flat, indices.empty());
  bool adds = false;
  for (const AxisIndex& index : indices) {
    if (!add_index(out, index, shape, itemsize, adds, interrupt)) return false;
    adds = true;
  }
  return true;
}

bool offsets_along_axis(Array& out, const ArrayView& array, const ArrayView& indices, int axis,
                        const InterruptCheck& interrupt) {
  const int itemsize = array.dtype.itemsize();
  const AxisIndex index{indices, axis, array.shape[axis], array.strides[axis]};
  if (!index_offsets(out, {&index, 1}, indices.extents(), itemsize, interrupt)) return false;
  if (out.layout.shape[0] == 0) return true;
  // The other axes add their own position, row by row along the last axis.
  const int last = indices.ndim - 1;
  const std::int64_t last_stride = last == axis ? 0 : step_of(array, last);
  std::int64_t at[kMaxRank];
  std::fill_n(at, indices.ndim, 0);
  std::int64_t row = 0;  // offset of the row
  for (std::int64_t* to = words(out);; to += indices.shape[last]) {
    for (std::int64_t j = 0; j < indices.shape[last]; ++j) to[j] += row + j * last_stride;
    int outer = last - 1;
    for (; outer >= 0; --outer) {
      const std::int64_t stride = outer == axis ? 0 : step_of(array, outer);
      row += stride;
      if (++at[outer] < indices.shape[outer]) break;
      at[outer] = 0;
      row -= indices.shape[outer] * stride;
    }
    if (outer < 0) return true;
  }
}

namespace {

/// How many offsets are computed before their elements are copied: few enough that they stay in
/// the cache, and that freeing them does not shrink the heap, whose pages would fault again. All of
/// them where threads share the copies.
std::int64_t offsets_at_once(const ArrayView& out, std::int64_t count) noexcept {
  constexpr std::int64_t kCached = 8192;
  return threads_for(out.nbytes()) > 1 ? count : std::min(count, kCached);
}

/// The indices [begin, begin + count) along an axis.
Array part_along(const ArrayView& array, int axis, std::int64_t begin, std::int64_t count) {
  Layout layout(array.extents(), array.stride_span());
  layout.shape[axis] = count;
  return with_layout(array, layout, wrapped_product(begin, array.strides[axis]));
}

}  // namespace

bool gather_along(const ArrayView& out, const ArrayView& base, const AxisIndex& index,
                  int block_axis, const InterruptCheck& interrupt) {
  const std::int64_t count = index.values.shape[0];
  const std::int64_t most = offsets_at_once(out, count);
  std::int64_t begin = 0;
  do {
    const std::int64_t shape[] = {std::min(most, count - begin)};
    const Array values = part_along(index.values, 0, begin, shape[0]);
    const AxisIndex part{values, index.axis, index.extent, index.stride};
    const Array to = part_along(out, block_axis, begin, shape[0]);
    Array offsets;
    if (!index_offsets(offsets, {&part, 1}, shape, base.dtype.itemsize(), interrupt) ||
        !gather(to, {base, offsets, block_axis}, interrupt))
      return false;
    begin += most;
  } while (begin < count);
  return true;
}

bool gather_along_axis(const ArrayView& out, const ArrayView& array, const ArrayView& indices,
                       int axis, const InterruptCheck& interrupt) {
  const std::int64_t rows = indices.shape[0];
  const std::int64_t row = rows == 0 ? 0 : out.size() / rows;  // its number of elements
  if (row == 0) return true;
  const std::int64_t most =
      std::max<std::int64_t>(offsets_at_once(out, out.size()) / std::max<std::int64_t>(row, 1), 1);
  std::int64_t begin = 0;
  do {
    const std::int64_t count = std::min(most, rows - begin);
    const Array places = part_along(indices, 0, begin, count);
    const Array from = axis == 0 ? with_layout(array, {array.extents(), array.stride_span()}, 0)
                                 : part_along(array, 0, begin, count);
    const std::int64_t flat[] = {count * row};
    const Array to = with_layout(out, c_layout(flat), begin * row);
    Array offsets;
    if (!offsets_along_axis(offsets, from, places, axis, interrupt) ||
        !gather(to, {with_layout(from, Layout({}, {}), 0), offsets, 0}, interrupt))
      return false;
    begin += most;
  } while (begin < rows);
  return true;
}

bool repeated_indices(Array& out, const ArrayView& repeats, const InterruptCheck& interrupt) {
  Array own;
  if (!private_indices(own, repeats, interrupt)) return false;
  const std::int64_t count = repeats.shape[0];
  const bool is_unsigned = repeats.dtype.kind == Kind::kUInt;
  std::int64_t total = 0;
  constexpr std::int64_t kPiece = kPieceBytes / 8;  // between two checks
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % kPiece == kPiece - 1 && interrupt()) return false;
    const std::int64_t times = words(own)[i];  // of uint64 beyond int64: negative
    if (times < 0 && !is_unsigned)
      fail(Fault::kValue, "repeats[", i, "] is ", times, "; it must be 0 or more");
    if (times < 0 || __builtin_add_overflow(total, times, &total))
      fail(Fault::kOverflow, "the sum of repeats exceeds 2**63 - 1");
  }
  const std::int64_t flat[] = {total};
  out = new_array(kInt64, flat, false);
  std::int64_t* to = words(out);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t left = words(own)[i]; left > 0;) {
      const std::int64_t piece = std::min(left, kPiece);
      to = std::fill_n(to, piece, i);
      left -= piece;
      if (piece == kPiece && interrupt()) return false;
    }
    if (i % kPiece == kPiece - 1 && interrupt()) return false;
  }
  return true;
}

bool gather(const ArrayView& out, const Places& places, const InterruptCheck& interrupt) {
  return move(out, places, true, interrupt);
}

bool scatter(const Places& places, const ArrayView& from, const InterruptCheck& interrupt) {
  return move(from, places, false, interrupt);
}

}  // namespace refarray::core
