// Arguments of the copy kernels, and the kernel table of an instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "refarray/core/dtype.hpp"

namespace refarray::core {

struct StridedSpan;

namespace kernels {

/// Copy words are 1, 2, 4, 8 or 16 bytes; kernel tables are indexed by log2 of that.
inline constexpr int kNumWordSizes = 5;

/// `rows` rows of `count` words each. Steps and pitches are in bytes and may be zero or negative.
/// Pointers may be misaligned. dst and src do not overlap. `streams` allows non-temporal stores.
struct Plane {
  std::byte* dst;
  const std::byte* src;
  std::int64_t count;
  std::int64_t dst_step;  // from one word of a row to the next
  std::int64_t src_step;
  std::int64_t rows;
  std::int64_t dst_pitch;  // from one row to the next
  std::int64_t src_pitch;
  bool streams;
  /// From the current row of src to the row to prefetch; 0: no prefetching. The hardware prefetcher
  /// cannot predict short rows.
  std::int64_t prefetch_distance = 0;
};

/// A transpose: the word (i, j) at src + i * src_pitch + j * word_size is copied to
/// dst + dst_offsets[j] + i * word_size. dst is contiguous along `rows`, src along `columns`.
struct Tile {
  std::byte* dst;
  const std::int64_t* dst_offsets;
  const std::byte* src;
  std::int64_t src_pitch;
  std::int64_t rows;
  std::int64_t columns;
  bool streams;  // requires that every column begins at a multiple of 64 bytes in dst
};

/// `parts` (2, 3 or 4) contiguous sequences, `part_step` bytes apart, and one contiguous sequence
/// in which word i of part p is word i * parts + p.
struct Interleave {
  std::byte* dst;
  const std::byte* src;
  std::int64_t count;  // words of one part
  std::int64_t part_step;
  int parts;
  bool streams;
};

using PlaneKernel = void (*)(const Plane& plane) noexcept;
using TileKernel = void (*)(const Tile& tile) noexcept;
using InterleaveKernel = void (*)(const Interleave& call) noexcept;
using CastKernel = void (*)(const StridedSpan& dst, const StridedSpan& src,
                            std::int64_t count) noexcept;

/// The instruction sets, worst first.
enum class Level : std::uint8_t {
  kPlain,
#if defined(__x86_64__)
  kSse4,
  kAvx2,
  kAvx512,
#else
  kSimd128,
#endif
};

/// The kernels of one instruction set. All tables give identical results.
struct Table {
  Level level;
  const char* name;  // "plain", "sse4", "avx2", "avx512"; elsewhere "plain" and "simd128"
  PlaneKernel rows;  // contiguous rows: `count` is in bytes, the steps are ignored
  PlaneKernel strided[kNumWordSizes];
  TileKernel transpose[kNumWordSizes];
  InterleaveKernel interleave[kNumWordSizes];    // the parts are in src
  InterleaveKernel deinterleave[kNumWordSizes];  // the parts are in dst
  void (*fence)() noexcept;                      // orders non-temporal stores before later stores
  /// nullptr if there is no direct conversion.
  CastKernel (*cast)(ScalarType to, ScalarType from) noexcept;
};

/// The table in use: the best that the processor supports, unless use() chose another.
const Table& table() noexcept;

/// The tables that this build contains and the processor supports, best first.
struct Choices {
  const Table* tables[4];
  int count;
};
Choices choices() noexcept;

/// Uses the table of that name for later copies; false if choices() does not contain it.
bool use(const char* name) noexcept;

}  // namespace kernels
}  // namespace refarray::core
