// Implements matrix products: packed slices of the operands, and blocks of tiles.
#include "compute/linalg/matmul.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "compute/kernels_in_use.hpp"
#include "core/kernels/table.hpp"

namespace refarray::core {
namespace {

constexpr std::int64_t kDepth = 256;          // elements of a slice along k
constexpr std::int64_t kPackedExtent = 8192;  // rows and columns that are packed at a time
constexpr std::int64_t kRowExtent = 512;      // columns for a left operand of one row
// A piece of work: packed, its rows fit the second-level cache and a panel of columns the first.
constexpr std::int64_t kPieceRows = 240;
constexpr std::int64_t kPieceColumns = 512;
constexpr std::int64_t kFewProducts = 32768;  // of which no operand is packed
constexpr int kMatricesPerCheck = 64;         // of so few products
constexpr std::int64_t kThreadingThreshold = std::int64_t{1} << 22;  // products

constexpr std::int64_t quotient_up(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}

/// A matrix in memory. Steps are in bytes.
struct Matrix {
  std::byte* data;
  std::int64_t row_step;
  std::int64_t column_step;

  std::byte* at(std::int64_t row, std::int64_t column) const noexcept {
    return data + row * row_step + column * column_step;
  }
  Matrix transposed() const noexcept { return {data, column_step, row_step}; }
};

/// Strides of axes of extent 1 may be any numbers; as steps they could overflow.
Matrix last_axes(const ArrayView& array) noexcept {
  const auto step = [&array](int axis) {
    return array.shape[axis] == 1 ? 0 : array.strides[axis] * array.dtype.itemsize();
  };
  return {array.data, step(array.ndim - 2), step(array.ndim - 1)};
}

/// Elements [begin, end) along an axis.
struct Range {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const noexcept { return end - begin; }
};
Range range_at(std::int64_t begin, std::int64_t length, std::int64_t end) noexcept {
  return {begin, std::min(begin + length, end)};
}

/// Products of few rows: the right operand is read in place.
struct ProductsInPlace {
  void (*multiply)(const kernels::RowsProduct& call) noexcept;  // nullptr: it has to be packed
  bool is_along;                                                // contiguous along the columns
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t columns;
  bool adds;  // to what is in the result

  ProductsInPlace(const DType& dtype, const Matrix& x2, std::int64_t num_rows, std::int64_t length,
                  std::int64_t num_columns, bool is_few, bool adds_to_result) noexcept
      : multiply(nullptr),
        is_along(x2.column_step == dtype.itemsize()),
        rows(num_rows),
        depth(length),
        columns(num_columns),
        adds(adds_to_result) {
    if (rows > 1 && !is_few) return;
    const kernels::ProductKernels& kernels = kernels::products(dtype.scalar(), rows == 1);
    if (is_along)
      multiply = kernels.multiply_along;
    else if (x2.row_step == dtype.itemsize())
      multiply = kernels.multiply_across;
  }

  bool compute(const Matrix& out, const Matrix& x1, const Matrix& x2,
               const InterruptCheck& interrupt) const noexcept {
    const auto piece = [&](std::int64_t index) {
      const Range part = range_at(index * kPieceColumns, kPieceColumns, columns);
      for (std::int64_t k = 0; k < depth; k += kDepth) {
        multiply({x1.at(0, k), x1.row_step, x1.column_step, x2.at(k, part.begin),
                  is_along ? x2.row_step : x2.column_step, std::min(kDepth, depth - k),
                  out.at(0, part.begin), out.row_step, rows, part.size(), adds || k > 0});
      }
    };
    const bool shares = rows * columns >= kThreadingThreshold / depth;
    return share_work(quotient_up(columns, kPieceColumns), shares ? copy_threads() : 1, interrupt,
                      piece);
  }
};

/// The products of matrices of one shape, with the memory that packing takes.
class Products {
 public:
  /// Throws kMemory.
  Products(const DType& dtype, std::int64_t rows, std::int64_t depth, std::int64_t columns,
           bool adds)
      : kernels_(kernels::products(dtype.scalar(), rows == 1)),
        extent_(rows == 1 ? kRowExtent : kPackedExtent),
        size_(dtype.itemsize()),
        rows_(rows),
        depth_(depth),
        columns_(columns),
        adds_(adds) {
    const std::int64_t slice = std::min(depth, kDepth) * size_;
    const auto packed = [this, slice](std::int64_t extent, std::int64_t width) {
      return quotient_up(std::min(extent, extent_), width) * width * slice;
    };
    const std::int64_t left = packed(rows, kernels_.rows);
    const std::int64_t right = packed(columns, kernels_.columns);
    const std::int64_t slices = std::min(depth, kDepth);
    constexpr auto kOffset = static_cast<std::int64_t>(sizeof(std::int64_t));
    const std::int64_t panels = quotient_up(left + right, kOffset) * kOffset;  // aligns the offsets
    memory_ = new_storage(panels + 2 * slices * kOffset, /*zeroed=*/false);
    left_ = memory_->data();
    right_ = left_ + left;
    left_offsets_ = reinterpret_cast<std::int64_t*>(left_ + panels);
    right_offsets_ = left_offsets_ + slices;
    for (std::int64_t k = 0; k < slices; ++k) {
      left_offsets_[k] = k * kernels_.rows * size_;
      right_offsets_[k] = k * kernels_.columns * size_;
    }
  }

