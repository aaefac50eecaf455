// Chooses the kernels for a copy or a fill.
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

constexpr std::int64_t kMaxWord = 16;  // bytes of the widest load and store
// words per tile axis, for a tiled transpose to be worth it
constexpr std::int64_t kMinTileExtent = 8;
constexpr std::int64_t kMinPiecewiseRow = 64;  // bytes; shorter rows are not split into pieces

int kernel_for(Kernel family, std::int64_t bytes) noexcept {
  return static_cast<int>(family) + std::countr_zero(static_cast<std::uint64_t>(bytes));
}

/// Contiguous on both sides.
void add_memcpy(DeviceSteps& steps, const DeviceAxes& axes, std::int64_t nbytes) {
  DeviceStep step;
  step.kind = DeviceStep::Kind::kMemcpy;
  step.nbytes = nbytes;
  step.params.dst = axes.dst + static_cast<std::uint64_t>(axes.dst_offset);
  step.params.src = axes.src + static_cast<std::uint64_t>(axes.src_offset);
  steps.push_back(step);
}

void add_words(DeviceSteps& steps, const DeviceAxes& axes, std::int64_t word) {
  Params params;
  params.dst_width = params.src_width = static_cast<std::uint32_t>(word * 8);
  Launches(steps, kernel_for(Kernel::kStrided, word), params, false).words(axes);
}

/// The last axis is contiguous on both sides: rows of bytes.
void add_rows(DeviceSteps& steps, DeviceAxes axes, std::int64_t word) {
  const std::int64_t nbytes = axes.last().extent * word;
  if (axes.count == 1) return add_memcpy(steps, axes, nbytes);
  const std::int64_t aligned =
      std::min(axes.alignment(axes.count - 1, kMaxWord),
               std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(nbytes)));
  if (aligned < 4 && nbytes >= kMinPiecewiseRow && nbytes < kernels::kMaxCount) {
    axes.erase(axes.count - 1);
    return Launches(steps, static_cast<int>(Kernel::kRows), Params{}, false).rows(axes, nbytes);
  }
  axes.last() = {nbytes / aligned, aligned, aligned};
  if (axes.last().extent == 1) axes.erase(axes.count - 1);
  add_words(steps, axes, aligned);
}

/// The extent of a tile axis, including an outer axis that continues it in memory.
std::int64_t tile_extent(const DeviceAxes& axes, const DeviceAxes::Axis& axis,
                         bool in_dst) noexcept {
  const std::int64_t reach = axis.extent * (in_dst ? axis.dst : axis.src);
  for (int i = 0; i < axes.count - 2; ++i) {
    if ((in_dst ? axes.axis[i].dst : axes.axis[i].src) == reach)
      return axis.extent * axes.axis[i].extent;
  }
  return axis.extent;
}

bool is_worth_tiles(const DeviceAxes& axes, std::int64_t word) noexcept {
  if (word > 8) return false;
  const DeviceAxes::Axis& rows = axes.last();
  const DeviceAxes::Axis& columns = axes.axis[axes.count - 2];
  return rows.dst == word && columns.src == word &&
         std::min(tile_extent(axes, rows, true), tile_extent(axes, columns, false)) >=
             kMinTileExtent;
}

void add_moves(DeviceSteps& steps, const Plan& plan) {
  DeviceAxes axes(plan, false);
  std::int64_t word = plan.dst_bits / 8;
  if (plan.pattern == core::Pattern::kRuns) return add_rows(steps, axes, word);
  if (const std::int64_t aligned = axes.alignment(axes.count, kMaxWord); aligned < word) {
    axes.push({word / aligned, aligned, aligned});
    word = aligned;
    return add_words(steps, axes, word);
  }
  if (plan.pattern == core::Pattern::kTiles && is_worth_tiles(axes, word)) {
    Params params;
    params.dst_width = params.src_width = static_cast<std::uint32_t>(word * 8);
    return Launches(steps, kernel_for(Kernel::kTiled, word), params, false).tiles(axes, word);
  }
  // Let neighbouring threads access neighbouring memory on both sides where possible. Of two
  // equally good axes, the host's plan puts the longer one last, which suits one thread.
  const bool should_swap = plan.pattern == core::Pattern::kStrided && axes.count > 1 &&
                           axes.last().dst > axes.axis[axes.count - 2].dst;
  if (plan.pattern == core::Pattern::kDeinterleave || should_swap)
    std::swap(axes.axis[axes.count - 1], axes.axis[axes.count - 2]);
  add_words(steps, axes, word);
}

/// How elements may be loaded or stored: whole if every one is aligned to its size, or to 8 bytes.
Access access_of(const DType& dtype, std::uint64_t address, std::int64_t offset,
                 const DeviceAxes& axes, bool of_dst) noexcept {
  if (dtype.is_packed()) return Access::kBits;
  std::uint64_t all = (address << 3) + static_cast<std::uint64_t>(offset);
  for (int i = 0; i < axes.count; ++i)
    all |= static_cast<std::uint64_t>(of_dst ? axes.axis[i].dst : axes.axis[i].src);
  const auto bits = static_cast<std::uint64_t>(std::min(dtype.stored_bits(), 64));
  return all % bits == 0 ? Access::kAligned : Access::kUnaligned;
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
  Launches(steps, static_cast<int>(Kernel::kCast), params, true).words(axes);
}

