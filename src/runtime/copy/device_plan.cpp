// Owns which kernel carries out which copy on a device.
#include "runtime/copy/device_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/copy/plan.hpp"
#include "runtime/copy/device_launches.hpp"

namespace refarray::runtime {

namespace {

using core::ArrayView;
using core::DType;
using core::Plan;
using kernels::Access;
using kernels::Kernel;
using kernels::Params;

constexpr std::int64_t kWidest = 16;       // bytes that one instruction moves
constexpr std::int64_t kFewestAcross = 8;  // units from which a tile is worth it
constexpr std::int64_t kShortRow = 64;     // bytes below which a row is not worth pieces

int with_unit(Kernel family, std::int64_t bytes) noexcept {
  return static_cast<int>(family) + std::countr_zero(static_cast<std::uint64_t>(bytes));
}

/// Gapless bytes on both sides.
void add_memcpy(DeviceSteps& steps, const DeviceAxes& axes, std::int64_t nbytes) {
  DeviceStep step;
  step.kind = DeviceStep::Kind::kMemcpy;
  step.nbytes = nbytes;
  step.params.dst = axes.dst + static_cast<std::uint64_t>(axes.dst_offset);
  step.params.src = axes.src + static_cast<std::uint64_t>(axes.src_offset);
  steps.push_back(step);
}

void add_units(DeviceSteps& steps, const DeviceAxes& axes, std::int64_t unit) {
  Params params;
  params.dst_width = params.src_width = static_cast<std::uint32_t>(unit * 8);
  Launches(steps, with_unit(Kernel::kStrided, unit), params, false).units(axes);
}

/// The last axis is gapless on both sides: rows of bytes.
void add_rows(DeviceSteps& steps, DeviceAxes axes, std::int64_t unit) {
  const std::int64_t nbytes = axes.last().extent * unit;
  if (axes.count == 1) return add_memcpy(steps, axes, nbytes);
  const std::int64_t aligned =
      std::min(axes.alignment(axes.count - 1, kWidest),
               std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(nbytes)));
  if (aligned < 4 && nbytes >= kShortRow && nbytes < kernels::kMaxCount) {
    axes.erase(axes.count - 1);
    return Launches(steps, static_cast<int>(Kernel::kRows), Params{}, false).rows(axes, nbytes);
  }
  axes.last() = {nbytes / aligned, aligned, aligned};
  if (axes.last().extent == 1) axes.erase(axes.count - 1);
  add_units(steps, axes, aligned);
}

/// The extent of one of the tiles' axes with what continues it in memory.
std::int64_t extent_across(const DeviceAxes& axes, const DeviceAxes::One& axis,
                           bool in_dst) noexcept {
  const std::int64_t reach = axis.extent * (in_dst ? axis.dst : axis.src);
  for (int i = 0; i < axes.count - 2; ++i) {
    if ((in_dst ? axes.axis[i].dst : axes.axis[i].src) == reach)
      return axis.extent * axes.axis[i].extent;
  }
  return axis.extent;
}

bool is_worth_tiles(const DeviceAxes& axes, std::int64_t unit) noexcept {
  if (unit > 8) return false;
  const DeviceAxes::One& rows = axes.last();
  const DeviceAxes::One& columns = axes.axis[axes.count - 2];
  return rows.dst == unit && columns.src == unit &&
         std::min(extent_across(axes, rows, true), extent_across(axes, columns, false)) >=
             kFewestAcross;
}

void add_moves(DeviceSteps& steps, const Plan& plan) {
  DeviceAxes axes(plan, false);
  std::int64_t unit = plan.dst_bits / 8;
  if (plan.pattern == core::Pattern::kRuns) return add_rows(steps, axes, unit);
  if (const std::int64_t aligned = axes.alignment(axes.count, kWidest); aligned < unit) {
    axes.push({unit / aligned, aligned, aligned});
    unit = aligned;
    return add_units(steps, axes, unit);
  }
  if (plan.pattern == core::Pattern::kTiles && is_worth_tiles(axes, unit)) {
    Params params;
    params.dst_width = params.src_width = static_cast<std::uint32_t>(unit * 8);
    return Launches(steps, with_unit(Kernel::kTiled, unit), params, false).tiles(axes, unit);
  }
  // Neighbouring threads shall share lines of memory on both sides, as far as they can; the host's
  // plan has the longer axis last where both are as good for one thread.
  const bool is_turned = plan.pattern == core::Pattern::kStrided && axes.count > 1 &&
                         axes.last().dst > axes.axis[axes.count - 2].dst;
  if (plan.pattern == core::Pattern::kDeinterleave || is_turned)
    std::swap(axes.axis[axes.count - 1], axes.axis[axes.count - 2]);
  add_units(steps, axes, unit);
}

/// Whether elements of `bytes` bytes lie on multiples of their size, or of 8 bytes.
Access access_of(const DType& dtype, std::uint64_t address, std::int64_t offset,
                 const DeviceAxes& axes, bool of_dst) noexcept {
  if (dtype.is_packed()) return Access::kBits;
  std::uint64_t all = (address << 3) + static_cast<std::uint64_t>(offset);
  for (int i = 0; i < axes.count; ++i)
    all |= static_cast<std::uint64_t>(of_dst ? axes.axis[i].dst : axes.axis[i].src);
  const auto bits = static_cast<std::uint64_t>(std::min(dtype.stored_bits(), 64));
  return all % bits == 0 ? Access::kWhole : Access::kLoose;
}

void add_casts(DeviceSteps& steps, const Plan& plan) {
  const DeviceAxes axes(plan, true);
  Params params;
  params.dst_type = static_cast<std::uint8_t>(plan.to.index());
  params.src_type = static_cast<std::uint8_t>(plan.from.index());
  params.dst_width = static_cast<std::uint32_t>(plan.to.stored_bits());
  params.src_width = static_cast<std::uint32_t>(plan.from.stored_bits());
  params.dst_access = access_of(plan.to, axes.dst, axes.dst_offset, axes, true);
  params.src_access = access_of(plan.from, axes.src, axes.src_offset, axes, false);
  Launches(steps, static_cast<int>(Kernel::kCast), params, true).units(axes);
}

/// Elements of bits, some of them packed: `src_width` bits that become `dst_width` by zeros.
void add_bits(DeviceSteps& steps, const DeviceAxes& axes, bool into_packed, int dst_width,
              int src_width) {
  Params params;
  params.dst_access = into_packed ? Access::kBits : Access::kLoose;
  params.dst_width = static_cast<std::uint32_t>(dst_width);
  params.src_width = static_cast<std::uint32_t>(src_width);
  Launches(steps, static_cast<int>(Kernel::kBits), params, true).units(axes);
}

/// Every row of packed elements begins on a byte, on both sides: all but its last bits are bytes.
bool is_rows_of_bytes(const Plan& plan, const DeviceAxes& axes) noexcept {
  const DeviceAxes::One& last = axes.last();
  std::int64_t all = axes.dst_offset | axes.src_offset;
  for (int i = 0; i < axes.count - 1; ++i) all |= axes.axis[i].dst | axes.axis[i].src;
  return plan.to.is_packed() && plan.from.is_packed() && all % 8 == 0 &&
         last.dst == plan.dst_bits && last.src == plan.src_bits && last.extent * plan.dst_bits >= 8;
}

void add_packed(DeviceSteps& steps, const Plan& plan) {
  DeviceAxes axes(plan, true);
  const int width = int{plan.to.bits} * int{plan.to.lanes};
  if (!is_rows_of_bytes(plan, axes)) {
    add_bits(steps, axes, plan.to.is_packed(), plan.to.is_packed() ? width : plan.dst_bits, width);
    return;
  }
  const std::int64_t row = axes.last().extent * plan.dst_bits;
  DeviceAxes bytes = axes;
  bytes.last() = {row, 8, 8};
  for (int i = 0; i < bytes.count; ++i) {
    bytes.axis[i].dst /= 8;
    bytes.axis[i].src /= 8;
  }
  bytes.dst_offset /= 8;
  bytes.src_offset /= 8;
  bytes.last().extent = row / 8;
  add_rows(steps, bytes, 1);
  if (row % 8 == 0) return;
  axes.dst_offset += row / 8 * 8;
  axes.src_offset += row / 8 * 8;
  axes.erase(axes.count - 1);
  add_bits(steps, axes, true, static_cast<int>(row % 8), static_cast<int>(row % 8));
}

/// Of elements that share memory because a stride of dst is zero, one is as good as another.
ArrayView without_repeats(ArrayView view, const ArrayView& dst, std::int64_t* shape) noexcept {
  for (int i = 0; i < dst.ndim; ++i) shape[i] = dst.strides[i] == 0 ? 1 : dst.shape[i];
  view.shape = shape;
  return view;
}

/// A piece of the element that is `unit` bytes, `at` bytes from its begin.  Where nothing follows
/// along an axis its stride is any number, and none that could be multiplied.
ArrayView part_of(ArrayView view, int unit, int at, std::int64_t* strides) noexcept {
  const std::int64_t units = view.dtype.itemsize() / unit;
  for (int i = 0; i < view.ndim; ++i) strides[i] = view.shape[i] > 1 ? view.strides[i] * units : 0;
  view.strides = strides;
  view.data = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(view.data) +
                                           static_cast<std::uintptr_t>(at));
  view.dtype = unit == 16 ? DType{core::Kind::kComplex, 128}
                          : DType{core::Kind::kUInt, static_cast<std::uint8_t>(unit * 8)};
  return view;
}