  bool compute(const Matrix& out, const Matrix& x1, const Matrix& x2,
               const InterruptCheck& interrupt) const noexcept {
    for (std::int64_t j = 0; j < columns_; j += extent_) {
      const Range columns = range_at(j, extent_, columns_);
      for (std::int64_t k = 0; k < depth_; k += kDepth) {
        const Range depth = range_at(k, kDepth, depth_);
        pack_right(x2, depth, columns);
        for (std::int64_t i = 0; i < rows_; i += extent_) {
          const Range rows = range_at(i, extent_, rows_);
          pack_left(x1, rows, depth);
          if (!compute_blocks(out, rows, depth, columns, interrupt)) return false;
        }
      }
    }
    return true;
  }

 private:
  /// Packs a panel that is contiguous along the depth; false for others.
  bool transpose(const kernels::Panel& panel, int width,
                 const std::int64_t* offsets) const noexcept {
    if (panel.depth_step != size_ || panel.width_step == size_) return false;
    if (panel.width < width)
      std::memset(panel.to, 0, static_cast<std::size_t>(panel.depth * width * size_));
    kernels::table().transpose[std::countr_zero(static_cast<std::uint64_t>(size_))](
        {panel.to, offsets, panel.from, panel.width_step, panel.width, panel.depth, false});
    return true;
  }

  void pack_left(const Matrix& x1, Range rows, Range depth) const noexcept {
    const std::int64_t panel = kernels_.rows * depth.size() * size_;
    std::byte* to = left_;
    for (std::int64_t i = rows.begin; i < rows.end; i += kernels_.rows, to += panel) {
      const auto width = static_cast<int>(std::min<std::int64_t>(kernels_.rows, rows.end - i));
      const kernels::Panel from{to,    x1.at(i, depth.begin), depth.size(),
                                width, x1.column_step,        x1.row_step};
      if (!transpose(from, kernels_.rows, left_offsets_)) kernels_.pack_left(from);
    }
  }

  void pack_right(const Matrix& x2, Range depth, Range columns) const noexcept {
    const std::int64_t panel = kernels_.columns * depth.size() * size_;
    std::byte* to = right_;
    for (std::int64_t j = columns.begin; j < columns.end; j += kernels_.columns, to += panel) {
      const auto width =
          static_cast<int>(std::min<std::int64_t>(kernels_.columns, columns.end - j));
      const kernels::Panel from{to,    x2.at(depth.begin, j), depth.size(),
                                width, x2.row_step,           x2.column_step};
      if (kernels_.splits_right || !transpose(from, kernels_.columns, right_offsets_))
        kernels_.pack_right(from);
    }
  }

  /// Adds the product of the packed slices to `out`, block by block.
  bool compute_blocks(const Matrix& out, Range rows, Range depth, Range columns,
                      const InterruptCheck& interrupt) const noexcept {
    // Whole panels, so that a block begins with one.
    const std::int64_t piece_rows = kPieceRows / kernels_.rows * kernels_.rows;
    const std::int64_t piece_columns =
        std::max<std::int64_t>(kPieceColumns / kernels_.columns, 1) * kernels_.columns;
    const std::int64_t row_pieces = quotient_up(rows.size(), piece_rows);
    const std::int64_t count = row_pieces * quotient_up(columns.size(), piece_columns);
    const auto piece = [&](std::int64_t index) {
      const std::int64_t i = rows.begin + index % row_pieces * piece_rows;
      const std::int64_t j = columns.begin + index / row_pieces * piece_columns;
      compute_block(out, range_at(i, piece_rows, rows.end), rows.begin, depth,
                    range_at(j, piece_columns, columns.end), columns.begin);
    };
    const bool shares = rows.size() * columns.size() >= kThreadingThreshold / depth.size();
    return share_work(count, shares ? copy_threads() : 1, interrupt, piece);
  }

