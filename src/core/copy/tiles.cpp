// Owns the walk of a transpose in tiles: the rows of a tile are brought near along src's lines,
// turned, and sent away along dst's lines, so that every line of memory is touched once.
#include <algorithm>

#include "core/copy/walk.hpp"

namespace refarray::core {

namespace {

using kernels::Plane;
using kernels::Tile;

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kShortRow = 4 * kLine;
constexpr std::int64_t kTileBytes = 16384;  // of src: two such buffers fit L1
constexpr std::int64_t kMaxColumns = 256;
/// Rows whose distance is a multiple of this fall on the same few lines of a cache: they push each
/// other out before they are used up, unless they are brought near at once.
constexpr std::int64_t kConflict = 1024;
/// Bytes from which the lines of the next tile are asked for: fewer are near already.
constexpr std::int64_t kWorthFetching = std::int64_t{2} << 20;

/// One of the two axes of a tile, with what continues it in memory.
struct Side {
  std::int64_t extent;      // of the axis itself
  std::int64_t groups = 1;  // of the axis that continues it
  std::int64_t dst, src;    // bytes from one index to the next
  std::int64_t dst_group = 0, src_group = 0;

  std::int64_t size() const noexcept { return extent * groups; }
  std::int64_t dst_at(std::int64_t i) const noexcept {
    return i % extent * dst + i / extent * dst_group;
  }
  std::int64_t src_at(std::int64_t i) const noexcept {
    return i % extent * src + i / extent * src_group;
  }
};

class TileWalk {
 public:
  explicit TileWalk(const Walk& walk) noexcept;
  void run() noexcept;

 private:
  void fold(Side& side, bool in_src) noexcept;
  std::int64_t to_next_tile() const noexcept;
  void plane(std::byte* dst, const std::byte* src) noexcept;
  void tile(std::byte* dst, const std::byte* src, std::int64_t row, std::int64_t rows,
            std::int64_t columns) noexcept;
  void gather(const std::byte* src, std::int64_t row, std::int64_t rows,
              std::int64_t columns) noexcept;
  void land(std::byte* dst, const std::byte* from, std::int64_t pitch, std::int64_t rows,
            std::int64_t columns) noexcept;

