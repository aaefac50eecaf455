// Sorting: rows along an axis, made contiguous where they are not, and their scratch memory.
#include "compute/sorting/sort.hpp"

#include <algorithm>
#include <bit>

#include "compute/kernels/rearranging/gather.hpp"
#include "compute/kernels/rearranging/sort_kernels.hpp"
#include "compute/kernels_in_use.hpp"
#include "core/copy/copy.hpp"
#include "core/kernels/table.hpp"
#include "core/promotion.hpp"

namespace refarray::core {
namespace {

using kernels::SortCall;
using kernels::Sorted;

constexpr DType kInt64{Kind::kInt, 64};
constexpr std::int64_t kCheckInterval = std::int64_t{1} << 17;  // elements
// Rows up to this length are sorted in vectors that have an element of each of several rows.
constexpr std::int64_t kMaxShort = 512;
constexpr std::int64_t kMinRows = 4;
constexpr std::int64_t kTileBytes = std::int64_t{16} << 10;  // or one cache line for each index
constexpr std::int64_t kMaxTileRows = 1024;
constexpr std::int64_t kCacheLine = 64;

bool is_contiguous(const ArrayView& array) noexcept {
  return is_c_contiguous(array.extents(), array.stride_span());
}

/// A view with `axis` moved to the end.
Array axis_last(const ArrayView& array, int axis) {
  Layout layout;
  for (int i = 0; i < array.ndim; ++i) {
    if (i != axis) layout.push(array.shape[i], array.strides[i]);
  }
  layout.push(array.shape[axis], array.strides[axis]);
  return with_layout(array, layout, 0);
}

Array new_words(std::int64_t count) {
  const std::int64_t words[] = {count};
  return new_array(kInt64, words, false);
}

std::uint64_t* words(const Array& array) noexcept {
  return reinterpret_cast<std::uint64_t*>(array.data);
}

/// Sorts a row by the order of its elements, when sort() could not. `order` has the indices and,
/// behind them, the scratch memory; it is made by the first row.
Sorted sort_by_order(ScalarType dtype, const SortCall& call, std::int64_t itemsize, Array& order) {
  const std::int64_t count = call.count;
  if (order.data == nullptr) order = new_words(count + kernels::order_scratch_words(count));
  SortCall ordering = call;
  ordering.out = order.data;
  ordering.scratch = words(order) + count;
  const Sorted result = kernels::operations().sorting->order(dtype, ordering);
  if (result != Sorted::kYes) return result;
  auto* const offsets = reinterpret_cast<std::int64_t*>(order.data);
  for (std::int64_t i = 0; i < count; ++i) offsets[i] *= itemsize;
  auto* const copy = reinterpret_cast<std::byte*>(ordering.scratch);  // `in` may be `out`
  std::copy_n(call.in, count * itemsize, copy);
  kernels::operations().gathering->gather[5]({call.out, copy, offsets, count, itemsize, itemsize});
  return Sorted::kYes;
}

/// Calls `row(in, out)` for each row of two row-major arrays of equal shapes.
template <class Row>
bool each_row(const ArrayView& out, const ArrayView& in, std::int64_t count,
              const InterruptCheck& interrupt, Row row) {
  const std::int64_t rows = count == 0 ? 0 : in.size() / count;
  std::int64_t since_check = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::byte* const from = in.data + i * count * in.dtype.itemsize();
    if (row(from, out.data + i * count * out.dtype.itemsize()) == Sorted::kInterrupted)
      return false;
    since_check += count;
    if (since_check < kCheckInterval || i + 1 == rows) continue;
    if (interrupt()) return false;
    since_check = 0;
  }
  return true;
}

/// A tile of rows, transposed: elements of equal index are contiguous.
class ShortRows {
 public:
  /// Throws kMemory.
  ShortRows(std::int64_t count, std::int64_t size)
      : count_(count),
        size_(size),
        line_(kCacheLine / size),
        tile_bytes_(std::max(kTileBytes, count * kCacheLine)),
        max_rows_(std::min(tile_bytes_ / (count * kCacheLine) * line_, kMaxTileRows)),
        transpose_(kernels::table().transpose[std::countr_zero(static_cast<std::uint64_t>(size))]),
        key_bytes_(kernels::padded_keys(count) * kernels::kLaneKeyBytes),
        memory_(new_words((tile_bytes_ + kMaxTileRows + key_bytes_) / 8 + count + kMaxTileRows)),
        keys_(memory_.data + tile_bytes_),
        needs_order_(reinterpret_cast<bool*>(keys_ + key_bytes_)),
        row_offsets_(reinterpret_cast<std::int64_t*>(needs_order_ + kMaxTileRows)),
        offsets_(row_offsets_ + kMaxTileRows) {
    for (std::int64_t i = 0; i < max_rows_; ++i) row_offsets_[i] = i * count * size;
  }