  /// The slices were packed from `first_row` and `first_column` on.
  void compute_block(const Matrix& out, Range rows, std::int64_t first_row, Range depth,
                     Range columns, std::int64_t first_column) const noexcept {
    const std::int64_t element = depth.size() * size_;  // bytes of a packed row or column
    for (std::int64_t j = columns.begin; j < columns.end; j += kernels_.columns) {
      for (std::int64_t i = rows.begin; i < rows.end; i += kernels_.rows) {
        kernels_.multiply(
            {left_ + (i - first_row) * element, right_ + (j - first_column) * element, depth.size(),
             out.at(i, j), out.row_step,
             static_cast<int>(std::min<std::int64_t>(kernels_.rows, rows.end - i)),
             static_cast<int>(std::min<std::int64_t>(kernels_.columns, columns.end - j)),
             adds_ || depth.begin > 0});
      }
    }
  }

  const kernels::ProductKernels& kernels_;
  std::int64_t extent_;  // rows and columns that are packed at a time
  std::int64_t size_;    // bytes of an element
  std::int64_t rows_;
  std::int64_t depth_;
  std::int64_t columns_;
  bool adds_;  // to what is in the result
  StoragePtr memory_;
  std::byte* left_;
  std::byte* right_;
  std::int64_t* left_offsets_;  // of the elements of a packed row or column
  std::int64_t* right_offsets_;
};

/// The indices of the leading axes of a result, one after the other, and where the operands'
/// matrices are.
class Batch {
 public:
  Batch(const ArrayView& out, const ArrayView& x1, const ArrayView& x2) noexcept
      : ndim_(out.ndim - 2), shape_(out.shape) {
    std::fill_n(index_, ndim_, 0);
    const ArrayView* const arrays[] = {&out, &x1, &x2};
    for (int which = 0; which < 3; ++which) {
      const ArrayView& array = *arrays[which];
      matrices[which] = last_axes(array);
      const int missing = out.ndim - array.ndim;
      for (int axis = 0; axis < ndim_; ++axis) {
        const bool repeats = axis < missing || array.shape[axis - missing] == 1;
        steps_[which][axis] = repeats ? 0 : array.strides[axis - missing] * array.dtype.itemsize();
      }
    }
  }

  /// False after the last index.
  bool advance() noexcept {
    for (int axis = ndim_ - 1; axis >= 0; --axis) {
      const bool wraps = ++index_[axis] == shape_[axis];
      for (int which = 0; which < 3; ++which)
        matrices[which].data += steps_[which][axis] * (wraps ? 1 - shape_[axis] : 1);
      if (!wraps) return true;
      index_[axis] = 0;
    }
    return false;
  }

  Matrix matrices[3];  // of out, x1 and x2

 private:
  int ndim_;
  const std::int64_t* shape_;
  std::int64_t index_[kMaxRank];
  std::int64_t steps_[3][kMaxRank];  // bytes
};

bool multiply(const ArrayView& out, const ArrayView& x1, const ArrayView& x2, bool adds,
              const InterruptCheck& interrupt) {
  if (out.size() == 0) return true;
  const std::int64_t depth = x1.shape[x1.ndim - 1];
  if (depth == 0) {
    if (!adds) std::fill_n(out.data, out.nbytes(), std::byte{0});
    return true;
  }
  std::int64_t rows = out.shape[out.ndim - 2], columns = out.shape[out.ndim - 1];
  // A column is computed as a row. Factors of real numbers may change places.
  const bool is_column = columns == 1 && rows > 1 && !out.dtype.is_complex();
  if (is_column) std::swap(rows, columns);
  Batch batch(out, x1, x2);
  const bool is_few = rows <= kFewProducts / columns && rows * columns <= kFewProducts / depth;
  const auto each = [&](const auto& products) {
    int index = 0;
    do {
      const bool checks = !is_few || ++index % kMatricesPerCheck == 0;
      const InterruptCheck check = checks ? interrupt : InterruptCheck{};
      const auto& [to, left, right] = batch.matrices;
      const bool is_done = is_column ? products.compute(to.transposed(), right.transposed(),
                                                        left.transposed(), check)
                                     : products.compute(to, left, right, check);
      if (!is_done) return false;
    } while (batch.advance());
    return true;
  };
  const Matrix right = is_column ? batch.matrices[1].transposed() : batch.matrices[2];
  const ProductsInPlace in_place(out.dtype, right, rows, depth, columns, is_few, adds);
  return in_place.multiply != nullptr ? each(in_place)
                                      : each(Products(out.dtype, rows, depth, columns, adds));
}

}  // namespace

bool matmul(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
            const InterruptCheck& interrupt) {
  return multiply(out, x1, x2, /*adds=*/false, interrupt);
}

bool add_matmul(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
                const InterruptCheck& interrupt) {
  return multiply(out, x1, x2, /*adds=*/true, interrupt);
}

}  // namespace refarray::core