  const Walk& walk_;
  Plan outer_;  // the axes beside the tile; those that were folded into it have extent 1
  std::int64_t unit_;
  Side rows_, columns_;  // along dst's runs, along src's
  std::int64_t tile_rows_, tile_columns_;
  std::int64_t pitch_;                        // of the buffer for src
  std::int64_t ahead_;                        // bytes of src from a tile to the one after it
  bool gathers_;                              // src goes through a buffer
  bool lands_;                                // the turned tile can be written to dst as it is
  std::int64_t offsets_[kMaxColumns];         // of dst's columns
  std::int64_t buffer_offsets_[kMaxColumns];  // of those of the turned tile
  alignas(64) std::byte near_[2 * kTileBytes];
  alignas(64) std::byte turned_[kTileBytes];
};

TileWalk::TileWalk(const Walk& walk) noexcept : walk_(walk), outer_(walk.plan) {
  const Plan& plan = walk.plan;
  const auto side = [&plan](int axis) {
    return Side{plan.shape[axis], 1, plan.dst_strides[axis] / 8, plan.src_strides[axis] / 8};
  };
  unit_ = plan.src_bits / 8;
  rows_ = side(plan.ndim - 1);
  columns_ = side(plan.ndim - 2);
  lands_ = walk.recipe == nullptr && rows_.dst == unit_;
  const bool conflicts = rows_.src % kConflict == 0 && std::min(rows_.extent, columns_.extent) >= 8;
  if (columns_.src == unit_ && columns_.extent * unit_ < kShortRow) fold(columns_, true);
  if (lands_ && rows_.extent * unit_ < kShortRow) fold(rows_, false);
  gathers_ = columns_.src != unit_ || conflicts || rows_.groups > 1 || walk.streams;
  tile_rows_ = std::clamp<std::int64_t>(kShortRow / unit_, 16, 64);
  tile_columns_ = std::min(kMaxColumns, kTileBytes / (tile_rows_ * unit_));
  if (columns_.groups > 1 && columns_.extent < tile_columns_)
    tile_columns_ -= tile_columns_ % columns_.extent;
  pitch_ = tile_columns_ * unit_ + kLine;
  ahead_ = walk.streams || plan.size() * unit_ >= kWorthFetching ? to_next_tile() : 0;
  for (std::int64_t j = 0; j < tile_columns_; ++j) {
    offsets_[j] = columns_.dst_at(j);
    buffer_offsets_[j] = j * tile_rows_ * unit_;
  }
}

/// In src, from a row of a tile to the same row of the one after it.
std::int64_t TileWalk::to_next_tile() const noexcept {
  if (rows_.size() > tile_rows_) return tile_rows_ * rows_.src;
  if (columns_.size() > tile_columns_) return tile_columns_ * columns_.src;
  return outer_.ndim > 2 ? outer_.src_strides[outer_.ndim - 3] / 8 : 0;
}

/// Lets a short side go on with the axis that continues it in src or in dst, if there is one.
void TileWalk::fold(Side& side, bool in_src) noexcept {
  const std::int64_t* const strides = in_src ? outer_.src_strides : outer_.dst_strides;
  const std::int64_t reach = side.extent * unit_ * 8;
  for (int axis = outer_.ndim - 3; axis >= 0 && axis >= outer_.ndim - 4; --axis) {
    if (strides[axis] != reach || outer_.shape[axis] == 1) continue;
    side.groups = outer_.shape[axis];
    side.dst_group = outer_.dst_strides[axis] / 8;
    side.src_group = outer_.src_strides[axis] / 8;
    outer_.shape[axis] = 1;
    return;
  }
}

void TileWalk::run() noexcept {
  each_plane(outer_, 2, [this](std::int64_t dst, std::int64_t src) {
    plane(outer_.dst.data + dst / 8, outer_.src.data + src / 8);
  });
}

void TileWalk::plane(std::byte* dst, const std::byte* src) noexcept {
  const auto misfit =
      static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(dst) & (kLine - 1));
  // The first tile is shorter, so that the others begin where lines of dst do.
  const bool fits = columns_.dst % kLine == 0 && misfit % unit_ == 0 && misfit != 0;
  const std::int64_t head = fits ? misfit / unit_ : tile_rows_;
  const std::int64_t size = rows_.size();
  for (std::int64_t j = 0; j < columns_.size(); j += tile_columns_) {
    const std::int64_t columns = std::min(tile_columns_, columns_.size() - j);
    std::byte* const to = dst + columns_.dst_at(j);
    const std::byte* const from = src + columns_.src_at(j);
    std::int64_t rows = std::min(head, size);
    for (std::int64_t i = 0; i < size; i += rows, rows = std::min(tile_rows_, size - i))
      tile(to + rows_.dst_at(i), from, i, rows, columns);
  }
}

void TileWalk::tile(std::byte* dst, const std::byte* src, std::int64_t row, std::int64_t rows,
                    std::int64_t columns) noexcept {
  if (!gathers_) return land(dst, src + rows_.src_at(row), rows_.src, rows, columns);
  gather(src, row, rows, columns);
  land(dst, near_, pitch_, rows, columns);
}

void TileWalk::gather(const std::byte* src, std::int64_t row, std::int64_t rows,
                      std::int64_t columns) noexcept {
  Plane plane{near_, nullptr, columns, unit_, columns_.src, 0, pitch_, rows_.src, false, ahead_};
  const bool is_gapless = columns_.src == unit_;
  if (is_gapless) plane.count *= unit_;
  const auto kernel = is_gapless ? walk_.table.rows : walk_.table.strided[walk_.unit()];
  while (rows > 0) {
    plane.src = src + rows_.src_at(row);
    plane.rows = std::min(rows, rows_.extent - row % rows_.extent);
    kernel(plane);
    plane.dst += plane.rows * pitch_;
    row += plane.rows;
    rows -= plane.rows;
  }
}

void TileWalk::land(std::byte* dst, const std::byte* from, std::int64_t pitch, std::int64_t rows,
                    std::int64_t columns) noexcept {
  const auto transpose = walk_.table.transpose[walk_.unit()];
  if (lands_) {
    const bool streams = walk_.streams && columns_.dst % kLine == 0 &&
                         columns_.dst_group % kLine == 0 &&
                         reinterpret_cast<std::uintptr_t>(dst) % kLine == 0;
    return transpose({dst, offsets_, from, pitch, rows, columns, streams});
  }
  transpose({turned_, buffer_offsets_, from, pitch, rows, columns, false});
  const std::int64_t turned_pitch = tile_rows_ * unit_;
  if (walk_.recipe == nullptr && columns_.groups == 1) {
    return walk_.table.strided[walk_.unit()](
        {dst, turned_, rows, rows_.dst, unit_, columns, columns_.dst, turned_pitch, false});
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    std::byte* const to = dst + offsets_[j];
    std::byte* const turned = turned_ + j * turned_pitch;
    if (walk_.recipe == nullptr) {
      walk_.table.strided[walk_.unit()]({to, turned, rows, rows_.dst, unit_, 1, 0, 0, false});
    } else {
      walk_.recipe->apply({to, rows_.dst * 8, 0, walk_.plan.dst.width},
                          {turned, unit_ * 8, 0, walk_.plan.src.width}, rows);
    }
  }
}

}  // namespace

void walk_tiles(const Walk& walk) noexcept { TileWalk(walk).run(); }

}  // namespace refarray::core
