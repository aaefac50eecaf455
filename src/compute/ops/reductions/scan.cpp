// scan(): sharing running sums and products among groups of sequences, in place or through tiles.
#include <algorithm>
#include <cstdlib>

#include "compute/kernels_in_use.hpp"
#include "compute/ops/reductions/reduce.hpp"
#include "compute/ops/reductions/strided_axes.hpp"
#include "core/copy/copy.hpp"
#include "core/copy/walk.hpp"
#include "core/memory/scratch.hpp"

namespace refarray::core {

namespace {

constexpr std::int64_t kTileBytes = 32 << 10;
constexpr std::int64_t kCarryBytes = 2048;         // of the sequences that are scanned together
constexpr std::int64_t kChunkBytes = 1 << 20;      // between two checks for an interrupt
constexpr std::int64_t kLongGroupBytes = 8 << 20;  // more is interrupted within a group

/// The stride of an axis; 0 if it has one element, since any number may be its stride.
std::int64_t step_of(const ArrayView& array, int axis) noexcept {
  return array.shape[axis] == 1 ? 0 : array.strides[axis];
}

/// A scan with its decisions: sequences are the indices of the other axes.
class ScanWork {
 public:
  ScanWork(const ArrayView& out, const ArrayView& x, int axis, bool product) noexcept
      : out_(out),
        x_(x),
        work_(accumulator_dtype(out.dtype)),
        size_(work_.itemsize()),
        kernel_(kernels::operations().reductions.scan(product, work_.scalar())),
        is_direct_(x.dtype == work_ && out.dtype == work_),
        count_(x.shape[axis]),
        in_step_(step_of(x, axis)),
        out_step_(step_of(out, axis)) {
    for (int i = 0; i < x.ndim; ++i)
      if (i != axis) others_.push(x.shape[i], x.strides[i], out.strides[i]);
    others_.sort();
    others_.merge();
    is_columnar_ = others_.count > 0 && std::abs(others_.last_from()) < std::abs(in_step_);
  }

  bool run(const InterruptCheck& interrupt) const noexcept {
    const std::int64_t sequences = others_.size();
    const std::int64_t length = std::min(group(), sequences);
    const std::int64_t groups = (sequences + length - 1) / length;
    const std::int64_t group_bytes = length * count_ * size_;
    if (group_bytes > kLongGroupBytes) {
      for (std::int64_t i = 0; i < groups; ++i)
        if (!scan_group(i * length, std::min((i + 1) * length, sequences), interrupt)) return false;
      return true;
    }
    return share_work(groups, threads_for(groups * group_bytes), interrupt, [&](std::int64_t i) {
      scan_group(i * length, std::min((i + 1) * length, sequences), {});
    });
  }

 private:
  /// Sequences that are scanned together: along rows as many as a chunk has room for, along columns
  /// as many as are adjacent in memory, and in a tile so few that each has 64 elements or more.
  std::int64_t group() const noexcept {
    const std::int64_t most = kCarryBytes / size_;
    if (!is_direct_) return std::min(most, kTileBytes / size_ / 64);
    if (is_columnar_) return most;
    return std::clamp<std::int64_t>(kChunkBytes / size_ / count_, 4, most);
  }
  std::int64_t chunk(std::int64_t sequences) const noexcept {
    return std::max<std::int64_t>((is_direct_ ? kChunkBytes : kTileBytes) / (sequences * size_), 1);
  }

  /// Scans the sequences [first, last). False if interrupted.
  bool scan_group(std::int64_t first, std::int64_t last,
                  const InterruptCheck& interrupt) const noexcept {
    alignas(64) std::byte carry[kCarryBytes];
    const std::int64_t step = chunk(last - first);
    for (std::int64_t begin = 0; begin < count_; begin += step) {
      const std::int64_t length = std::min(step, count_ - begin);
      if (is_direct_)
        scan_in_place(first, last, begin, length, carry);
      else
        scan_tile(first, last, begin, length, carry);
      if (begin + length < count_ && interrupt()) return false;
    }
    return true;
  }