  std::int64_t max_rows() const noexcept { return max_rows_; }
  bool needs_order(std::int64_t row) const noexcept { return needs_order_[row]; }

  void sort(std::byte* to, const std::byte* from, std::int64_t rows, ScalarType dtype,
            bool descending) const noexcept {
    const std::int64_t lanes = (rows + line_ - 1) / line_ * line_, pitch = lanes * size_;
    if (rows < lanes) std::fill_n(memory_.data, count_ * pitch, std::byte{0});
    for (std::int64_t i = 0; i < count_; ++i) offsets_[i] = i * pitch;
    transpose_({memory_.data, offsets_, from, count_ * size_, rows, count_, false});
    kernels::operations().sorting->sort_lanes(
        dtype, {memory_.data, count_, lanes, pitch, descending, keys_, needs_order_});
    transpose_({to, row_offsets_, memory_.data, pitch, count_, rows, false});
  }

 private:
  std::int64_t count_;  // elements of a row
  std::int64_t size_;   // bytes of an element
  std::int64_t line_;   // elements of a cache line
  std::int64_t tile_bytes_;
  std::int64_t max_rows_;
  kernels::TileKernel transpose_;
  std::int64_t key_bytes_;
  Array memory_;  // begins with the tile
  std::byte* keys_;
  bool* needs_order_;
  std::int64_t* row_offsets_;  // bytes: of the rows, and of indices in the tile
  std::int64_t* offsets_;
};

/// `in` is not `out`: `sort_one` sorts rows once more of which the order matters.
template <class SortOne>
bool sort_short_rows(const ArrayView& out, const ArrayView& in, bool descending,
                     const InterruptCheck& interrupt, SortOne sort_one) {
  const std::int64_t count = in.shape[in.ndim - 1], rows = in.size() / count;
  const std::int64_t row_bytes = count * in.dtype.itemsize();
  const ScalarType dtype = computable_scalar(in.dtype);
  const ShortRows tile(count, in.dtype.itemsize());
  std::int64_t since_check = 0;
  for (std::int64_t at = 0; at < rows; at += tile.max_rows()) {
    const std::int64_t height = std::min(tile.max_rows(), rows - at);
    const std::byte* const from = in.data + at * row_bytes;
    std::byte* const to = out.data + at * row_bytes;
    tile.sort(to, from, height, dtype, descending);
    for (std::int64_t row = 0; row < height; ++row) {
      const std::int64_t offset = row * row_bytes;
      if (tile.needs_order(row) && sort_one(from + offset, to + offset) == Sorted::kInterrupted)
        return false;
    }
    since_check += height * count;
    if (since_check < kCheckInterval || at + height == rows) continue;
    if (interrupt()) return false;
    since_check = 0;
  }
  return true;
}

bool sort_rows(const ArrayView& out, const ArrayView& in, bool descending,
               const InterruptCheck& interrupt) {
  const std::int64_t count = in.shape[in.ndim - 1];
  const ScalarType dtype = computable_scalar(in.dtype);
  const std::int64_t itemsize = in.dtype.itemsize();
  const Array scratch = new_words(kernels::sort_scratch_words(count, itemsize));
  Array order;
  const auto sort_one = [&](const std::byte* from, std::byte* to) {
    const SortCall call{to, from, count, descending, words(scratch), &interrupt};
    const Sorted result = kernels::operations().sorting->sort(dtype, call);
    if (result != Sorted::kNeedsOrder) return result;
    return sort_by_order(dtype, call, itemsize, order);
  };
  if (count <= kMaxShort && in.size() >= kMinRows * count && in.data != out.data)
    return sort_short_rows(out, in, descending, interrupt, sort_one);
  return each_row(out, in, count, interrupt, sort_one);
}

bool order_rows(const ArrayView& out, const ArrayView& in, bool descending,
                const InterruptCheck& interrupt) {
  const std::int64_t count = in.shape[in.ndim - 1];
  const ScalarType dtype = computable_scalar(in.dtype);
  const Array scratch = new_words(kernels::order_scratch_words(count));
  return each_row(out, in, count, interrupt, [&](const std::byte* from, std::byte* to) {
    return kernels::operations().sorting->order(
        dtype, {to, from, count, descending, words(scratch), &interrupt});
  });
}

using SortRows = bool (*)(const ArrayView& out, const ArrayView& in, bool descending,
                          const InterruptCheck& interrupt);

/// Rows [first, end) of a row-major array.
Array rows_of(const ArrayView& array, std::int64_t first, std::int64_t end) {
  const std::int64_t count = array.shape[array.ndim - 1];
  const std::int64_t shape[] = {end - first, count};
  return with_layout(array, c_layout(shape), first * count);
}

/// Threads sort parts of a row, which then are merged, two at a time.
class SharedRow {
 public:
  /// Throws kMemory.
  SharedRow(const ArrayView& out, const ArrayView& in, bool descending, int threads,
            const InterruptCheck& interrupt)
      : out_(out),
        in_(in),
        descending_(descending),
        threads_(threads),
        interrupt_(interrupt),
        size_(in.size()),
        parts_(std::int64_t{1} << levels_),
        between_(new_array(in.dtype, in.extents(), false)) {}

