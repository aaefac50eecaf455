// Construction of a block walk, and the computation of a block.
#include "compute/ops/blocks.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "compute/kernels/operations.hpp"
#include "compute/kernels/rearranging/gather.hpp"
#include "compute/kernels_in_use.hpp"
#include "core/copy/plan.hpp"
#include "core/copy/walk.hpp"
#include "core/kernels/table.hpp"
#include "core/memory/scratch.hpp"

namespace refarray::core {
namespace {

/// Rows of at least this many elements are computed in place, shorter ones are gathered.
constexpr std::int64_t kLongRow = 128;
/// Of one axis with gaps: its blocks are copied without a plan, and so may be small.
constexpr std::int64_t kStridedBlockBytes = std::int64_t{4} << 10;
/// The same for operands beyond the caches: small enough that the processor sees the reads of all
/// of them as concurrent streams. Larger blocks took twice the time.
constexpr std::int64_t kDistantBlockBytes = 512;
constexpr std::int64_t kCacheBytes = std::int64_t{1} << 20;
/// Planes of fewer elements: a copy takes longer from one to the next than for their elements.
constexpr std::int64_t kTinyPlane = 64;
/// Elements of a block whose offsets are in a table.
constexpr std::int64_t kTabled = 1024;

/// A contiguous view of `data` with the shape of `like`.
ArrayView buffer_like(const ArrayView& like, std::byte* data, const DType& dtype,
                      std::int64_t* strides) noexcept {
  std::int64_t stride = 1;
  for (int axis = like.ndim - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= like.shape[axis];
  }
  ArrayView out;
  out.data = data;
  out.dtype = dtype;
  out.ndim = like.ndim;
  out.shape = like.shape;
  out.strides = strides;
  return out;
}

/// Copies `count` words of `size` bytes, `dst_step` and `src_step` bytes apart.
void copy_words(std::byte* dst, const std::byte* src, std::int64_t count, std::int64_t dst_step,
                std::int64_t src_step, std::int64_t size) noexcept {
  const kernels::PlaneKernel kernel =
      kernels::table().strided[std::countr_zero(static_cast<std::uint64_t>(size))];
  kernel({dst, src, count, dst_step, src_step, 1, 0, 0, false});
}

}  // namespace

/// The indices of one block.
struct BlockWalk::Block {
  std::int64_t shape[kMaxRank];        // of the axes from cut_ on
  std::int64_t offsets[kMaxOperands];  // of the first element, in elements
  std::int64_t count;                  // elements
};

BlockWalk::BlockWalk(const ElementwiseKernel& kernel, const ArrayView& out,
                     std::span<const ArrayView> inputs) noexcept
    : function_(kernel.function), ndim_(out.ndim) {
  std::copy_n(out.shape, out.ndim, shape_);
  add_operand(out, kernel.out, out.extents());
  for (const ArrayView& input : inputs) add_operand(input, kernel.in[operands_ - 1], out.extents());
  sort_axes();
  merge_axes();
  convert_scalars();
  choose_blocks();
  classify();
}

void BlockWalk::add_operand(const ArrayView& array, const DType& computed, Extents shape) noexcept {
  Operand& operand = operand_[operands_++];
  operand.data = array.data;
  operand.dtype = array.dtype;
  operand.computed = computed;
  const int missing = static_cast<int>(shape.size()) - array.ndim;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    const bool repeats = axis < missing || array.shape[axis - missing] == 1;
    operand.strides[axis] = repeats ? 0 : array.strides[axis - missing];
  }
}

void BlockWalk::sort_axes() noexcept {
  const std::int64_t* strides = operand_[0].strides;
  for (int end = 1; end < ndim_; ++end) {
    for (int axis = end; axis > 0 && std::abs(strides[axis]) > std::abs(strides[axis - 1]);
         --axis) {
      std::swap(shape_[axis], shape_[axis - 1]);
      for (int i = 0; i < operands_; ++i)
        std::swap(operand_[i].strides[axis], operand_[i].strides[axis - 1]);
    }
  }
}

/// Drops axes of extent 1, and merges an axis into the one before if every operand goes on there.
void BlockWalk::merge_axes() noexcept {
  int merged = -1;
  for (int axis = 0; axis < ndim_; ++axis) {
    if (shape_[axis] == 1) continue;
    bool continues = merged >= 0;
    for (int i = 0; i < operands_ && continues; ++i) {
      const std::int64_t* strides = operand_[i].strides;
      continues = strides[merged] == wrapped_product(shape_[axis], strides[axis]);
    }
    if (continues) {
      shape_[merged] *= shape_[axis];
    } else {
      shape_[++merged] = shape_[axis];
    }
    for (int i = 0; i < operands_; ++i) operand_[i].strides[merged] = operand_[i].strides[axis];
  }
  ndim_ = merged + 1;
  if (ndim_ > 0) return;
  ndim_ = 1;
  shape_[0] = 1;
  for (int i = 0; i < operands_; ++i) operand_[i].strides[0] = i == 0 ? 1 : 0;
}

