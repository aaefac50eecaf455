// Owns the walk of a transpose in tiles: the rows of a tile are brought near along src's lines,
// turned, and sent away along dst's lines, so that every line of memory is touched once.
#include <algorithm>

#include "core/copy_walk.hpp"

namespace refarray::core {

namespace {

using kernels::Plane;
using kernels::Tile;

constexpr std::int64_t kTileBytes = 16384;  // of src: two such buffers fit L1
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMaxColumns = 256;

class TileWalk {
 public:
  explicit TileWalk(const Walk& walk) noexcept;
  void plane(std::byte* dst, const std::byte* src) noexcept;

 private:
  void tile(std::byte* dst, const std::byte* src, std::int64_t rows, std::int64_t columns) noexcept;
  void land(std::byte* dst, const std::byte* from, std::int64_t pitch, std::int64_t rows,
            std::int64_t columns) noexcept;

  const Walk& walk_;
  std::int64_t unit_;
  std::int64_t rows_, columns_;        // of a plane: along dst's runs, along src's
  std::int64_t src_row_, src_column_;  // bytes from one to the next
  std::int64_t dst_row_, dst_column_;
  std::int64_t tile_rows_, tile_columns_;
  std::int64_t pitch_;                        // of the buffer for src
  bool gathers_;                              // src goes through a buffer
  bool lands_;                                // the turned tile can be written to dst as it is
  std::int64_t offsets_[kMaxColumns];         // of dst's columns
  std::int64_t buffer_offsets_[kMaxColumns];  // of those of the turned tile
  alignas(64) std::byte near_[kTileBytes + kMaxColumns * kLine];
  alignas(64) std::byte turned_[kTileBytes];
};

TileWalk::TileWalk(const Walk& walk) noexcept : walk_(walk) {
  const Plan& plan = walk.plan;
  const int row = plan.ndim - 1;
  const int column = plan.ndim - 2;
  unit_ = plan.src_bits / 8;
  rows_ = plan.shape[row];
  columns_ = plan.shape[column];
  src_row_ = plan.src_strides[row] / 8;
  src_column_ = plan.src_strides[column] / 8;
  dst_row_ = plan.dst_strides[row] / 8;
  dst_column_ = plan.dst_strides[column] / 8;
  tile_rows_ = std::clamp<std::int64_t>(256 / unit_, 16, 64);
  tile_columns_ = std::min(kMaxColumns, kTileBytes / (tile_rows_ * unit_));
  pitch_ = tile_columns_ * unit_ + kLine;
  gathers_ = src_column_ != unit_ || (src_row_ % 1024 == 0 && std::min(rows_, columns_) >= 8);
  lands_ = walk.recipe == nullptr && dst_row_ == unit_;
  for (std::int64_t j = 0; j < tile_columns_; ++j) {
    offsets_[j] = j * dst_column_;
    buffer_offsets_[j] = j * tile_rows_ * unit_;
  }
}

void TileWalk::plane(std::byte* dst, const std::byte* src) noexcept {
  const auto misfit =
      static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(dst) & (kLine - 1));
  // The first tile is shorter, so that the others begin where lines of dst do.
  const bool fits = dst_column_ % kLine == 0 && misfit % unit_ == 0 && misfit != 0;
  const std::int64_t head = fits ? misfit / unit_ : tile_rows_;
  for (std::int64_t j = 0; j < columns_; j += tile_columns_) {
    const std::int64_t columns = std::min(tile_columns_, columns_ - j);
    std::int64_t rows = std::min(head, rows_);
    for (std::int64_t i = 0; i < rows_; i += rows, rows = std::min(tile_rows_, rows_ - i)) {
      tile(dst + i * dst_row_ + j * dst_column_, src + i * src_row_ + j * src_column_, rows,
           columns);
    }
  }
}

void TileWalk::tile(std::byte* dst, const std::byte* src, std::int64_t rows,
                    std::int64_t columns) noexcept {
  if (!gathers_) return land(dst, src, src_row_, rows, columns);
  Plane plane{near_, src, columns, unit_, src_column_, rows, pitch_, src_row_, false};
  if (src_column_ == unit_) {
    plane.count *= unit_;
    walk_.table.rows(plane);
  } else {
    walk_.table.strided[walk_.unit()](plane);
  }
  land(dst, near_, pitch_, rows, columns);
}

void TileWalk::land(std::byte* dst, const std::byte* from, std::int64_t pitch, std::int64_t rows,
                    std::int64_t columns) noexcept {
  const auto transpose = walk_.table.transpose[walk_.unit()];
  if (lands_) {
    const bool streams = walk_.streams && dst_column_ % kLine == 0 &&
                         reinterpret_cast<std::uintptr_t>(dst) % kLine == 0;
    return transpose({dst, offsets_, from, pitch, rows, columns, streams});
  }
  transpose({turned_, buffer_offsets_, from, pitch, rows, columns, false});
  const std::int64_t turned_pitch = tile_rows_ * unit_;
  if (walk_.recipe == nullptr) {
    return walk_.table.strided[walk_.unit()](
        {dst, turned_, rows, dst_row_, unit_, columns, dst_column_, turned_pitch, false});
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    walk_.recipe->apply({dst + j * dst_column_, dst_row_ * 8, 0, walk_.plan.dst.width},
                        {turned_ + j * turned_pitch, unit_ * 8, 0, walk_.plan.src.width}, rows);
  }
}

}  // namespace

void walk_tiles(const Walk& walk) noexcept {
  TileWalk tiles(walk);
  const Plan& plan = walk.plan;
  each_plane(plan, 2, [&](std::int64_t dst, std::int64_t src) {
    tiles.plane(plan.dst.data + dst / 8, plan.src.data + src / 8);
  });
}

}  // namespace refarray::core