  bool sort() {
    // Each level moves all elements to the other array, the last one to the result.
    ArrayView from = levels_ % 2 == 0 ? out_ : ArrayView(between_);
    ArrayView to = levels_ % 2 == 0 ? ArrayView(between_) : out_;
    if (!sort_parts(from)) return false;
    for (int level = 0; level < levels_; ++level, std::swap(from, to))
      if (!merge_pairs(to, from, std::int64_t{1} << level)) return false;
    return true;
  }

 private:
  static constexpr int kMostLevels = 3;  // of merging: each takes a fifth of the time of sorting

  std::int64_t begin(std::int64_t part) const noexcept {
    return std::min(part * ((size_ + parts_ - 1) / parts_), size_);
  }

  bool sort_parts(const ArrayView& to) {
    const auto sort_part = [&](std::int64_t part, const InterruptCheck& check) {
      const std::int64_t shape[] = {begin(part + 1) - begin(part)};
      const Layout layout = c_layout(shape);
      sort_rows(with_layout(to, layout, begin(part)), with_layout(in_, layout, begin(part)),
                descending_, check);
    };
    return share_fallible_work(parts_, threads_, interrupt_, sort_part);
  }

  /// Merges ranges of `length` parts each.
  bool merge_pairs(const ArrayView& to, const ArrayView& from, std::int64_t length) const noexcept {
    constexpr std::int64_t kPiece = std::int64_t{1} << 18;  // elements
    const std::int64_t itemsize = in_.dtype.itemsize();
    const ScalarType dtype = computable_scalar(in_.dtype);
    for (std::int64_t part = 0; part < parts_; part += 2 * length) {
      const std::int64_t first = begin(part), second = begin(part + length),
                         end = begin(part + 2 * length), count = end - first;
      const auto merge = [&](std::int64_t piece) {
        kernels::operations().sorting->merge(
            dtype, {to.data + first * itemsize, from.data + first * itemsize, second - first,
                    from.data + second * itemsize, end - second, piece * kPiece,
                    std::min((piece + 1) * kPiece, count), descending_});
      };
      if (!share_work((count + kPiece - 1) / kPiece, threads_, interrupt_, merge)) return false;
    }
    return true;
  }

