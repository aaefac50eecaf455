// Owns how a copy is described before it runs: runs of elements, the kernels that move one run, and
// the coalesced plan.
#pragma once

#include <cstddef>
#include <cstdint>

#include "refarray/core/array.hpp"

namespace refarray::core {

/// Elements at equal distances. Distances are in BITS throughout a plan, so that packed types need
/// no second path.
struct Run {
  std::byte* data = nullptr;
  std::int64_t stride = 0;  // bits from one element to the next
  int bit = 0;    // 0..7: where in data[0] the first element begins; 0 unless the type is packed
  int width = 0;  // bits of one element that carry its value

  Run at(std::int64_t bits) const noexcept {
    const std::int64_t position = bit + bits;
    return {data + (position >> 3), stride, static_cast<int>(position & 7), width};
  }
};

/// Moves `count` >= 1 elements of one run. The two runs share no memory, unless move_kernel says
/// otherwise.
using Kernel = void (*)(const Run& dst, const Run& src, std::int64_t count) noexcept;

/// For equal kind, bits and lanes; packed and padded forms may differ. When both runs are gapless
/// and not packed they may overlap.
Kernel move_kernel(const DType& to, const DType& from) noexcept;

/// From one scalar type, stored in whole bytes, to another: rows of kScalars. nullptr when there is
/// no direct way.
Kernel cast_kernel(int to, int from) noexcept;

/// What happens to each run: up to four kernels, with buffers of kChunk elements between them.
class Recipe {
 public:
  /// Nothing can_convert refuses may be asked for.
  Recipe(const DType& to, const DType& from) noexcept;
  void apply(const Run& dst, const Run& src, std::int64_t count) const noexcept;
  bool is_move() const noexcept { return is_move_; }

 private:
  void push(Kernel kernel, int output_bits) noexcept;
  void push_cast(int to, int from) noexcept;

  static constexpr int kMaxSteps = 4;  // unpack, to float32, from float32, pack
  Kernel steps_[kMaxSteps];
  int bits_[kMaxSteps];  // of one element that a step leaves behind
  int count_ = 0;
  bool is_move_ = false;
};

/// A copy ready to run: all that a faster implementation needs (see `Executor` in copy.cpp). Axes
/// go from the widest stride in dst to the narrowest, save that choose_run may have exchanged the
/// last ones; the last is the run. Axes of extent 1 are gone, dst strides are not negative, and
/// axes that continue each other are merged. There is at least one element.
struct Plan {
  Plan(const ArrayView& dst, const ArrayView& src) noexcept;

  Recipe recipe;
  Run dst;  // of element (0,...,0); its stride is that of the last axis
  Run src;
  int ndim = 0;        // 0: one element
  bool tiled = false;  // the last two axes cross: walk them in tiles
  int dst_bits;        // from one element to the next where there is no gap
  int src_bits;
  Kernel gather;  // moves src's elements as they are
  std::int64_t shape[kMaxRank];
  std::int64_t dst_strides[kMaxRank];
  std::int64_t src_strides[kMaxRank];

  /// One gapless piece of bytes on both sides: a memmove, correct even where the two overlap.
  bool is_memmove() const noexcept;

 private:
  void add_axes(const ArrayView& to, const ArrayView& from) noexcept;
  void sort_axes() noexcept;
  void swap_axes(int a, int b) noexcept;
  void merge_axes() noexcept;
  void choose_run() noexcept;
};

/// Runs a plan on the calling thread.
void walk(const Plan& plan) noexcept;

}  // namespace refarray::core
