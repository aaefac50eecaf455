// ReductionWork: what a reduction does, decided once, and the pieces into which it is divided.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/kernels/operations.hpp"
#include "compute/ops/reductions/reduce.hpp"
#include "compute/ops/reductions/strided_axes.hpp"
#include "core/array.hpp"

namespace refarray::core {

/// Bytes of a row of Access::kColumns.
inline constexpr std::int64_t kStripBytes = 4096;

/// Where the kernels find the elements of an output.
enum class Access : std::uint8_t {
  kDirect,   // contiguous in the input: read in place
  kGather,   // copied or converted into a tile first, in which they are contiguous
  kLanes,    // few: copied into a tile in which elements of equal index are contiguous
  kColumns,  // outputs are denser than the elements of one: combined row by row
};

struct ReductionWork {
  /// The first pass of var and std computes their means, with kMean as the operation.
  ReductionWork(const ArrayView& out, const ArrayView& x, const ReductionCall& call,
                const DType& work_dtype) noexcept;

  ArrayView x;      // bool, int8 and uint8 are taken for uint8 where only zero matters
  DType input;      // in which elements reach the kernels
  DType stored;     // of the results, before they are converted to that of `out`
  int in_size;      // bytes of one
  int out_size;     // bytes of a result, or of a Best
  bool searches;    // argmin, argmax
  bool is_ordered;  // the order of elements matters: sums and products of floats
  kernels::FoldKernels fold{};
  kernels::SearchKernels search{};
  const std::byte* means = nullptr;  // of all outputs, float64: squared deviations are summed
  StridedAxes kept;                  // sorted: results are stored in this order of outputs
  StridedAxes reduced;               // in the order of the array
  Access access;
  std::int64_t outputs;
  std::int64_t count;             // elements of one output
  std::int64_t block;             // elements of a block
  std::int64_t blocks_per_piece;  // a power of two, at most kBlocksPerCall

  /// Reduces the elements [begin, end) of the outputs [first, last) into `results`. `begin` is a
  /// multiple of a piece, and there are no more elements than that.
  void run_piece(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                 std::byte* results) const noexcept;

 private:
  void choose_kernels(const ReductionCall& call) noexcept;
  void choose_access() noexcept;
  void read_directly(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                     std::byte* results) const noexcept;
  void read_tiles(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                  std::byte* results) const noexcept;
  void read_lanes(std::int64_t first, std::int64_t last, std::byte* results) const noexcept;
  /// Copies the elements [begin, end) of the outputs [first, last) to `tile`, in which there are
  /// `output_step` elements from one output to the next.
  void gather(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
              std::byte* tile, std::int64_t output_step, std::int64_t step) const noexcept;
  void call_kernel(std::byte* results, const std::byte* in, std::int64_t length, std::int64_t rows,
                   std::int64_t pitch, std::int64_t begin) const noexcept;
};

/// Combines `rows` rows of `length` results by neighbours; the result is in the first row.
void combine_rows(const kernels::FoldKernels& fold, std::byte* rows_begin, std::int64_t rows,
                  std::int64_t length, int size) noexcept;

/// The piece of a reduction with Access::kColumns; one block.
void reduce_columns(const ReductionWork& work, std::int64_t first, std::int64_t last,
                    std::int64_t begin, std::int64_t end, std::byte* results) noexcept;

}  // namespace refarray::core
