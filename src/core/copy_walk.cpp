// Owns the walker, which visits the runs of a plan, and the pipeline through which one run goes.
#include <algorithm>

#include "core/copy_plan.hpp"

namespace refarray::core {

namespace {

constexpr std::int64_t kChunk = 256;       // elements between two steps: the buffers stay in L1
constexpr std::size_t kMaxStepBytes = 8;   // complex64 is the widest type between two steps
constexpr std::size_t kTileBytes = 16384;  // a tile of src: it stays in L1 beside the lines of dst

constexpr int kFloat32 = DType{Kind::kFloat, 32}.index();
constexpr int kComplex64 = DType{Kind::kComplex, 64}.index();

DType padded(DType dtype) noexcept {
  dtype.padded = true;
  return dtype;
}

void walk_rows(const Plan& plan, const Run& dst, const Run& src) noexcept {
  const int row = plan.ndim - 2;
  for (std::int64_t i = 0; i < plan.shape[row]; ++i) {
    plan.recipe.apply(dst.at(i * plan.dst_strides[row]), src.at(i * plan.src_strides[row]),
                      plan.shape[row + 1]);
  }
}

/// A transpose would read a cache line for every element. Each tile is first gathered along src's
/// lines, so that every line is used up when it arrives, however badly the strides suit the cache;
/// then it leaves along dst's lines.
void walk_tiles(const Plan& plan, const Run& dst, const Run& src) noexcept {
  alignas(64) std::byte tile[kTileBytes];
  const int row = plan.ndim - 2;
  const std::int64_t edge = plan.src_bits <= 32 ? 64 : 32;
  const std::int64_t pitch = edge * plan.src_bits;
  const Run buffer{tile, pitch, 0, src.width};
  Run down = src;
  down.stride = plan.src_strides[row];
  for (std::int64_t top = 0; top < plan.shape[row]; top += edge) {
    const std::int64_t rows = std::min(edge, plan.shape[row] - top);
    for (std::int64_t left = 0; left < plan.shape[row + 1]; left += edge) {
      const std::int64_t columns = std::min(edge, plan.shape[row + 1] - left);
      for (std::int64_t k = 0; k < columns; ++k) {
        Run line = buffer.at(k * pitch);
        line.stride = plan.src_bits;
        plan.gather(line, down.at(top * down.stride + (left + k) * src.stride), rows);
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        plan.recipe.apply(dst.at((top + i) * plan.dst_strides[row] + left * dst.stride),
                          buffer.at(i * plan.src_bits), columns);
      }
    }
  }
}

}  // namespace

Recipe::Recipe(const DType& to, const DType& from) noexcept {
  if (to.kind == from.kind && to.bits == from.bits) {
    is_move_ = true;
    push(move_kernel(to, from), to.stored_bits());
    return;
  }
  if (from.is_packed()) push(move_kernel(padded(from), from), 8);
  push_cast(to.index(), from.index());
  if (to.is_packed()) push(move_kernel(to, padded(to)), to.stored_bits());
}

void Recipe::push(Kernel kernel, int output_bits) noexcept {
  steps_[count_] = kernel;
  bits_[count_] = output_bits;
  ++count_;
}

/// Pairs without a kernel of their own go through float32, which holds every small float exactly,
/// or complex64. That is not only shorter: ml_dtypes does the same, so float64 and wide integers
/// round twice here as they do there.
void Recipe::push_cast(int to, int from) noexcept {
  const auto stored = [](int row) {
    return (int{kScalars[static_cast<std::size_t>(row)].bits} + 7) / 8 * 8;
  };
  if (const Kernel direct = cast_kernel(to, from); direct != nullptr) {
    push(direct, stored(to));
    return;
  }
  const int via =
      kScalars[static_cast<std::size_t>(from)].kind == Kind::kComplex ? kComplex64 : kFloat32;
  push(cast_kernel(via, from), stored(via));
  push(cast_kernel(to, via), stored(to));
}

void Recipe::apply(const Run& dst, const Run& src, std::int64_t count) const noexcept {
  if (count_ == 1) {
    steps_[0](dst, src, count);
    return;
  }
  alignas(64) std::byte buffers[2][kChunk * kMaxStepBytes];
  for (std::int64_t done = 0; done < count; done += kChunk) {
    const std::int64_t chunk = std::min(kChunk, count - done);
    Run input = src.at(done * src.stride);
    for (int step = 0; step < count_ - 1; ++step) {
      const Run output{buffers[step % 2], bits_[step], 0, bits_[step]};
      steps_[step](output, input, chunk);
      input = output;
    }
    steps_[count_ - 1](dst.at(done * dst.stride), input, chunk);
  }
}

void walk(const Plan& plan) noexcept {
  if (plan.ndim < 2) {
    plan.recipe.apply(plan.dst, plan.src, plan.ndim == 0 ? 1 : plan.shape[0]);
    return;
  }
  const auto walk_plane = plan.tiled ? &walk_tiles : &walk_rows;
  std::int64_t index[kMaxRank] = {};
  std::int64_t dst_bits = 0;
  std::int64_t src_bits = 0;
  for (;;) {
    walk_plane(plan, plan.dst.at(dst_bits), plan.src.at(src_bits));
    int axis = plan.ndim - 3;
    for (; axis >= 0; --axis) {
      dst_bits += plan.dst_strides[axis];
      src_bits += plan.src_strides[axis];
      if (++index[axis] < plan.shape[axis]) break;
      index[axis] = 0;
      dst_bits -= plan.shape[axis] * plan.dst_strides[axis];
      src_bits -= plan.shape[axis] * plan.src_strides[axis];
    }
    if (axis < 0) return;
  }
}

}  // namespace refarray::core
