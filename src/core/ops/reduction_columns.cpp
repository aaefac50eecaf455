// Reductions along outer axes: rows of elements are combined with rows of accumulators, one for
// each lane of a block.
#include <algorithm>

#include "core/copy/conversion_chain.hpp"
#include "core/kernels/table.hpp"
#include "core/ops/reduction_work.hpp"

namespace refarray::core {

namespace {

/// Accumulators of the order-preserving reductions: as many rows as a block has lanes.
constexpr int kMaxAccumulators = 64;

/// A strip of adjacent outputs, as wide as kRowBytes.
class Strip {
 public:
  explicit Strip(const ReductionWork& work) noexcept
      : work_(work),
        table_(kernels::table()),
        chain_(work.input, work.x.dtype, table_),
        in_place_(work.x.dtype == work.input && work.kept.last_from() == 1 &&
                  work.means == nullptr),
        lanes_(std::min(kernels::kRowBytes / work.in_size, kMaxAccumulators)) {}

  /// Reduces the elements [begin, end) of `width` outputs into `results`. `output` is the index of
  /// the first one, and `from` the offset of its element 0.
  void reduce(std::int64_t output, std::int64_t from, std::int64_t width, std::int64_t begin,
              std::int64_t end, std::byte* results) noexcept {
    alignas(64) std::byte blocks[4 * kernels::kRowBytes];
    std::int64_t done = 0;
    output_ = output;
    width_ = width;
    for (std::int64_t at = begin; at < end; at += work_.block, ++done) {
      reduce_block(from, at, std::min(end, at + work_.block));
      std::copy_n(accumulators_, width * work_.in_size, blocks + done * width * work_.in_size);
    }
    combine_rows(work_.fold, blocks, done, width, work_.in_size);
    std::copy_n(blocks, width * work_.in_size, results);
  }

 private:
  void reduce_block(std::int64_t from, std::int64_t begin, std::int64_t end) noexcept {
    each_run(work_.reduced, begin, end, [&](const Box& run) {
      const std::int64_t step = work_.reduced.last_from();
      for (std::int64_t done = 0; done < run.length;) {
        const std::int64_t lane = (run.done + done) % lanes_;
        const std::int64_t rows = std::min(run.length - done, lanes_ - lane);
        const bool is_first = run.done + done < lanes_;
        combine(from + run.from + done * step, rows, lane, is_first);
        done += rows;
      }
    });
    std::int64_t active = std::min(end - begin, lanes_);
    for (std::int64_t half = lanes_ / 2; half > 0; half /= 2) {
      if (active <= half) continue;
      work_.fold.accumulate({accumulators_, accumulators_ + half * kPitch, width_, active - half,
                             kPitch, kPitch, work_.fold.flip});
      active = half;
    }
  }

  /// Combines rows of elements, the first at `from`, with the accumulators from `lane` on.
  void combine(std::int64_t from, std::int64_t rows, std::int64_t lane, bool is_first) noexcept {
    std::byte* const acc = accumulators_ + lane * kPitch;
    const std::int64_t step = work_.reduced.last_from();
    const std::int64_t pitch = step * work_.x.dtype.itemsize();
    const std::byte* const in = work_.x.data + from * work_.x.dtype.itemsize();
    if (in_place_ && is_first) {
      table_.rows({acc, in, width_ * work_.in_size, 0, 0, rows, kPitch, pitch, false});
    } else if (in_place_) {
      accumulate(acc, in, rows, pitch);
    } else {
      std::byte* const to = is_first ? acc : staged_;
      for (std::int64_t row = 0; row < rows; ++row) stage(to + row * kPitch, in + row * pitch);
      if (!is_first) accumulate(acc, staged_, rows, kPitch);
    }
  }

  void accumulate(std::byte* acc, const std::byte* in, std::int64_t rows,
                  std::int64_t pitch) const noexcept {
    work_.fold.accumulate({acc, in, width_, rows, kPitch, pitch, work_.fold.flip});
  }

  /// Converts one row.
  void stage(std::byte* to, const std::byte* in) const noexcept {
    const int bits = work_.x.dtype.stored_bits();
    chain_.apply({to, work_.in_size * 8, 0, work_.in_size * 8},
                 {const_cast<std::byte*>(in), work_.kept.last_from() * bits, 0, bits}, width_);
    if (work_.means != nullptr)
      table_.operations->reductions.statistics.deviate(to, work_.means + output_ * 8, 1, width_);
  }

  static constexpr std::int64_t kPitch = kernels::kRowBytes;

  const ReductionWork& work_;
  const kernels::Table& table_;
  const ConversionChain chain_;
  const bool in_place_;
  const std::int64_t lanes_;
  std::int64_t output_ = 0;
  std::int64_t width_ = 0;
  alignas(64) std::byte accumulators_[kMaxAccumulators * kernels::kRowBytes];
  alignas(64) std::byte staged_[kMaxAccumulators * kernels::kRowBytes];
};

}  // namespace

void reduce_columns(const ReductionWork& work, std::int64_t first, std::int64_t last,
                    std::int64_t begin, std::int64_t end, std::byte* results) noexcept {
  Strip strip(work);
  const std::int64_t widest = kernels::kRowBytes / work.in_size;
  each_run(work.kept, first, last, [&](const Box& run) {
    for (std::int64_t done = 0; done < run.length; done += widest) {
      const std::int64_t width = std::min(widest, run.length - done);
      strip.reduce(first + run.done + done, run.from + done * work.kept.last_from(), width, begin,
                   end, results + (run.done + done) * work.out_size);
    }
  });
}

}  // namespace refarray::core
