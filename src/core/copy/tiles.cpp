// Blocked transpose: load tiles along the cache lines of src, transpose in registers, store along
// the cache lines of dst, so that every line is accessed once.
#include <algorithm>
#include <new>

#include "core/copy/walk.hpp"
#include "core/memory/scratch.hpp"

namespace refarray::core {

namespace {

using kernels::Plane;
using kernels::Tile;

constexpr std::int64_t kLine = 64;  // bytes of a cache line
constexpr std::int64_t kShortRow = 4 * kLine;
constexpr std::int64_t kTileBytes = 16384;  // two buffers of this size fit the L1 cache
constexpr std::int64_t kMaxColumns = 256;
/// Rows at a distance of a multiple of this, in bytes, map to the same few sets of the L1 cache and
/// evict each other. Such tiles are copied to a buffer first.
constexpr std::int64_t kConflictStride = 1024;
/// Copies of at least this many bytes prefetch the next tile; smaller ones are in the cache
/// already.
constexpr std::int64_t kPrefetchThreshold = std::int64_t{2} << 20;

/// One of the two axes of a tile, extended by the axis that continues it in memory, if any.
struct TileAxis {
  std::int64_t extent;      // of the axis itself
  std::int64_t groups = 1;  // extent of the axis that continues it
  std::int64_t dst, src;    // strides in bytes
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
  void append_continuation(TileAxis& tile_axis, bool in_src) noexcept;
  std::int64_t next_tile_distance() const noexcept;
  void walk_plane(std::byte* dst, const std::byte* src) noexcept;
  void walk_tile(std::byte* dst, const std::byte* src, std::int64_t row, std::int64_t rows,
                 std::int64_t columns) noexcept;
  void load_tile(const std::byte* src, std::int64_t row, std::int64_t rows,
                 std::int64_t columns) noexcept;
  void write_tile(std::byte* dst, const std::byte* from, std::int64_t pitch, std::int64_t rows,
                  std::int64_t columns) noexcept;

  const Walk& walk_;
  Plan outer_;               // of the other axes; those appended to a tile axis have extent 1
  std::int64_t word_;        // bytes
  TileAxis rows_, columns_;  // contiguous in dst, and in src
  std::int64_t tile_rows_, tile_columns_;
  std::int64_t pitch_;              // of the buffer for src
  std::int64_t prefetch_distance_;  // bytes of src; 0: no prefetching
  bool buffers_src_;                // src is copied to a buffer first
  bool writes_directly_;            // the kernel transposes into dst, not into a buffer