  const ArrayView& out_;
  const ArrayView& in_;
  const bool descending_;
  const int threads_;
  const InterruptCheck& interrupt_;
  const std::int64_t size_;
  const int levels_ =
      std::min(static_cast<int>(std::bit_width(static_cast<unsigned>(threads_ - 1))), kMostLevels);
  const std::int64_t parts_;
  const Array between_;
};

/// Long work by several threads: rows, or parts of the only one where that pays.
bool share_rows(const ArrayView& out, const ArrayView& in, bool descending,
                const InterruptCheck& interrupt, SortRows sort_rows_of) {
  const std::int64_t count = in.shape[in.ndim - 1], rows = in.size() / count;
  const int threads = threads_for(in.nbytes());
  if (threads == 1) return sort_rows_of(out, in, descending, interrupt);
  // Narrow numbers are counted, in less time than it takes to merge them.
  if (rows == 1 && sort_rows_of == &sort_rows && in.dtype.bits >= 32)
    return SharedRow(out, in, descending, threads, interrupt).sort();
  const std::int64_t piece = std::max((rows + 4 * threads - 1) / (4 * threads), std::int64_t{1});
  const auto sort_piece = [&](std::int64_t index, const InterruptCheck& check) {
    const std::int64_t first = index * piece, end = std::min(first + piece, rows);
    sort_rows_of(rows_of(out, first, end), rows_of(in, first, end), descending, check);
  };
  return share_fallible_work((rows + piece - 1) / piece, threads, interrupt, sort_piece);
}

bool along_axis(const ArrayView& out, const ArrayView& array, int axis, bool descending,
                const InterruptCheck& interrupt, SortRows sort_rows_of) {
  if (array.size() == 0) return true;
  const Array turned = axis_last(array, axis);
  Array owner;
  ArrayView in = turned;
  if (!is_contiguous(in)) {
    owner = new_array(in.dtype, in.extents(), false);
    if (!copy(owner, in, interrupt)) return false;
    in = owner;
  }
  if (axis == array.ndim - 1) return share_rows(out, in, descending, interrupt, sort_rows_of);
  const Array sorted = new_array(out.dtype, in.extents(), false);
  return share_rows(sorted, in, descending, interrupt, sort_rows_of) &&
         copy(axis_last(out, axis), sorted, interrupt);
}

}  // namespace

bool sort(const ArrayView& out, const ArrayView& array, int axis, bool descending,
          const InterruptCheck& interrupt) {
  // Of booleans from elsewhere, whose bytes may be any, sorting makes 0 and 1.
  if (array.shape[axis] == 1 && array.dtype.kind != Kind::kBool) return copy(out, array, interrupt);
  return along_axis(out, array, axis, descending, interrupt, &sort_rows);
}

bool sort_order(const ArrayView& out, const ArrayView& array, int axis, bool descending,
                const InterruptCheck& interrupt) {
  return along_axis(out, array, axis, descending, interrupt, &order_rows);
}

bool search_sorted(const ArrayView& out, const ArrayView& sorted, const ArrayView& values,
                   bool after_equals, const InterruptCheck& interrupt) {
  Array owners[2];
  ArrayView views[2] = {sorted, values};
  for (int i = 0; i < 2; ++i) {
    if (is_contiguous(views[i])) continue;
    owners[i] = new_array(views[i].dtype, views[i].extents(), false);
    if (!copy(owners[i], views[i], interrupt)) return false;
    views[i] = owners[i];
  }
  const ScalarType dtype = computable_scalar(sorted.dtype);
  const std::int64_t itemsize = sorted.dtype.itemsize();
  const std::int64_t size = values.size();
  auto* const positions = reinterpret_cast<std::int64_t*>(out.data);
  for (std::int64_t at = 0; at < size; at += kCheckInterval) {
    kernels::operations().sorting->search(
        dtype,
        {views[0].data, sorted.shape[0], views[1].data + at * itemsize,
         std::min(kCheckInterval, size - at), after_equals},
        positions + at);
    if (size > kCheckInterval && interrupt()) return false;
  }
  return true;
}

}  // namespace refarray::core
