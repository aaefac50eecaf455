// Masks: counting, selecting, and the places of what is True.
#include "compute/indexing/mask.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "compute/kernels/rearranging/gather.hpp"
#include "compute/kernels_in_use.hpp"
#include "core/copy/copy.hpp"

namespace refarray::core {
namespace {

constexpr DType kInt64{Kind::kInt, 64};
constexpr DType kBool{Kind::kBool, 8};
constexpr std::int64_t kPiece = std::int64_t{1} << 20;  // elements between two interrupt checks

const kernels::Gathering& kernels_in_use() noexcept { return *kernels::operations().gathering; }

std::int64_t* words(const Array& array) noexcept {
  return reinterpret_cast<std::int64_t*>(array.data);
}

bool is_contiguous(const ArrayView& array) noexcept {
  return is_c_contiguous(array.extents(), array.stride_span());
}

/// Shortens a flat array: fewer elements were found than counted before.
void shorten(Array& array, std::int64_t count) noexcept { array.layout.shape[0] = count; }

/// Row-major bytes that are not zero where `array` is not: its own if it has such, or a copy in
/// `owner`. False when interrupted.
bool to_bytes(ArrayView& out, const ArrayView& array, Array& owner,
              const InterruptCheck& interrupt) {
  out = array;
  if (array.dtype == kBool && is_contiguous(array)) return true;
  owner = new_array(kBool, array.extents(), false);
  out = owner;
  return copy(owner, array, interrupt);
}

std::int64_t num_pieces(std::int64_t count) noexcept { return (count + kPiece - 1) / kPiece; }
std::int64_t piece_size(std::int64_t count, std::int64_t index) noexcept {
  return std::min(kPiece, count - index * kPiece);
}

/// How many bytes of a mask are not zero.
class SetBytes {
 public:
  explicit SetBytes(std::int64_t count) {
    if (num_pieces(count) > 1) many_.assign(static_cast<std::size_t>(num_pieces(count)) + 1, 0);
  }
  /// False when interrupted.
  bool count(const std::byte* mask, std::int64_t count, const InterruptCheck& interrupt) {
    const auto piece = [&](std::int64_t i) {
      counts()[i + 1] = kernels_in_use().count_set(mask + i * kPiece, piece_size(count, i));
    };
    if (!share_work(num_pieces(count), threads_for(count), interrupt, piece)) return false;
    std::partial_sum(many_.begin(), many_.end(), many_.begin());
    return true;
  }
  /// In the pieces before this one.
  std::int64_t before(std::int64_t piece) const noexcept {
    return many_.empty() ? few_[piece] : many_[static_cast<std::size_t>(piece)];
  }
  std::int64_t in_all() const noexcept { return many_.empty() ? few_[1] : many_.back(); }

 private:
  /// Of each piece, behind a 0; after count() those in the pieces before.
  std::int64_t* counts() noexcept { return many_.empty() ? few_ : many_.data(); }