  struct Buffers {
    std::int64_t offsets[kMaxColumns];         // of the columns in dst
    std::int64_t buffer_offsets[kMaxColumns];  // of the columns in `transposed`
    alignas(64) std::byte src[2 * kTileBytes];
    alignas(64) std::byte transposed[kTileBytes];
  };
  const Scratch memory_{sizeof(Buffers)};
  Buffers& buffers_ = *::new (memory_.data()) Buffers;
};

TileWalk::TileWalk(const Walk& walk) noexcept : walk_(walk), outer_(walk.plan) {
  const Plan& plan = walk.plan;
  const auto tile_axis = [&plan](int axis) {
    return TileAxis{plan.shape[axis], 1, plan.dst_strides[axis] / 8, plan.src_strides[axis] / 8};
  };
  word_ = plan.src_bits / 8;
  rows_ = tile_axis(plan.ndim - 1);
  columns_ = tile_axis(plan.ndim - 2);
  writes_directly_ = walk.conversion == nullptr && rows_.dst == word_;
  const bool conflicts =
      rows_.src % kConflictStride == 0 && std::min(rows_.extent, columns_.extent) >= 8;
  if (columns_.src == word_ && columns_.extent * word_ < kShortRow)
    append_continuation(columns_, true);
  if (writes_directly_ && rows_.extent * word_ < kShortRow) append_continuation(rows_, false);
  buffers_src_ = columns_.src != word_ || conflicts || rows_.groups > 1 || walk.streams;
  tile_rows_ = std::clamp<std::int64_t>(kShortRow / word_, 16, 64);
  tile_columns_ = std::min(kMaxColumns, kTileBytes / (tile_rows_ * word_));
  if (columns_.groups > 1 && columns_.extent < tile_columns_)
    tile_columns_ -= tile_columns_ % columns_.extent;
  pitch_ = tile_columns_ * word_ + kLine;
  prefetch_distance_ =
      walk.streams || plan.size() * word_ >= kPrefetchThreshold ? next_tile_distance() : 0;
  for (std::int64_t j = 0; j < std::min(tile_columns_, columns_.size()); ++j) {
    buffers_.offsets[j] = columns_.dst_at(j);
    buffers_.buffer_offsets[j] = j * tile_rows_ * word_;
  }
}

/// Bytes of src between two consecutive tiles.
std::int64_t TileWalk::next_tile_distance() const noexcept {
  if (rows_.size() > tile_rows_) return tile_rows_ * rows_.src;
  if (columns_.size() > tile_columns_) return tile_columns_ * columns_.src;
  return outer_.ndim > 2 ? outer_.src_strides[outer_.ndim - 3] / 8 : 0;
}

/// Extends a short tile axis by the axis that continues it in src or in dst, if there is one.
void TileWalk::append_continuation(TileAxis& tile_axis, bool in_src) noexcept {
  const std::int64_t* const strides = in_src ? outer_.src_strides : outer_.dst_strides;
  const std::int64_t reach = tile_axis.extent * word_ * 8;
  for (int axis = outer_.ndim - 3; axis >= 0 && axis >= outer_.ndim - 4; --axis) {
    if (strides[axis] != reach || outer_.shape[axis] == 1) continue;
    tile_axis.groups = outer_.shape[axis];
    tile_axis.dst_group = outer_.dst_strides[axis] / 8;
    tile_axis.src_group = outer_.src_strides[axis] / 8;
    outer_.shape[axis] = 1;
    return;
  }
}

void TileWalk::run() noexcept {
  each_plane(outer_, 2, [this](std::int64_t dst, std::int64_t src) {
    walk_plane(outer_.dst.data + dst / 8, outer_.src.data + src / 8);
  });
}

void TileWalk::walk_plane(std::byte* dst, const std::byte* src) noexcept {
  const auto head_bytes =
      static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(dst) & (kLine - 1));
  // A shorter first tile aligns the others to the cache lines of dst.
  const bool aligns = columns_.dst % kLine == 0 && head_bytes % word_ == 0 && head_bytes != 0;
  const std::int64_t head = aligns ? head_bytes / word_ : tile_rows_;
  const std::int64_t size = rows_.size();
  for (std::int64_t j = 0; j < columns_.size(); j += tile_columns_) {
    const std::int64_t columns = std::min(tile_columns_, columns_.size() - j);
    std::byte* const to = dst + columns_.dst_at(j);
    const std::byte* const from = src + columns_.src_at(j);
    std::int64_t rows = std::min(head, size);
    for (std::int64_t i = 0; i < size; i += rows, rows = std::min(tile_rows_, size - i))
      walk_tile(to + rows_.dst_at(i), from, i, rows, columns);
  }
}

void TileWalk::walk_tile(std::byte* dst, const std::byte* src, std::int64_t row, std::int64_t rows,
                         std::int64_t columns) noexcept {
  if (!buffers_src_) return write_tile(dst, src + rows_.src_at(row), rows_.src, rows, columns);
  load_tile(src, row, rows, columns);
  write_tile(dst, buffers_.src, pitch_, rows, columns);
}

void TileWalk::load_tile(const std::byte* src, std::int64_t row, std::int64_t rows,
                         std::int64_t columns) noexcept {
  Plane plane{buffers_.src, nullptr, columns,           word_, columns_.src, 0, pitch_,
              rows_.src,    false,   prefetch_distance_};
  const bool is_contiguous = columns_.src == word_;
  if (is_contiguous) plane.count *= word_;
  const auto kernel = is_contiguous ? walk_.table.rows : walk_.table.strided[walk_.word_index()];
  while (rows > 0) {
    plane.src = src + rows_.src_at(row);
    plane.rows = std::min(rows, rows_.extent - row % rows_.extent);
    kernel(plane);
    plane.dst += plane.rows * pitch_;
    row += plane.rows;
    rows -= plane.rows;
  }
}

void TileWalk::write_tile(std::byte* dst, const std::byte* from, std::int64_t pitch,
                          std::int64_t rows, std::int64_t columns) noexcept {
  const auto transpose = walk_.table.transpose[walk_.word_index()];
  if (writes_directly_) {
    const bool streams = walk_.streams && columns_.dst % kLine == 0 &&
                         columns_.dst_group % kLine == 0 &&
                         reinterpret_cast<std::uintptr_t>(dst) % kLine == 0;
    return transpose({dst, buffers_.offsets, from, pitch, rows, columns, streams});
  }
  transpose({buffers_.transposed, buffers_.buffer_offsets, from, pitch, rows, columns, false});
  const std::int64_t transposed_pitch = tile_rows_ * word_;
  if (walk_.conversion == nullptr && columns_.groups == 1) {
    return walk_.table.strided[walk_.word_index()]({dst, buffers_.transposed, rows, rows_.dst,
                                                    word_, columns, columns_.dst, transposed_pitch,
                                                    false});
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    std::byte* const to = dst + buffers_.offsets[j];
    std::byte* const column = buffers_.transposed + j * transposed_pitch;
    if (walk_.conversion == nullptr) {
      walk_.table.strided[walk_.word_index()]({to, column, rows, rows_.dst, word_, 1, 0, 0, false});
    } else {
      walk_.conversion->apply({to, rows_.dst * 8, 0, walk_.plan.dst.width},
                              {column, word_ * 8, 0, walk_.plan.src.width}, rows);
    }
  }
}

}  // namespace

void walk_tiles(const Walk& walk) noexcept { TileWalk(walk).run(); }

}  // namespace refarray::core
