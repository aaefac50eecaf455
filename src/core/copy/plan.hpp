// Plan: two strided arrays of equal shape, reduced to few axes and wide copy words. Plain data,
// which the CPU or a device carries out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/array.hpp"
#include "core/copy/strided_span.hpp"

namespace refarray::core {

/// How the last axes are copied.
enum class Pattern : std::uint8_t {
  kRuns,     // the last axis is contiguous on both sides: rows of bytes
  kStrided,  // the last axis has any other strides: word by word
  kTiles,  // dst is densest along the last axis and src along the one before: a blocked transpose.
           // An axis that continues a short one of these two in memory comes right before them
  kInterleave,    // a transpose whose last axis has 2 to 4 words: that many contiguous sequences of
                  // src are interleaved in dst
  kDeinterleave,  // the inverse, with 2 to 4 sequences of dst along the axis before the last
};

/// For every index, the word of src at that index is copied, or converted, to the word of dst.
///
/// - There is at least one axis and one word. Axes of extent 1 are dropped, and axes that continue
///   each other on both sides are merged.
/// - dst strides are not negative, except that of the axis before the last in kTiles, whose src
///   stride is positive instead. Axes are sorted by descending dst stride, except the last two,
///   whose order depends on `pattern`, and after follow_src().
/// - If `moves`, words are copied unchanged. A word is 1, 2, 4, 8 or 16 bytes and need not be an
///   element: a float32x3 is three words of 4 bytes, a row of two float32 is one word of 8.
///   Words may be misaligned.
/// - Otherwise a word is an element, which is converted, packed or unpacked.
/// - Strides are in BITS, and multiples of 8 if `moves`.
struct Plan {
  /// `to` and `from` have equal shapes and at least one element; can_convert holds.
  Plan(const ArrayView& to, const ArrayView& from) noexcept;

  StridedSpan dst;  // begins at word (0,...,0); its stride is that of the last axis
  StridedSpan src;
  DType to;
  DType from;
  int ndim = 0;
  Pattern pattern = Pattern::kRuns;
  bool moves;                        // copies bytes; false: converts elements
  bool dst_overlaps_itself = false;  // words of dst share memory, so the order of writes matters
  int dst_bits;                      // of one word
  int src_bits;                      // equal to dst_bits if `moves`
  std::int64_t shape[kMaxRank + 1];
  std::int64_t dst_strides[kMaxRank + 1];
  std::int64_t src_strides[kMaxRank + 1];

  /// The number of words.
  std::int64_t size() const noexcept;
  /// Both sides are one contiguous block of bytes.
  bool is_memmove() const noexcept { return moves && ndim == 1 && pattern == Pattern::kRuns; }
  /// Restricts an axis to the indices [begin, end).
  void narrow(int axis, std::int64_t begin, std::int64_t end) noexcept;
  /// For kRuns: the rows that follow each other in src are copied one after the other, so that src
  /// is read in the order of memory, unless that would write to too many places of dst in turn.
  void follow_src() noexcept;
  /// Bytes of src that are read, each counted once.
  std::int64_t bytes_read() const noexcept;

 private:
  void add_axis(std::int64_t extent, std::int64_t dst_stride, std::int64_t src_stride) noexcept;
  void sort_axes() noexcept;
  void merge_axes() noexcept;
  void widen_words() noexcept;
  void choose_pattern() noexcept;
  int densest_in_src() const noexcept;
  bool is_worth_tiling(int densest) const noexcept;
  Pattern transpose_pattern(int densest) const noexcept;
  void swap_axes(int a, int b) noexcept;
  void move_axis(int axis, int position) noexcept;
  void place_continuations() noexcept;
  void reverse(int axis) noexcept;
};

}  // namespace refarray::core
