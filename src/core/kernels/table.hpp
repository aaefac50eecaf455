// Owns what the copy kernels are called with, and the table of them that each instruction set
// fills.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refarray::core {

struct StridedSpan;

namespace kernels {

/// Units are 1, 2, 4, 8 or 16 bytes: rows of a kernel table.
inline constexpr int kUnits = 5;

/// `rows` rows of `count` units each. All distances are bytes and may be zero or negative; no
/// pointer need be aligned. dst and src share no memory. `streams`: the result is larger than the
/// caches, so stores may go around them.
struct Plane {
  std::byte* dst;
  const std::byte* src;
  std::int64_t count;
  std::int64_t dst_step;  // from one unit of a row to the next
  std::int64_t src_step;
  std::int64_t rows;
  std::int64_t dst_pitch;  // from one row to the next
  std::int64_t src_pitch;
  bool streams;
  /// From a row of src to one that will be read soon, whose lines are asked for meanwhile; 0: none.
  /// What fetches lines ahead by itself does not see where short rows come from.
  std::int64_t ahead = 0;
};

/// A transpose: unit (i, j) of src lies at i * src_pitch + j * unit and goes to dst_offsets[j] + i
/// * unit. So `rows` counts along dst's runs and `columns` along src's.
struct Tile {
  std::byte* dst;
  const std::int64_t* dst_offsets;
  const std::byte* src;
  std::int64_t src_pitch;
  std::int64_t rows;
  std::int64_t columns;
  bool streams;  // only where every run of dst begins on a multiple of 64 bytes
};

/// `parts` (2, 3 or 4) sequences and one in which they take turns: unit i of part p beside unit
/// i * parts + p. `part_step` is the distance between the beginnings of two parts.
struct Interleave {
  std::byte* dst;
  const std::byte* src;
  std::int64_t count;  // units of one part
  std::int64_t part_step;
  int parts;
  bool streams;
};

using PlaneKernel = void (*)(const Plane& plane) noexcept;
using TileKernel = void (*)(const Tile& tile) noexcept;
using InterleaveKernel = void (*)(const Interleave& braid) noexcept;
using CastKernel = void (*)(const StridedSpan& dst, const StridedSpan& src,
                            std::int64_t count) noexcept;

/// What one instruction set offers. Every table gives the same bytes for the same call.
struct Table {
  const char* name;  // "plain", "sse4", "avx2", "avx512"; elsewhere "plain" and "simd128"
  PlaneKernel rows;  // gapless rows; `count` counts bytes and the steps are not read
  PlaneKernel strided[kUnits];
  TileKernel transpose[kUnits];
  InterleaveKernel interleave[kUnits];            // parts lie apart in src
  InterleaveKernel deinterleave[kUnits];          // parts lie apart in dst
  void (*fence)() noexcept;                       // orders streaming stores before everything after
  CastKernel (*cast)(int to, int from) noexcept;  // rows of kScalars; nullptr: no direct way
};

/// The table in use: the best that this processor runs, unless another was asked for.
const Table& table() noexcept;

/// The tables that this build has and this processor runs, best first.
struct Choices {
  const Table* tables[4];
  int count;
};
Choices choices() noexcept;

/// Uses the table of that name from the next copy on; false when choices() has none.
bool use(const char* name) noexcept;

}  // namespace kernels
}  // namespace refarray::core
