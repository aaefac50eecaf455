// Owns the plan of a copy: two strided arrays of equal shape as few axes, long runs and units as
// wide as they can be, as data that a processor or a device can carry out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/array.hpp"
#include "core/copy/strided_span.hpp"

namespace refarray::core {

/// What the last axes of a plan are to each other.
enum class Pattern : std::uint8_t {
  kRuns,     // the last axis is gapless on both sides: rows of bytes
  kStrided,  // the last axis is best walked unit by unit: steps of 0, -1, 2 ... on either side
  kTiles,    // dst is densest along the last axis, src along the one before: a transpose; an axis
             // that continues one of these two where it is short comes right before them
  kInterleave,    // a transpose of 2 to 4 units: `shape[ndim - 1]` gapless sequences of src take
                  // turns in dst
  kDeinterleave,  // its inverse: `shape[ndim - 2]` gapless sequences of dst
};

/// The copy is: for every index, the unit of src at the index becomes the unit of dst at the index.
///
/// - There is at least one axis and one unit. Axes of extent 1 are gone, axes that continue each
///   other on both sides are one.
/// - dst strides are not negative, save that of the axis before the last in kTiles, where src's is
///   positive instead. Axes go from the widest stride of dst to the narrowest, save for the last
///   two, which are as `pattern` says.
/// - When `moves`, units are whole bytes and stay as they are: 1, 2, 4, 8 or 16 of them, whatever
/// the
///   elements were. A float32x3 is three units of 4; rows of two float32 are single units of 8.
///   Nothing is known of their alignment.
/// - Otherwise a unit is an element, which becomes one of another type (or packed, or padded).
/// - Distances are BITS; when `moves` they are multiples of 8.
struct Plan {
  /// `to` and `from` have equal shapes and at least one element; can_convert holds.
  Plan(const ArrayView& to, const ArrayView& from) noexcept;

  StridedSpan dst;  // of unit (0,...,0); its stride is that of the last axis
  StridedSpan src;
  DType to;
  DType from;
  int ndim = 0;
  Pattern pattern = Pattern::kRuns;
  bool moves;
  bool shares_dst = false;  // some units of dst are the same memory, so their order matters
  int dst_bits;             // of one unit
  int src_bits;             // the same when `moves`
  std::int64_t shape[kMaxRank + 1];
  std::int64_t dst_strides[kMaxRank + 1];
  std::int64_t src_strides[kMaxRank + 1];

  /// The number of units.
  std::int64_t size() const noexcept;
  /// One gapless piece of bytes on both sides.
  bool is_memmove() const noexcept { return moves && ndim == 1 && pattern == Pattern::kRuns; }
  /// Leaves of that axis the indices [begin, end).
  void narrow(int axis, std::int64_t begin, std::int64_t end) noexcept;

 private:
  void add_axis(std::int64_t extent, std::int64_t dst_stride, std::int64_t src_stride) noexcept;
  void sort_axes() noexcept;
  void merge_axes() noexcept;
  void widen_units() noexcept;
  void choose_pattern() noexcept;
  int nearest_in_src() const noexcept;
  bool is_worth_tiles(int nearest) const noexcept;
  Pattern crossing_pattern(int nearest) const noexcept;
  void swap_axes(int a, int b) noexcept;
  void move_to(int axis, int place) noexcept;
  void bring_continuations() noexcept;
  void flip(int axis) noexcept;
};

}  // namespace refarray::core
