// Owns how a copy that is too large for one launch is cut, and what each launch is given.
#include "runtime/copy/device_launches.hpp"

#include <algorithm>

#include "runtime/kernels/rows.hpp"

namespace refarray::runtime {

namespace {

using kernels::Divisor;

/// HIP counts a launch's threads, blocks by kBlock, in 32 bits.
constexpr std::int64_t kMaxBlocks = (std::int64_t{1} << 32) / kernels::kBlock - 1;

/// Takes out of `outer` the axis that goes on in memory where `axis` ends, if that is before the
/// end of a tile.
DeviceAxes::One take_continuation(DeviceAxes& outer, const DeviceAxes::One& axis, std::int64_t tile,
                                  bool in_dst) noexcept {
  const std::int64_t reach = axis.extent * (in_dst ? axis.dst : axis.src);
  for (int i = 0; i < outer.count && axis.extent < tile; ++i) {
    const DeviceAxes::One one = outer.axis[i];
    if (one.extent == 1 || (in_dst ? one.dst : one.src) != reach) continue;
    outer.erase(i);
    return one;
  }
  return {};
}

}  // namespace

void Launches::units(const DeviceAxes& axes) {
  const std::int64_t count = axes.product(axes.count);
  if (!cut(axes, count, [this](const DeviceAxes& part) { units(part); }))
    launch(axes, count, false);
}

void Launches::rows(const DeviceAxes& axes, std::int64_t nbytes) {
  // A row that begins inside a piece ends inside of one more.
  const std::int64_t pieces = ceil_div(nbytes, kernels::kPiece) + 1;
  std::int64_t count = 0;
  if (__builtin_mul_overflow(axes.product(axes.count), pieces, &count)) count = INT64_MAX;
  if (cut(axes, count, [&](const DeviceAxes& part) { rows(part, nbytes); })) return;
  params_.plane.columns = static_cast<std::uint32_t>(nbytes);
  params_.plane.row_tiles = Divisor(static_cast<std::uint32_t>(pieces));
  launch(axes, count, false);
}

void Launches::tiles(const DeviceAxes& axes, std::int64_t unit) {
  const std::int64_t word = std::max<std::int64_t>(unit, 4);
  const std::int64_t tile_rows = 512 / word;
  const std::int64_t tile_columns = 32 * word / unit;
  DeviceAxes outer = axes;
  const DeviceAxes::One rows = axes.last();
  const DeviceAxes::One columns = axes.axis[axes.count - 2];
  outer.erase(outer.count - 1);
  outer.erase(outer.count - 1);
  const DeviceAxes::One more_columns = take_continuation(outer, columns, tile_columns, false);
  const DeviceAxes::One more_rows = take_continuation(outer, rows, tile_rows, true);
  const std::int64_t all_rows = rows.extent * more_rows.extent;
  const std::int64_t all_columns = columns.extent * more_columns.extent;
  const std::int64_t down = ceil_div(all_rows, tile_rows);
  const std::int64_t across = ceil_div(all_columns, tile_columns);
  std::int64_t count = 0;
  if (__builtin_mul_overflow(outer.product(outer.count), down * across, &count) ||
      std::max(all_rows, all_columns) >= kernels::kMaxCount || count > kMaxBlocks)
    count = INT64_MAX;
  if (cut(axes, count, [&](const DeviceAxes& part) { tiles(part, unit); })) return;
  params_.plane = {static_cast<std::uint32_t>(all_rows),
                   static_cast<std::uint32_t>(all_columns),
                   Divisor(static_cast<std::uint32_t>(down)),
                   Divisor(static_cast<std::uint32_t>(across)),
                   Divisor(static_cast<std::uint32_t>(rows.extent)),
                   Divisor(static_cast<std::uint32_t>(columns.extent)),
                   rows.src,
                   more_rows.src,
                   columns.dst,
                   more_columns.dst};
  launch(outer, count, true);
}

/// Calls `again` for the parts of a copy that has too many units or axes; false: it has not.
template <class Again>
bool Launches::cut(const DeviceAxes& axes, std::int64_t count, Again again) {
  if (axes.count > kernels::kMaxAxes) {
    int shortest = 0;  // of the axes but the last two, which may be those of tiles
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
    const DeviceAxes::One& one = axes.axis[i];
    step.params.axis[i] = {Divisor(static_cast<std::uint32_t>(one.extent)), 0, one.dst, one.src};
  }
  steps_.push_back(step);
}

}  // namespace refarray::runtime