  std::int64_t few_[2] = {};  // of one piece: needs no memory
  std::vector<std::int64_t> many_;
};

/// The number of bytes that are not zero, or -1 when interrupted.
std::int64_t count_set(const std::byte* mask, std::int64_t count, const InterruptCheck& interrupt) {
  SetBytes set(count);
  return set.count(mask, count, interrupt) ? set.in_all() : -1;
}

/// Calls visit(row, mask, first) for each row along the last axis of a row-major mask, with the
/// offset of its first element by `strides`.
template <class Visit>
bool each_row(const ArrayView& mask, Extents strides, std::int64_t itemsize,
              const InterruptCheck& interrupt, Visit visit) {
  if (mask.size() == 0) return true;
  const int last = mask.ndim - 1;
  std::int64_t index[kMaxRank] = {};
  std::int64_t first = 0;
  std::int64_t since_check = 0;
  for (const std::byte* row = mask.data;; row += mask.shape[last]) {
    visit(row, first, static_cast<const std::int64_t*>(index));
    since_check += mask.shape[last];
    if (since_check > kPiece) {
      if (interrupt()) return false;
      since_check = 0;
    }
    int axis = last - 1;
    for (; axis >= 0; --axis) {
      const std::int64_t stride = strides[static_cast<std::size_t>(axis)] * itemsize;
      first += stride;
      if (++index[axis] < mask.shape[axis]) break;
      index[axis] = 0;
      first -= mask.shape[axis] * stride;
    }
    if (axis < 0) return true;
  }
}

/// The mask as one axis where the strides allow it, so that its rows are long.
Layout merged(const ArrayView& mask, Extents strides, Layout& merged_strides) noexcept {
  Layout out;
  for (int axis = 0; axis < mask.ndim; ++axis) {
    const std::int64_t extent = mask.shape[axis];
    const std::int64_t stride = strides[static_cast<std::size_t>(axis)];
    const int before = out.ndim - 1;
    if (extent == 1) continue;
    if (before >= 0 && out.strides[before] == wrapped_product(stride, extent)) {
      out.shape[before] *= extent;
      out.strides[before] = stride;
    } else {
      out.push(extent, stride);
    }
  }
  if (out.ndim == 0) out.push(1, 0);
  merged_strides = out;
  return c_layout(out.extents());
}

}  // namespace

bool mask_offsets(Array& out, const ArrayView& mask, Extents strides, int itemsize,
                  const InterruptCheck& interrupt) {
  Array owner;
  ArrayView bytes;
  if (!to_bytes(bytes, mask, owner, interrupt)) return false;
  const std::int64_t count = count_set(bytes.data, bytes.size(), interrupt);
  if (count < 0) return false;
  const std::int64_t flat[] = {count};
  out = new_array(kInt64, flat, false);
  if (count == 0) return true;
  Layout steps;
  const Array rows = with_layout(bytes, merged(bytes, strides, steps), 0);
  const std::int64_t step = steps.strides[steps.ndim - 1] * itemsize;
  std::int64_t at = 0;
  const bool is_done = each_row(rows, steps.stride_span(), itemsize, interrupt,
                                [&](const std::byte* row, std::int64_t first, const std::int64_t*) {
                                  at += kernels_in_use().positions(
                                      words(out) + at, count - at, row,
                                      rows.layout.shape[rows.layout.ndim - 1], first, step);
                                });
  shorten(out, at);
  return is_done;
}

bool can_select(const ArrayView& array, const ArrayView& mask) noexcept {
  const auto bytes = static_cast<unsigned>(array.dtype.itemsize());
  return std::ranges::equal(array.extents(), mask.extents()) && is_contiguous(array) &&
         !array.dtype.is_packed() && bytes <= 16 && std::has_single_bit(bytes);
}

bool select(Array& out, const ArrayView& array, const ArrayView& mask,
            const InterruptCheck& interrupt) {
  Array owner;
  ArrayView bytes;
  if (!to_bytes(bytes, mask, owner, interrupt)) return false;
  const std::int64_t size = bytes.size();
  SetBytes set(size);
  if (!set.count(bytes.data, size, interrupt)) return false;
  const std::int64_t flat[] = {set.in_all()};
  out = new_array(array.dtype, flat, false);
  const std::int64_t word = array.dtype.itemsize();
  const auto kernel = kernels_in_use().select[std::countr_zero(static_cast<unsigned>(word))];
  return share_work(num_pieces(size), threads_for(size * word), interrupt, [&](std::int64_t i) {
    std::byte* const to = out.data + set.before(i) * word;
    const std::int64_t count = set.before(i + 1) - set.before(i);
    const std::int64_t taken = kernel(to, count, array.data + i * kPiece * word,
                                      bytes.data + i * kPiece, piece_size(size, i));
    // Another thread may have cleared some of the mask.
    std::fill_n(to + taken * word, (count - taken) * word, std::byte{0});
  });
}

bool nonzero(std::vector<Array>& out, const ArrayView& array, const InterruptCheck& interrupt) {
  Array owner;
  ArrayView bytes;
  if (!to_bytes(bytes, array, owner, interrupt)) return false;
  const std::int64_t count = count_set(bytes.data, bytes.size(), interrupt);
  if (count < 0) return false;
  const std::int64_t flat[] = {count};
  for (int axis = 0; axis < array.ndim; ++axis) out.push_back(new_array(kInt64, flat, false));
  if (count == 0) return true;
  const int last = array.ndim - 1;
  const Array rows = with_layout(bytes, c_layout(bytes.extents()), 0);
  std::int64_t at = 0;
  const bool is_done =
      each_row(rows, bytes.stride_span(), 1, interrupt,
               [&](const std::byte* row, std::int64_t, const std::int64_t* index) {
                 const std::int64_t found =
                     kernels_in_use().positions(words(out[static_cast<std::size_t>(last)]) + at,
                                                count - at, row, rows.layout.shape[last], 0, 1);
                 for (int axis = 0; axis < last; ++axis)
                   std::fill_n(words(out[static_cast<std::size_t>(axis)]) + at, found, index[axis]);
                 at += found;
               });
  for (Array& indices : out) shorten(indices, at);
  return is_done;
}

}  // namespace refarray::core
