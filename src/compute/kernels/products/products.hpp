// Kernels of matrix products, by dtype: they pack panels of the operands and compute tiles.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refarray::core::kernels {

/// Some rows of the left operand, or columns of the right one. A packed panel has, for each index
/// of the depth, one element of each row (column); missing ones are zeros.
struct Panel {
  std::byte* to;
  const std::byte* from;
  std::int64_t depth;
  int width;                // rows (columns), at most ProductKernels::rows (columns)
  std::int64_t depth_step;  // bytes; may be zero or negative, as may the next
  std::int64_t width_step;
};

/// A tile of the result: the product of two packed panels.
struct ProductTile {
  const std::byte* left;
  const std::byte* right;
  std::int64_t depth;
  std::byte* out;
  std::int64_t row_pitch;  // bytes; the elements of a row are contiguous
  int rows;                // that are stored
  int columns;
  bool adds;  // to what is in `out`
};

/// Few rows of the left operand, and columns of the right one, which is read in place. Steps and
/// pitches are in bytes.
struct RowsProduct {
  const std::byte* left;
  std::int64_t left_pitch;  // from one row to the next
  std::int64_t left_step;   // along the depth
  const std::byte* right;
  std::int64_t right_pitch;  // along the axis that is not contiguous
  std::int64_t depth;
  std::byte* out;
  std::int64_t out_pitch;  // the elements of a row are contiguous
  std::int64_t rows;
  std::int64_t columns;
  bool adds;  // to what is in `out`
};

/// The products of an element are added in the order of the depth, beginning with -0.0, each by a
/// fused multiply-add. So the bits depend on no level and no tile.
struct ProductKernels {
  int rows;  // of a tile
  int columns;
  bool splits_right;  // into real and imaginary parts; otherwise packing only moves elements
  void (*pack_left)(const Panel& panel) noexcept;
  void (*pack_right)(const Panel& panel) noexcept;
  void (*multiply)(const ProductTile& tile) noexcept;
  /// The right operand is contiguous along the columns; along the depth. nullptr: it is packed.
  void (*multiply_along)(const RowsProduct& call) noexcept;
  void (*multiply_across)(const RowsProduct& call) noexcept;
};

}  // namespace refarray::core::kernels