  void scan_in_place(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t length,
                     std::byte* carry) const noexcept {
    each_run(others_, first, last, [&](const Box& run) {
      const std::int64_t out_pitch = others_.count == 0 ? 0 : others_.to[others_.count - 1];
      kernel_({out_.data + (run.to + begin * out_step_) * size_,
               x_.data + (run.from + begin * in_step_) * size_, length, out_step_ * size_,
               in_step_ * size_, run.length, out_pitch * size_, others_.last_from() * size_,
               carry + run.done * size_, begin == 0});
    });
  }

  void scan_tile(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t length,
                 std::byte* carry) const noexcept {
    const Scratch memory(kTileBytes);
    std::byte* const tile = memory.data();
    const std::int64_t rows = last - first;
    const std::int64_t step = is_columnar_ ? rows : 1;
    const std::int64_t pitch = is_columnar_ ? 1 : length;
    move_tile(first, last, begin, length, tile, true);
    kernel_({tile, tile, length, step * size_, step * size_, rows, pitch * size_, pitch * size_,
             carry, begin == 0});
    move_tile(first, last, begin, length, tile, false);
  }

  /// Copies elements of the sequences to the tile, or its elements to the result.
  void move_tile(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t length,
                 std::byte* tile, bool fills) const noexcept {
    each_box(others_, first, last, 0, [&](const Box& box) {
      const std::int64_t step = is_columnar_ ? last - first : 1;
      const std::int64_t pitch = is_columnar_ ? 1 : length;
      Layout array;
      std::int64_t strides[kMaxRank];
      for (int i = box.axis; i < others_.count; ++i)
        array.push(i == box.axis ? box.length : others_.extents[i],
                   fills ? others_.from[i] : others_.to[i]);
      std::int64_t next = pitch;
      for (int i = array.ndim - 1; i >= 0; --i) {
        strides[i] = next;
        next *= array.shape[i];
      }
      strides[array.ndim] = step;
      array.push(length, fills ? in_step_ : out_step_);
      const ArrayView& whole = fills ? x_ : out_;
      const std::int64_t offset = fills ? box.from + begin * in_step_ : box.to + begin * out_step_;
      const ArrayView part{nullptr,     whole.data + offset * whole.dtype.itemsize(),
                           whole.dtype, 0,
                           false,       array.ndim,
                           array.shape, array.strides};
      const ArrayView here{
          nullptr, tile + box.done * pitch * size_, work_, 0, false, array.ndim, array.shape,
          strides};
      walk(fills ? Plan(here, part) : Plan(part, here), false);
    });
  }

  const ArrayView& out_;
  const ArrayView& x_;
  const DType work_;
  const int size_;
  const kernels::ScanKernel kernel_;
  const bool is_direct_;
  const std::int64_t count_;
  const std::int64_t in_step_;  // elements
  const std::int64_t out_step_;
  bool is_columnar_;
  StridedAxes others_;
};

/// Writes the result of no elements to index 0 of the axis.
bool write_initial(const ArrayView& out, int axis, bool product, const InterruptCheck& interrupt) {
  Layout layout(out.extents(), out.stride_span());
  layout.shape[axis] = 1;
  const std::int64_t strides[kMaxRank] = {};
  std::uint8_t value = product ? 1 : 0;
  ArrayView to = out;
  to.shape = layout.shape;
  return copy(to,
              {nullptr,
               reinterpret_cast<std::byte*>(&value),
               {Kind::kUInt, 8},
               0,
               true,
               out.ndim,
               layout.shape,
               strides},
              interrupt);
}

}  // namespace

DType accumulator_dtype(const DType& dtype) noexcept {
  if (dtype.kind == Kind::kInt || dtype.kind == Kind::kUInt) return {dtype.kind, 64};
  return dtype.bits == 16 ? DType{Kind::kFloat, 32} : dtype;
}

bool scan(const ArrayView& out, const ArrayView& x, int axis, Reduction operation,
          const InterruptCheck& interrupt) {
  const bool product = operation == Reduction::kCumulativeProd;
  if (out.shape[axis] == x.shape[axis])
    return x.size() == 0 || ScanWork(out, x, axis, product).run(interrupt);
  if (out.size() != 0 && !write_initial(out, axis, product, interrupt)) return false;
  if (x.size() == 0) return true;
  ArrayView rest = out;
  rest.shape = x.shape;
  rest.data += out.strides[axis] * out.dtype.itemsize();
  return ScanWork(rest, x, axis, product).run(interrupt);
}

}  // namespace refarray::core
