// Reductions along outer axes: rows of elements are combined with rows of accumulators.
#include <algorithm>

#include "compute/kernels_in_use.hpp"
#include "compute/ops/reductions/work.hpp"
#include "core/copy/conversion_chain.hpp"
#include "core/kernels/table.hpp"
#include "core/memory/scratch.hpp"

namespace refarray::core {

namespace {

/// A strip of adjacent outputs, and one block of their elements. The lanes of the block are
/// computed one after the other, and combined as soon as both of a pair are known: that takes a row
/// of accumulators for each halving of the lanes, which fit the L1 cache together.
class Strip {
 public:
  Strip(const ReductionWork& work, std::int64_t begin, std::int64_t end) noexcept
      : work_(work),
        table_(kernels::table()),
        chain_(work.input, work.x.dtype, table_),
        in_place_(work.x.dtype == work.input && work.kept.last_from() == 1 &&
                  work.means == nullptr),
        lanes_(work.is_ordered ? kernels::kRowBytes / work.in_size : 1),
        begin_(begin),
        count_(end - begin) {}

  /// Reduces `width` outputs into `results`. `output` is the index of the first one, and `from` the
  /// offset of its element 0.
  void reduce(std::int64_t output, std::int64_t from, std::int64_t width,
              std::byte* results) noexcept {
    output_ = output;
    from_ = from;
    width_ = width;
    combine_lanes(results, 0, 1, 0);
  }

 private:
  /// Combines the lanes `first`, `first + step`, `first + 2 * step`, ... by halves.
  [[gnu::noinline]] void combine_lanes(std::byte* out, std::int64_t first, std::int64_t step,
                                       int depth) noexcept {
    if (step == lanes_) return combine_rows_of(out, first);
    if (2 * step == lanes_ && first + lanes_ >= count_ && first + step < count_ && in_place_)
      return accumulate_row(out, row_at(first), row_at(first + step));  // a row each
    combine_lanes(out, first, 2 * step, depth + 1);
    const std::int64_t other = first + step;
    if (other >= count_) return;
    if (2 * step == lanes_ && other + lanes_ >= count_ && in_place_)
      return accumulate(out, out, other, 1);
    std::byte* const row = rows_ + depth * kStripBytes;
    combine_lanes(row, other, 2 * step, depth + 1);
    accumulate_row(out, out, row);
  }

  /// Combines the rows of one lane.
  void combine_rows_of(std::byte* out, std::int64_t lane) noexcept {
    const std::int64_t rows = (count_ - lane + lanes_ - 1) / lanes_;
    if (!in_place_) {
      stage(out, lane);
      for (std::int64_t row = 1; row < rows; ++row) {
        stage(staged_, lane + row * lanes_);
        accumulate_row(out, out, staged_);
      }
      return;
    }
    if (rows == 1)
      std::copy_n(row_at(lane), width_ * work_.in_size, out);
    else
      accumulate(out, row_at(lane), lane + lanes_, rows - 1);
  }

  /// Combines `acc` with `rows` rows, `lanes_` rows from one to the next.
  void accumulate(std::byte* out, const std::byte* acc, std::int64_t row,
                  std::int64_t rows) const noexcept {
    if (work_.reduced.count == 1) {
      const std::int64_t pitch = lanes_ * work_.reduced.last_from() * work_.in_size;
      work_.fold.accumulate({out, acc, row_at(row), width_, rows, 0, pitch, work_.fold.flip});
      return;
    }
    for (std::int64_t i = 0; i < rows; ++i, acc = out)
      accumulate_row(out, acc, row_at(row + i * lanes_));
  }

  void accumulate_row(std::byte* out, const std::byte* acc, const std::byte* in) const noexcept {
    work_.fold.accumulate({out, acc, in, width_, 1, 0, 0, work_.fold.flip});
  }

  const std::byte* row_at(std::int64_t row) const noexcept {
    std::int64_t offset = from_;
    std::int64_t rest = begin_ + row;
    for (int axis = work_.reduced.count - 1; axis > 0; --axis) {
      offset += rest % work_.reduced.extents[axis] * work_.reduced.from[axis];
      rest /= work_.reduced.extents[axis];
    }
    if (work_.reduced.count > 0) offset += rest * work_.reduced.from[0];
    return work_.x.data + offset * work_.x.dtype.itemsize();
  }

  /// Converts one row.
  void stage(std::byte* to, std::int64_t row) const noexcept {
    const int bits = work_.x.dtype.stored_bits();
    chain_.apply({to, work_.in_size * 8, 0, work_.in_size * 8},
                 {const_cast<std::byte*>(row_at(row)), work_.kept.last_from() * bits, 0, bits},
                 width_);
    if (work_.means != nullptr)
      kernels::operations().reductions.statistics.deviate(to, work_.means + output_ * 8, 1, width_);
  }

  const ReductionWork& work_;
  const kernels::Table& table_;
  const ConversionChain chain_;
  const bool in_place_;
  const std::int64_t lanes_;
  const std::int64_t begin_;
  const std::int64_t count_;
  std::int64_t output_ = 0;
  std::int64_t from_ = 0;
  std::int64_t width_ = 0;
  static constexpr int kHalvings = 6;  // of 64 lanes
  const Scratch memory_{(kHalvings + 1) * kStripBytes};
  std::byte* const rows_ = memory_.data();  // one of accumulators for each halving
  std::byte* const staged_ = rows_ + kHalvings * kStripBytes;
};

}  // namespace

void reduce_columns(const ReductionWork& work, std::int64_t first, std::int64_t last,
                    std::int64_t begin, std::int64_t end, std::byte* results) noexcept {
  Strip strip(work, begin, end);
  const std::int64_t widest = kStripBytes / work.in_size;
  each_run(work.kept, first, last, [&](const Box& run) {
    for (std::int64_t done = 0; done < run.length; done += widest) {
      strip.reduce(first + run.done + done, run.from + done * work.kept.last_from(),
                   std::min(widest, run.length - done),
                   results + (run.done + done) * work.out_size);
    }
  });
}

}  // namespace refarray::core
