// Decisions of a reduction, and its pieces that read elements in place or through tiles.
#include "compute/ops/reductions/work.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "compute/kernels_in_use.hpp"
#include "core/copy/walk.hpp"
#include "core/memory/scratch.hpp"

namespace refarray::core {

namespace {

constexpr std::int64_t kTileBytes = 32 << 10;
constexpr std::int64_t kMinColumns = 8;  // fewer outputs are gathered
constexpr std::int64_t kMinLanes = 32;   // outputs whose short sequences are worth a tile
// Bytes of such a sequence; the kernels read longer ones well.
constexpr std::int64_t kShortBytes = 127;
constexpr std::int64_t kShortSearch = 255;

bool is_byte(const DType& dtype) noexcept { return dtype.bits == 8; }

bool only_zero_matters(Reduction operation) noexcept {
  return operation == Reduction::kAll || operation == Reduction::kAny ||
         operation == Reduction::kCountNonzero;
}

kernels::Folding folding_of(Reduction operation) noexcept {
  switch (operation) {
    case Reduction::kAll:
    case Reduction::kMin:
      return kernels::Folding::kMin;
    case Reduction::kAny:
    case Reduction::kMax:
      return kernels::Folding::kMax;
    case Reduction::kCountNonzero:
      return kernels::Folding::kCountNonzero;
    case Reduction::kProd:
      return kernels::Folding::kProduct;
    default:
      return kernels::Folding::kSum;
  }
}

}  // namespace

ReductionWork::ReductionWork(const ArrayView& out, const ArrayView& array,
                             const ReductionCall& call, const DType& work_dtype) noexcept
    : x(array), input(work_dtype), stored(work_dtype) {
  searches = call.operation == Reduction::kArgmax || call.operation == Reduction::kArgmin;
  choose_kernels(call);
  for (int axis = 0; axis < x.ndim; ++axis) {
    if ((call.axes >> axis & 1) != 0)
      reduced.push(x.shape[axis], x.strides[axis], 0);
    else
      kept.push(x.shape[axis], x.strides[axis], out.strides[axis]);
  }
  kept.sort();
  kept.merge();
  reduced.merge();
  outputs = kept.size();
  count = reduced.size();
  choose_access();
}

void ReductionWork::choose_kernels(const ReductionCall& call) noexcept {
  constexpr DType kByte{Kind::kUInt, 8};
  const bool takes_bytes = only_zero_matters(call.operation);
  if (takes_bytes && is_byte(x.dtype)) x.dtype = input = kByte;
  if (takes_bytes)
    stored = call.operation == Reduction::kCountNonzero ? DType{Kind::kInt, 64} : kByte;
  in_size = input.itemsize();
  out_size = searches ? static_cast<int>(sizeof(kernels::Best)) : stored.itemsize();
  const kernels::Folding folding = folding_of(call.operation);
  const bool is_integer = input.kind == Kind::kInt || input.kind == Kind::kUInt;
  is_ordered =
      !is_integer && (folding == kernels::Folding::kSum || folding == kernels::Folding::kProduct);
  const kernels::Reductions& kernels = kernels::operations().reductions;
  if (searches)
    search = kernels.search(call.operation == Reduction::kArgmax, input.scalar());
  else
    fold = kernels.fold(folding, (takes_bytes ? kByte : input).scalar());
}

void ReductionWork::choose_access() noexcept {
  const bool converts = !(x.dtype == input);
  const std::int64_t step = std::abs(reduced.last_from());
  const bool is_columnar = kept.last_extent() >= kMinColumns && std::abs(kept.last_from()) < step;
  block = kernels::kBlockBytes / in_size;
  blocks_per_piece = kernels::kBlocksPerCall;
  const bool is_direct =
      reduced.count <= 1 && !converts && (count == 1 || reduced.last_from() == 1);
  const bool is_short = count * in_size <= (searches ? kShortSearch : kShortBytes) &&
                        count <= kernels::kMaxLaneSearch;
  if (outputs >= kMinLanes && is_short && (searches || (out_size == in_size && !is_columnar))) {
    access = Access::kLanes;
  } else if (is_direct) {
    access = Access::kDirect;
  } else if (is_columnar && !searches && out_size == in_size) {
    access = Access::kColumns;
    blocks_per_piece = 1;
  } else {
    access = Access::kGather;
    if (is_columnar) {  // shorter sequences of more outputs; the order does not matter
      block = 512;
      blocks_per_piece = 16;
    }
  }
}

void ReductionWork::run_piece(std::int64_t first, std::int64_t last, std::int64_t begin,
                              std::int64_t end, std::byte* results) const noexcept {
  if (searches)
    std::fill_n(reinterpret_cast<kernels::Best*>(results), last - first,
                kernels::Best{kernels::kWorstKey, begin});
  switch (access) {
    case Access::kDirect:
      if (means == nullptr) return read_directly(first, last, begin, end, results);
      [[fallthrough]];  // deviations are computed in a tile
    case Access::kGather:
      return read_tiles(first, last, begin, end, results);
    case Access::kLanes:
      return read_lanes(first, last, results);
    case Access::kColumns:
      return reduce_columns(*this, first, last, begin, end, results);
  }
}

void ReductionWork::call_kernel(std::byte* results, const std::byte* in, std::int64_t length,
                                std::int64_t rows, std::int64_t pitch,
                                std::int64_t begin) const noexcept {
  if (searches) {
    auto* const best = reinterpret_cast<kernels::Best*>(results);
    search.search({best, in, length, rows, pitch, begin, search.flip});
  } else {
    fold.fold({results, in, length, rows, pitch, fold.flip});
  }
}

void ReductionWork::read_directly(std::int64_t first, std::int64_t last, std::int64_t begin,
                                  std::int64_t end, std::byte* results) const noexcept {
  each_run(kept, first, last, [&](const Box& run) {
    const std::byte* const in = x.data + (run.from + begin) * in_size;
    call_kernel(results + run.done * out_size, in, end - begin, run.length,
                kept.last_from() * in_size, begin);
  });
}

void ReductionWork::gather(std::int64_t first, std::int64_t last, std::int64_t begin,
                           std::int64_t end, std::byte* tile, std::int64_t output_step,
                           std::int64_t step) const noexcept {
  each_box(kept, first, last, 0, [&](const Box& rows) {
    each_box(reduced, begin, end, 0, [&](const Box& columns) {
      Layout from;
      const auto push = [&from](const StridedAxes& axes, const Box& box) {
        for (int i = box.axis; i < axes.count; ++i)
          from.push(i == box.axis ? box.length : axes.extents[i], axes.from[i]);
      };
      push(kept, rows);
      const int outer = from.ndim;
      push(reduced, columns);
      std::int64_t strides[kMaxRank];
      std::int64_t next = step;
      for (int i = from.ndim - 1; i >= 0; --i) {
        if (i == outer - 1) next = output_step;
        strides[i] = next;
        next *= from.shape[i];
      }
      std::byte* const at = tile + (rows.done * output_step + columns.done * step) * in_size;
      const ArrayView to{nullptr, at, input, 0, false, from.ndim, from.shape, strides};
      const ArrayView source{nullptr,    x.data + (rows.from + columns.from) * x.dtype.itemsize(),
                             x.dtype,    0,
                             false,      from.ndim,
                             from.shape, from.strides};
      walk(Plan(to, source), false);
    });
  });
}

void ReductionWork::read_tiles(std::int64_t first, std::int64_t last, std::int64_t begin,
                               std::int64_t end, std::byte* results) const noexcept {
  // Several blocks fit a tile only if they are whole, so that four outputs have one each.
  constexpr int kMaxPartial = kernels::kBlocksPerCall * 4 * 16;
  const Scratch memory(kTileBytes + kMaxPartial);
  std::byte* const tile = memory.data();
  std::byte* const partial = tile + kTileBytes;
  const std::int64_t width = std::min(block, end - begin);
  const std::int64_t height = std::max<std::int64_t>(kTileBytes / (width * in_size), 1);
  const kernels::Statistics& statistics = kernels::operations().reductions.statistics;
  for (std::int64_t row = first; row < last; row += height) {
    const std::int64_t rows = std::min(height, last - row);
    std::byte* const final_results = results + (row - first) * out_size;
    std::int64_t blocks = 0;
    for (std::int64_t at = begin; at < end; at += width, ++blocks) {
      const std::int64_t length = std::min(width, end - at);
      gather(row, row + rows, at, at + length, tile, length, 1);
      for (std::int64_t i = 0; means != nullptr && i < rows; ++i)
        statistics.deviate(tile + i * length * 8, means + (row + i) * 8, 0, length);
      const bool is_only = searches || end - begin <= width;
      std::byte* const to = is_only ? final_results : partial + blocks * rows * out_size;
      call_kernel(to, tile, length, rows, length * in_size, at);
    }
    if (searches || blocks == 1) continue;
    combine_rows(fold, partial, blocks, rows, out_size);
    std::copy_n(partial, rows * out_size, final_results);
  }
}

/// Reduces whole outputs with one element of several of them in a vector.
void ReductionWork::read_lanes(std::int64_t first, std::int64_t last,
                               std::byte* results) const noexcept {
  const Scratch memory(kTileBytes);
  std::byte* const tile = memory.data();
  const std::int64_t widest = kTileBytes / (count * in_size) / 64 * 64;  // whole cache lines
  const kernels::Statistics& statistics = kernels::operations().reductions.statistics;
  for (std::int64_t at = first; at < last; at += widest) {
    const std::int64_t width = std::min(widest, last - at);
    const std::int64_t pitch = width * in_size;
    gather(at, at + width, 0, count, tile, 1, width);
    for (std::int64_t i = 0; means != nullptr && i < count; ++i)
      statistics.deviate(tile + i * pitch, means + at * 8, 1, width);
    std::byte* const to = results + (at - first) * out_size;
    if (searches) {
      auto* const best = reinterpret_cast<kernels::Best*>(to);
      search.search_lanes({best, tile, count, width, pitch, 0, search.flip});
      continue;
    }
    // The lanes of a block are combined by halves, and each has one element at most.
    for (std::int64_t rows = count; rows > 1;) {
      const auto half = static_cast<std::int64_t>(std::bit_ceil(std::uint64_t(rows)) / 2);
      fold.accumulate({tile, tile, tile + half * pitch, width * (rows - half), 1, 0, 0, fold.flip});
      rows = half;
    }
    std::copy_n(tile, pitch, to);
  }
}

void combine_rows(const kernels::FoldKernels& fold, std::byte* rows_begin, std::int64_t rows,
                  std::int64_t length, int size) noexcept {
  const std::int64_t pitch = length * size;
  for (std::int64_t step = 1; step < rows; step *= 2) {
    const std::int64_t pairs = (rows - step + 2 * step - 1) / (2 * step);
    fold.accumulate({rows_begin, rows_begin, rows_begin + step * pitch, length, pairs,
                     2 * step * pitch, 2 * step * pitch, fold.flip});
  }
}

}  // namespace refarray::core
