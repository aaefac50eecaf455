// Arguments of the kernels of reductions and scans, and the fixed order in which they combine
// elements.
//
// The order depends only on the number of elements and their size, never on strides, alignment,
// instruction set or threads:
//
// - A block is kBlockBytes of elements: 32 rows of 256 bytes, thus of 64 lanes of 4 bytes. Lane i
//   combines the elements i, i + lanes, i + 2 * lanes, ... of the block one after the other.
// - The lanes of a block are combined by halves: lane i with lane i + w, for w = lanes / 2, ..., 1.
//   A lane without an element is left out.
// - The results of the blocks are combined by neighbours: 0 with 1, 2 with 3, ..., then the results
//   of these pairs, and so on. A last one without a neighbour goes on to the next round.
//
// So an error of rounding passes through 31 + log2(n / 32) additions, not n.
#pragma once

#include <cstddef>
#include <cstdint>

#include "refarray/core/dtype.hpp"

namespace refarray::core::kernels {

inline constexpr int kRowBytes = 256;
inline constexpr int kBlockBytes = 32 * kRowBytes;
/// The most blocks of one call; a power of two, so that longer sequences consist of such calls.
inline constexpr int kBlocksPerCall = 128;

enum class Folding : std::uint8_t { kSum, kProduct, kMin, kMax, kCountNonzero };

/// Combines the elements of each of `rows` sequences. They are contiguous and may be misaligned.
struct Fold {
  std::byte* out;  // `rows` results, contiguous
  const std::byte* in;
  std::int64_t count;  // of a sequence: 1 to kBlocksPerCall * kBlockBytes / size
  std::int64_t rows;
  std::int64_t pitch;  // bytes from one sequence to the next
  std::uint64_t flip;  // of FoldKernels
};

/// Combines each element of a row of accumulators with that of a row of elements, `rows` times.
/// With out_pitch 0 all rows are combined with the one row of accumulators. `out` may be `acc`, and
/// otherwise overlaps nothing.
struct Accumulate {
  std::byte* out;
  const std::byte* acc;
  const std::byte* in;
  std::int64_t count;  // of a row
  std::int64_t rows;
  std::int64_t out_pitch;  // bytes; of `acc` too
  std::int64_t in_pitch;
  std::uint64_t flip;
};

using FoldKernel = void (*)(const Fold& call) noexcept;
using AccumulateKernel = void (*)(const Accumulate& call) noexcept;

/// NaN is less than every number for kMin and greater for kMax, so that it is the result where
/// there is one; -0 is less than +0. Hence the order does not matter for these two.
struct FoldKernels {
  FoldKernel fold;
  AccumulateKernel accumulate;
  std::uint64_t flip;  // bits that turn the order of the elements into that of signed integers
};

/// The least element so far, for argmin() and argmax(). `key` orders as the elements do, for
/// argmax() reversed; equal elements, also -0 and +0, and all NaN have equal keys.
struct Best {
  std::int64_t key;
  std::int64_t index;
};
inline constexpr std::int64_t kWorstKey = INT64_MAX;

/// Updates `best[r]` from each of `rows` sequences. `first` is the index of their first elements.
struct Search {
  Best* best;
  const std::byte* in;
  std::int64_t count;
  std::int64_t rows;
  std::int64_t pitch;
  std::int64_t first;
  std::uint64_t flip;
};
inline constexpr std::int64_t kMaxLaneSearch = 127;  // an index fits an element of one byte
using SearchKernel = void (*)(const Search& call) noexcept;
struct SearchKernels {
  SearchKernel search;
  /// Overwrites `best`. Elements of equal index are contiguous, and `pitch` bytes lie between those
  /// of a sequence, which are at most kMaxLaneSearch.
  SearchKernel search_lanes;
  std::uint64_t flip;
};

/// Kernels of mean(), var() and std(). Values are contiguous.
struct Statistics {
  /// values[i] /= divisor, rounded once, for float32, float64 and the complex dtypes. For float16
  /// and bfloat16 the values are float32, and rounded so that conversion to the dtype rounds once.
  void (*divide)(ScalarType dtype, std::byte* values, std::int64_t count, double divisor) noexcept;
  /// values[i] = (values[i] - means[i * mean_step])**2, of float64.
  void (*deviate)(std::byte* values, const std::byte* means, std::int64_t mean_step,
                  std::int64_t count) noexcept;
  /// values[i] = sqrt(values[i]), of float64.
  void (*square_root)(std::byte* values, std::int64_t count) noexcept;
};

/// Running sums or products along each of `rows` sequences, one element after the other. out may be
/// in, with equal steps and pitches.
struct Scan {
  std::byte* out;
  const std::byte* in;
  std::int64_t count;     // of a sequence: at least 1
  std::int64_t out_step;  // bytes from one element of a sequence to the next
  std::int64_t in_step;
  std::int64_t rows;
  std::int64_t out_pitch;  // bytes from one sequence to the next
  std::int64_t in_pitch;
  std::byte* carry;  // the last result of each sequence, contiguous; updated
  bool begins;       // there is no such result yet: the first element becomes the first result
};
using ScanKernel = void (*)(const Scan& call) noexcept;

/// nullptr, or a table of nullptr: there is no such kernel for the dtype, an index into kScalars.
struct Reductions {
  FoldKernels (*fold)(Folding folding, ScalarType dtype) noexcept;
  SearchKernels (*search)(bool greatest, ScalarType dtype) noexcept;
  ScanKernel (*scan)(bool product, ScalarType dtype) noexcept;
  Statistics statistics;
};

}  // namespace refarray::core::kernels