/// Copies bit-level elements, some of them packed; elements widened from `src_width` to `dst_width`
/// bits are padded with zeros.
void add_bits(DeviceSteps& steps, const DeviceAxes& axes, bool into_packed, int dst_width,
              int src_width) {
  Params params;
  params.dst_access = into_packed ? Access::kBits : Access::kUnaligned;
  params.dst_width = static_cast<std::uint32_t>(dst_width);
  params.src_width = static_cast<std::uint32_t>(src_width);
  Launches(steps, static_cast<int>(Kernel::kBits), params, true).words(axes);
}

/// Whether every row of packed elements starts at a byte on both sides: all but its last bits can
/// be copied as bytes.
bool is_byte_aligned_rows(const Plan& plan, const DeviceAxes& axes) noexcept {
  const DeviceAxes::Axis& last = axes.last();
  std::int64_t all = axes.dst_offset | axes.src_offset;
  for (int i = 0; i < axes.count - 1; ++i) all |= axes.axis[i].dst | axes.axis[i].src;
  return plan.to.is_packed() && plan.from.is_packed() && all % 8 == 0 &&
         last.dst == plan.dst_bits && last.src == plan.src_bits && last.extent * plan.dst_bits >= 8;
}

void add_packed(DeviceSteps& steps, const Plan& plan) {
  DeviceAxes axes(plan, true);
  const int width = int{plan.to.bits} * int{plan.to.lanes};
  if (!is_byte_aligned_rows(plan, axes)) {
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

/// Broadcast axes of dst (stride 0): any element of src may be the one that remains, so copy one.
ArrayView without_broadcast(ArrayView view, const ArrayView& dst, std::int64_t* shape) noexcept {
  for (int i = 0; i < dst.ndim; ++i) shape[i] = dst.strides[i] == 0 ? 1 : dst.shape[i];
  view.shape = shape;
  return view;
}

/// The `word`-byte part of each element that begins `at` bytes into it. Strides of axes with extent
/// 1 may be arbitrary, and are not multiplied.
ArrayView word_of(ArrayView view, int word, int at, std::int64_t* strides) noexcept {
  const std::int64_t words = view.dtype.itemsize() / word;
  for (int i = 0; i < view.ndim; ++i) strides[i] = view.shape[i] > 1 ? view.strides[i] * words : 0;
  view.strides = strides;
  view.data = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(view.data) +
                                           static_cast<std::uintptr_t>(at));
  view.dtype = word == 16 ? DType{core::Kind::kComplex, 128}
                          : DType{core::Kind::kUInt, static_cast<std::uint8_t>(word * 8)};
  return view;
}

/// Fills `word`-byte words, aligned to their size, with the bytes at `value`; contiguous words are
/// merged into wider ones.
void fill_words(DeviceSteps& steps, const ArrayView& dst, const std::byte* value, int word) {
  const Plan plan(dst, dst);
  DeviceAxes axes(plan, false);
  // the host's plan may have merged short rows into wider words
  std::int64_t wide = plan.dst_bits / 8;
  if (plan.pattern == core::Pattern::kRuns) {
    const std::int64_t nbytes = axes.last().extent * wide;
    wide = std::min(axes.alignment(axes.count - 1, kMaxWord),
                    std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(nbytes)));
    axes.last() = {nbytes / wide, wide, wide};
  } else if (const std::int64_t aligned = axes.alignment(axes.count, kMaxWord); aligned < wide) {
    axes.push({wide / aligned, aligned, aligned});
    wide = aligned;
  }
  Params params;
  params.dst_width = static_cast<std::uint32_t>(wide * 8);
  std::byte pattern[kMaxWord];
  for (int i = 0; i < kMaxWord; ++i) pattern[i] = value[i % word];
  std::memcpy(params.value, pattern, sizeof pattern);
  Launches(steps, kernel_for(Kernel::kFill, wide), params, false).words(axes);
}

void fill_packed(DeviceSteps& steps, const ArrayView& dst, const std::byte* value) {
  const Plan plan(dst, dst);
  Params params;
  params.dst_access = Access::kBits;
  params.dst_width = static_cast<std::uint32_t>(plan.dst_bits);
  std::memcpy(params.value, value, static_cast<std::size_t>(ceil_div(plan.dst_bits, 8)));
  Launches(steps, static_cast<int>(Kernel::kFillBits), params, true).words(DeviceAxes(plan, true));
}

}  // namespace

DeviceSteps plan_device_copy(const ArrayView& dst, const ArrayView& src) {
  DeviceSteps steps;
  if (dst.size() == 0) return steps;
  std::int64_t shape[core::kMaxRank];
  const Plan plan(without_broadcast(dst, dst, shape), without_broadcast(src, dst, shape));
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
  const ArrayView once = without_broadcast(dst, dst, shape);
  if (dst.dtype.is_packed()) {
    fill_packed(steps, once, value);
    return steps;
  }
  const int itemsize = dst.dtype.itemsize();
  const int word =
      static_cast<int>(DeviceAxes(Plan(once, once), false)
                           .alignment(core::kMaxRank, static_cast<std::uint64_t>(itemsize)));
  std::int64_t strides[core::kMaxRank];
  for (int at = 0; at < itemsize; at += word)
    fill_words(steps, word_of(once, word, at, strides), value + at, word);
  return steps;
}

}  // namespace refarray::runtime
