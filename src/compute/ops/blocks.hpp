// BlockWalk: iterates the blocks of an elementwise computation, a few KiB of each operand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compute/ops/elementwise.hpp"

namespace refarray::core {

/// The common axes of the output and the inputs, merged and sorted by the output's strides, and how
/// they are cut into blocks. Immutable after construction; threads share it.
class BlockWalk {
 public:
  /// `inputs` broadcast to the shape of `out`, which is not empty. They must outlive this object.
  BlockWalk(const ElementwiseKernel& kernel, const ArrayView& out,
            std::span<const ArrayView> inputs) noexcept;
  BlockWalk(const BlockWalk&) = delete;
  BlockWalk& operator=(const BlockWalk&) = delete;

  std::int64_t count() const noexcept { return count_; }
  /// Bytes of the largest operand in one block.
  static constexpr std::int64_t kBlockBytes = std::int64_t{16} << 10;
  /// Computes the blocks [begin, end).
  void run(std::int64_t begin, std::int64_t end) const noexcept;

 private:
  static constexpr int kMaxOperands = kMaxInputs + 1;  // the output is the first

  struct Operand {
    std::byte* data;
    DType dtype;                       // in memory
    DType computed;                    // as the kernel takes or gives it
    std::int64_t strides[kMaxRank];    // in elements
    bool is_gapless;                   // in a block, with the kernel's dtype
    bool is_scalar;                    // one element for the whole block
    bool is_scattered;                 // gathered by a table of offsets
    alignas(16) std::byte scalar[16];  // of an input that is one element, in the kernel's dtype
  };
  struct Block;

  void add_operand(const ArrayView& array, const DType& computed, Extents shape) noexcept;
  void sort_axes() noexcept;
  void merge_axes() noexcept;
  void choose_blocks() noexcept;
  void classify() noexcept;
  void convert_scalars() noexcept;
  bool has_contiguous_rows() const noexcept;
  std::int64_t block_elements(int largest) const noexcept;
  Block block_at(std::int64_t index) const noexcept;
  ArrayView view(const Operand& operand, const Block& block, int which) const noexcept;
  bool gathers_by_offsets() const noexcept;
  std::byte* offsets_at(int which, std::byte* buffers) const noexcept;
  void fill_offsets(const Operand& operand, std::byte* offsets) const noexcept;
  void gather(int which, const Block& block, std::byte* buffers) const noexcept;
  void scatter(const std::byte* buffer, const Block& block) const noexcept;
  void compute(const Block& block, std::byte* buffers) const noexcept;

  kernels::ElementwiseFunction function_;
  int operands_ = 0;
  int ndim_ = 0;
  int cut_ = 0;              // the axis that blocks cut; those after it are whole in each block
  std::int64_t piece_ = 1;   // extent of a block along that axis
  std::int64_t pieces_ = 1;  // blocks along that axis
  std::int64_t inner_ = 1;   // elements per index of that axis
  std::int64_t count_ = 1;
  std::size_t buffer_bytes_;  // of one operand in a block
  std::size_t table_bytes_;   // of the offsets of one operand's elements, or 0
  std::int64_t shape_[kMaxRank];
  Operand operand_[kMaxOperands];
};

}  // namespace refarray::core