/// Inputs that are one element are converted once, not in each block.
void BlockWalk::convert_scalars() noexcept {
  for (int i = 1; i < operands_; ++i) {
    Operand& operand = operand_[i];
    if (std::any_of(operand.strides, operand.strides + ndim_, [](auto s) { return s != 0; }))
      continue;
    if (operand.dtype == operand.computed) continue;
    ArrayView from, to;
    from.data = operand.data;
    from.dtype = operand.dtype;
    to.data = operand.scalar;
    to.dtype = operand.computed;
    walk(Plan(to, from), /*streams=*/false);
    operand.data = operand.scalar;
    operand.dtype = operand.computed;
  }
}

/// `largest`: bytes of an element of the widest operand, as the kernel takes it.
std::int64_t BlockWalk::block_elements(int largest) const noexcept {
  std::int64_t span = 0;  // bytes from one element to the next, of all operands
  for (int i = 0; i < operands_; ++i) {
    span += std::abs(operand_[i].strides[ndim_ - 1]) * operand_[i].dtype.itemsize();
  }
  if (ndim_ > 1) return kBlockBytes / largest;
  const bool is_distant = shape_[0] > kCacheBytes / std::max<std::int64_t>(span, 1);
  return (is_distant ? kDistantBlockBytes : kStridedBlockBytes) / largest;
}

/// Whether the kernel can run on the last axis of the operands where they are.
bool BlockWalk::has_contiguous_rows() const noexcept {
  if (shape_[ndim_ - 1] < kLongRow) return false;
  for (int i = 0; i < operands_; ++i) {
    const Operand& operand = operand_[i];
    const std::int64_t stride = operand.strides[ndim_ - 1];
    if (operand.dtype != operand.computed || (stride != 1 && (stride != 0 || i == 0))) return false;
  }
  return true;
}

/// Whether offsets in a table take less time than copies along many axes, or along short ones.
bool BlockWalk::gathers_by_offsets() const noexcept {
  const bool is_same_dtype = std::all_of(operand_, operand_ + operands_, [](const Operand& each) {
    return each.dtype == each.computed;
  });
  if (!is_same_dtype || ndim_ < 3 || has_contiguous_rows()) return false;
  const std::int64_t last = shape_[ndim_ - 1];
  return ndim_ > 4 || (last < kTinyPlane && last * shape_[ndim_ - 2] < kTinyPlane);
}

void BlockWalk::choose_blocks() noexcept {
  int largest = 1;
  for (int i = 0; i < operands_; ++i) largest = std::max(largest, operand_[i].computed.itemsize());
  const bool is_tabled = gathers_by_offsets();
  const std::int64_t elements = is_tabled ? kTabled : block_elements(largest);
  cut_ = ndim_ - 1;
  if (!has_contiguous_rows()) {
    while (cut_ > 0 && inner_ * shape_[cut_] <= elements / 2) inner_ *= shape_[cut_--];
  }
  piece_ = std::clamp<std::int64_t>(elements / inner_, 1, shape_[cut_]);
  pieces_ = (shape_[cut_] + piece_ - 1) / piece_;
  buffer_bytes_ = static_cast<std::size_t>((piece_ * inner_ * largest + 63) / 64 * 64);
  const bool has_table = is_tabled && cut_ < ndim_ - 1;  // one axis is copied by steps
  table_bytes_ = has_table ? static_cast<std::size_t>(piece_ * inner_) * sizeof(std::int64_t) : 0;
  count_ = pieces_;
  for (int axis = 0; axis < cut_; ++axis) count_ *= shape_[axis];
}

void BlockWalk::classify() noexcept {
  for (int i = 0; i < operands_; ++i) {
    Operand& operand = operand_[i];
    operand.is_gapless = operand.dtype == operand.computed;
    operand.is_scalar = i > 0 && operand.dtype == operand.computed;
    std::int64_t expected = 1;
    for (int axis = ndim_ - 1; axis >= cut_; --axis) {
      operand.is_gapless = operand.is_gapless && operand.strides[axis] == expected;
      operand.is_scalar = operand.is_scalar && operand.strides[axis] == 0;
      expected *= shape_[axis];
    }
    operand.is_scattered = table_bytes_ > 0 && !operand.is_gapless && !operand.is_scalar;
  }
}

std::byte* BlockWalk::offsets_at(int which, std::byte* buffers) const noexcept {
  return buffers + static_cast<std::size_t>(operands_) * buffer_bytes_ +
         static_cast<std::size_t>(which) * table_bytes_;
}