/// Fills units of `unit` bytes, on multiples of their size, with the bytes at `value`; as many at
/// once as lie together.
void fill_units(DeviceSteps& steps, const ArrayView& dst, const std::byte* value, int unit) {
  const Plan plan(dst, dst);
  DeviceAxes axes(plan, false);
  std::int64_t wide = plan.dst_bits / 8;  // the planner has made wider units of short rows
  if (plan.pattern == core::Pattern::kRuns) {
    const std::int64_t nbytes = axes.last().extent * wide;
    wide = std::min(axes.alignment(axes.count - 1, kWidest),
                    std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(nbytes)));
    axes.last() = {nbytes / wide, wide, wide};
  } else if (const std::int64_t aligned = axes.alignment(axes.count, kWidest); aligned < wide) {
    axes.push({wide / aligned, aligned, aligned});
    wide = aligned;
  }
  Params params;
  params.dst_width = static_cast<std::uint32_t>(wide * 8);
  std::byte pattern[kWidest];
  for (int i = 0; i < kWidest; ++i) pattern[i] = value[i % unit];
  std::memcpy(params.value, pattern, sizeof pattern);
  Launches(steps, with_unit(Kernel::kFill, wide), params, false).units(axes);
}

void fill_packed(DeviceSteps& steps, const ArrayView& dst, const std::byte* value) {
  const Plan plan(dst, dst);
  Params params;
  params.dst_access = Access::kBits;
  params.dst_width = static_cast<std::uint32_t>(plan.dst_bits);
  std::memcpy(params.value, value, static_cast<std::size_t>(ceil_div(plan.dst_bits, 8)));
  Launches(steps, static_cast<int>(Kernel::kFillBits), params, true).units(DeviceAxes(plan, true));
}

}  // namespace

