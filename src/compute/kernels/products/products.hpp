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

/// The products of an element are added in the order of the depth, beginning with -0.0, each by a
/// fused multiply-add. So the bits depend on no level and no tile.
struct ProductKernels {
  int rows;  // of a tile
  int columns;
  bool splits_right;  // into real and imaginary parts; otherwise packing only moves elements
  void (*pack_left)(const Panel& panel) noexcept;
  void (*pack_right)(const Panel& panel) noexcept;
  void (*multiply)(const ProductTile& tile) noexcept;
};

}  // namespace refarray::core::kernels