/// Bytes from the first element of a block to each of its elements: equal for all blocks.
void BlockWalk::fill_offsets(const Operand& operand, std::byte* offsets) const noexcept {
  auto* const table = reinterpret_cast<std::int64_t*>(offsets);
  std::int64_t count = 1;
  table[0] = 0;
  for (int axis = ndim_ - 1; axis >= cut_; --axis) {
    const std::int64_t extent = axis == cut_ ? piece_ : shape_[axis];
    const std::int64_t step = operand.strides[axis] * operand.dtype.itemsize();
    for (std::int64_t i = count; i < extent * count; ++i) table[i] = table[i - count] + step;
    count *= extent;
  }
}

BlockWalk::Block BlockWalk::block_at(std::int64_t index) const noexcept {
  Block out;
  const std::int64_t first = index % pieces_ * piece_;
  std::copy_n(shape_ + cut_, ndim_ - cut_, out.shape);
  out.shape[0] = std::min(piece_, shape_[cut_] - first);
  out.count = out.shape[0] * inner_;
  for (int i = 0; i < operands_; ++i) out.offsets[i] = first * operand_[i].strides[cut_];
  index /= pieces_;
  for (int axis = cut_ - 1; axis >= 0; --axis) {
    const std::int64_t at = index % shape_[axis];
    index /= shape_[axis];
    for (int i = 0; i < operands_; ++i) out.offsets[i] += at * operand_[i].strides[axis];
  }
  return out;
}

ArrayView BlockWalk::view(const Operand& operand, const Block& block, int which) const noexcept {
  ArrayView out;
  out.data = operand.data + block.offsets[which] * operand.dtype.itemsize();
  out.dtype = operand.dtype;
  out.ndim = ndim_ - cut_;
  out.shape = block.shape;
  out.strides = operand.strides + cut_;
  return out;
}

/// Copies a block of an input to its buffer, without gaps and in the kernel's dtype.
void BlockWalk::gather(int which, const Block& block, std::byte* buffers) const noexcept {
  const Operand& operand = operand_[which];
  const ArrayView there = view(operand, block, which);
  const std::int64_t size = operand.dtype.itemsize();
  std::byte* const buffer = buffers + static_cast<std::size_t>(which) * buffer_bytes_;
  if (operand.is_scattered) {
    const auto kernel =
        kernels::operations().gathering->gather[std::countr_zero(static_cast<unsigned>(size))];
    return kernel({buffer, there.data,
                   reinterpret_cast<const std::int64_t*>(offsets_at(which, buffers)), block.count,
                   size, size});
  }
  if (cut_ == ndim_ - 1 && operand.dtype == operand.computed) {
    return copy_words(buffer, there.data, block.count, size, operand.strides[cut_] * size, size);
  }
  std::int64_t strides[kMaxRank];
  walk(Plan(buffer_like(there, buffer, operand.computed, strides), there), false);
}

/// Copies the results of a block to the output.
void BlockWalk::scatter(const std::byte* buffer, const Block& block) const noexcept {
  const Operand& out = operand_[0];
  const ArrayView there = view(out, block, 0);
  const std::int64_t size = out.dtype.itemsize();
  if (cut_ == ndim_ - 1 && out.dtype == out.computed)
    return copy_words(there.data, buffer, block.count, out.strides[cut_] * size, size, size);
  std::int64_t strides[kMaxRank];
  auto* const from = const_cast<std::byte*>(buffer);  // only read
  walk(Plan(there, buffer_like(there, from, out.computed, strides)), false);
}

/// `buffers` has memory for a block of each operand.
void BlockWalk::compute(const Block& block, std::byte* buffers) const noexcept {
  const std::byte* in[kMaxInputs];
  unsigned scalars = 0;
  for (int i = 1; i < operands_; ++i) {
    const Operand& operand = operand_[i];
    in[i - 1] = operand.data + block.offsets[i] * operand.dtype.itemsize();
    // Kernels take at most all inputs but one as scalars.
    if (operand.is_scalar && std::popcount(scalars) < operands_ - 2) {
      scalars |= 1U << (i - 1);
    } else if (!operand.is_gapless) {
      gather(i, block, buffers);
      in[i - 1] = buffers + static_cast<std::size_t>(i) * buffer_bytes_;
    }
  }
  const Operand& out = operand_[0];
  if (out.is_gapless) {
    std::byte* const there = out.data + block.offsets[0] * out.dtype.itemsize();
    return function_(there, in, block.count, scalars);
  }
  function_(buffers, in, block.count, scalars);
  scatter(buffers, block);
}

void BlockWalk::run(std::int64_t begin, std::int64_t end) const noexcept {
  const Scratch buffers(static_cast<std::size_t>(operands_) * (buffer_bytes_ + table_bytes_));
  for (int i = 1; i < operands_; ++i) {
    const Operand& operand = operand_[i];
    if (operand.is_scattered) fill_offsets(operand, offsets_at(i, buffers.data()));
  }
  for (std::int64_t i = begin; i < end; ++i) compute(block_at(i), buffers.data());
}

}  // namespace refarray::core
