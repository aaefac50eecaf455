// Splits copies that exceed a launch's limits, and fills in each launch's parameters.
#include "runtime/copy/device_launches.hpp"

#include <algorithm>

#include "runtime/kernels/device_rows.hpp"

namespace refarray::runtime {

namespace {

using kernels::Divisor;

/// HIP limits a launch to 2^32 threads.
constexpr std::int64_t kMaxBlocks = (std::int64_t{1} << 32) / kernels::kBlock - 1;

/// Removes from `outer` the axis that continues `axis` in memory, if `axis` is shorter than a tile;
/// an axis of extent 1 if there is none.
DeviceAxes::Axis take_continuing_axis(DeviceAxes& outer, const DeviceAxes::Axis& axis,
                                      std::int64_t tile, bool in_dst) noexcept {
  const std::int64_t reach = axis.extent * (in_dst ? axis.dst : axis.src);
  for (int i = 0; i < outer.count && axis.extent < tile; ++i) {
    const DeviceAxes::Axis one = outer.axis[i];
    if (one.extent == 1 || (in_dst ? one.dst : one.src) != reach) continue;
    outer.erase(i);
    return one;
  }
  return {};
}

}  // namespace

void Launches::words(const DeviceAxes& axes) {
  const std::int64_t count = axes.product(axes.count);
  if (!split(axes, count, [this](const DeviceAxes& part) { words(part); }))
    launch(axes, count, false);
}

void Launches::rows(const DeviceAxes& axes, std::int64_t nbytes) {
  // A row that starts inside a piece also ends inside one.
  const std::int64_t pieces = ceil_div(nbytes, kernels::kPiece) + 1;
  std::int64_t count = 0;
  if (__builtin_mul_overflow(axes.product(axes.count), pieces, &count)) count = INT64_MAX;
  if (split(axes, count, [&](const DeviceAxes& part) { rows(part, nbytes); })) return;
  params_.plane.columns = static_cast<std::uint32_t>(nbytes);
  params_.plane.row_tiles = Divisor(static_cast<std::uint32_t>(pieces));
  launch(axes, count, false);
}

void Launches::tiles(const DeviceAxes& axes, std::int64_t word) {
  const auto [tile_rows, tile_columns] = kernels::tile_shape(word);
  DeviceAxes outer = axes;
  const DeviceAxes::Axis rows = axes.last();
  const DeviceAxes::Axis columns = axes.axis[axes.count - 2];
  outer.erase(outer.count - 1);
  outer.erase(outer.count - 1);
  const DeviceAxes::Axis next_columns = take_continuing_axis(outer, columns, tile_columns, false);
  const DeviceAxes::Axis next_rows = take_continuing_axis(outer, rows, tile_rows, true);
  const std::int64_t all_rows = rows.extent * next_rows.extent;
  const std::int64_t all_columns = columns.extent * next_columns.extent;
  const std::int64_t tiles_down = ceil_div(all_rows, tile_rows);
  const std::int64_t tiles_across = ceil_div(all_columns, tile_columns);
  std::int64_t count = 0;
  if (__builtin_mul_overflow(outer.product(outer.count), tiles_down * tiles_across, &count) ||
      std::max(all_rows, all_columns) >= kernels::kMaxCount || count > kMaxBlocks)
    count = INT64_MAX;
  if (split(axes, count, [&](const DeviceAxes& part) { tiles(part, word); })) return;
  params_.plane = {static_cast<std::uint32_t>(all_rows),
                   static_cast<std::uint32_t>(all_columns),
                   Divisor(static_cast<std::uint32_t>(tiles_down)),
                   Divisor(static_cast<std::uint32_t>(tiles_across)),
                   Divisor(static_cast<std::uint32_t>(rows.extent)),
                   Divisor(static_cast<std::uint32_t>(columns.extent)),
                   rows.src,
                   next_rows.src,
                   columns.dst,
                   next_columns.dst};
  launch(outer, count, true);
}

/// Calls `again` for each part of a copy with too many axes or elements. Returns false if the copy
/// fits one launch.
template <class Again>
bool Launches::split(const DeviceAxes& axes, std::int64_t count, Again again) {
  if (axes.count > kernels::kMaxAxes) {
    int shortest = 0;  // not the last two, which may be the tile's
    for (int i = 1; i < axes.count - 2; ++i) {
      if (axes.axis[i].extent < axes.axis[shortest].extent) shortest = i;
    }
    for (std::int64_t index = 0; index < axes.axis[shortest].extent; ++index) {
      DeviceAxes part = axes;
      part.narrow(shortest, index, 1);
      part.erase(shortest);
      again(part);
    }
    return true;
  }
  if (count < kernels::kMaxCount) return false;
  int longest = 0;
  for (int i = 1; i < axes.count; ++i) {
    if (axes.axis[i].extent > axes.axis[longest].extent) longest = i;
  }
  const std::int64_t half = axes.axis[longest].extent / 2;
  DeviceAxes part = axes;
  part.narrow(longest, 0, half);
  again(part);
  DeviceAxes rest = axes;
  rest.narrow(longest, half, axes.axis[longest].extent - half);
  again(rest);
  return true;
}

void Launches::launch(const DeviceAxes& axes, std::int64_t count, bool is_blocks) {
  const std::int64_t dst = in_bits_ ? axes.dst_offset >> 3 : axes.dst_offset;
  const std::int64_t src = in_bits_ ? axes.src_offset >> 3 : axes.src_offset;
  constexpr std::int64_t kPerBlock = std::int64_t{kernels::kBlock} * kernels::kPerThread;
  DeviceStep step;
  step.kernel = kernel_;
  step.grid = static_cast<std::uint32_t>(is_blocks ? count : ceil_div(count, kPerBlock));
  step.params = params_;
  step.params.dst = axes.dst + static_cast<std::uint64_t>(dst);
  step.params.src = axes.src + static_cast<std::uint64_t>(src);
  if (in_bits_) {
    step.params.dst_bit = static_cast<std::uint8_t>(axes.dst_offset & 7);
    step.params.src_bit = static_cast<std::uint8_t>(axes.src_offset & 7);
  }
  step.params.count = static_cast<std::uint32_t>(count);
  step.params.axes = axes.count;
  for (int i = 0; i < axes.count; ++i) {
    const DeviceAxes::Axis& one = axes.axis[i];
    step.params.axis[i] = {Divisor(static_cast<std::uint32_t>(one.extent)), 0, one.dst, one.src};
  }
  steps_.push_back(step);
}

}  // namespace refarray::runtime