DeviceSteps plan_device_copy(const ArrayView& dst, const ArrayView& src) {
  DeviceSteps steps;
  if (dst.size() == 0) return steps;
  std::int64_t shape[core::kMaxRank];
  const Plan plan(without_repeats(dst, dst, shape), without_repeats(src, dst, shape));
  if (plan.moves)
    add_moves(steps, plan);
  else if (plan.to.kind == plan.from.kind && plan.to.bits == plan.from.bits)
    add_packed(steps, plan);
  else
    add_casts(steps, plan);
  return steps;
}

bool can_fill(const DType& dtype) noexcept {
  return dtype.is_packed() ? dtype.stored_bits() <= 64 : dtype.itemsize() <= 16;
}

DeviceSteps plan_device_fill(const ArrayView& dst, const std::byte* value) {
  DeviceSteps steps;
  if (dst.size() == 0) return steps;
  std::int64_t shape[core::kMaxRank];
  const ArrayView once = without_repeats(dst, dst, shape);
  if (dst.dtype.is_packed()) {
    fill_packed(steps, once, value);
    return steps;
  }
  const int itemsize = dst.dtype.itemsize();
  const int unit =
      static_cast<int>(DeviceAxes(Plan(once, once), false)
                           .alignment(core::kMaxRank, static_cast<std::uint64_t>(itemsize)));
  std::int64_t strides[core::kMaxRank];
  for (int at = 0; at < itemsize; at += unit)
    fill_units(steps, part_of(once, unit, at, strides), value + at, unit);
  return steps;
}

}  // namespace refarray::runtime
