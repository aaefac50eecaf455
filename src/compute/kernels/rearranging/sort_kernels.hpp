// Arguments of the kernels that sort, search and compare neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/work_sharing.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core::kernels {

/// One row of contiguous elements. `scratch` holds sort_scratch_words words of 8 bytes.
struct SortCall {
  std::byte* out;       // the sorted elements, or the int64 indices that sort them
  const std::byte* in;  // may be `out`, but not for indices
  std::int64_t count;
  bool descending;
  std::uint64_t* scratch;  // sort_scratch_words() or order_scratch_words()
  const InterruptCheck* interrupt;
};

enum class Sorted : std::uint8_t {
  kYes,
  kInterrupted,
  /// There are zeros of both signs, which are equal: only an order that keeps their places is
  /// right.
  kNeedsOrder,
};

/// From here on a row is sorted by radix.
inline constexpr std::int64_t kRadixWords = 200;

/// Words of 8 bytes in which a radix sort of a row by up to `digits` bytes counts.
constexpr std::int64_t radix_words(std::int64_t count, std::int64_t digits) noexcept {
  return count < kRadixWords ? 0 : 256 * digits;
}
/// Words of 8 bytes that a row of `count` elements needs, after radix_words(): for sort() three
/// copies of it, for order() three words for each element.
constexpr std::int64_t sort_scratch_words(std::int64_t count, std::int64_t itemsize) noexcept {
  return radix_words(count, itemsize) + (3 * (count + 1) * itemsize + 7) / 8;
}
inline constexpr std::int64_t kOrderDigits = 4;  // bytes of a key beside an index in one word
constexpr std::int64_t order_scratch_words(std::int64_t count) noexcept {
  return radix_words(count, kOrderDigits) + 3 * count + 1;
}

inline constexpr std::int64_t kLaneKeyBytes = 32;
inline constexpr std::int64_t kSortedKeys = 8;  // are sorted in registers
/// The keys of a row of `count` elements, and those that fill up the last kSortedKeys.
constexpr std::int64_t padded_keys(std::int64_t count) noexcept {
  return (count + kSortedKeys - 1) / kSortedKeys * kSortedKeys;
}

/// Several rows, of which the elements of equal index are contiguous.
struct LaneSort {
  std::byte* tile;
  std::int64_t count;  // of elements in a row
  std::int64_t rows;   // rounded up to whole cache lines of elements
  std::int64_t pitch;  // bytes from one index to the next
  bool descending;
  std::byte* keys;  // scratch memory of kLaneKeyBytes for each of padded_keys(), aligned to that
  /// Of each row whether the result is not right: see Sorted::kNeedsOrder. Also NaN of different
  /// bits keep their places.
  bool* needs_order;
};

/// The elements [begin, end) of what two sorted ranges are together, in order.
struct MergeCall {
  std::byte* out;  // of all elements
  const std::byte* first;
  std::int64_t num_first;
  const std::byte* second;
  std::int64_t num_second;
  std::int64_t begin, end;
  bool descending;
};

struct SearchCall {
  const std::byte* sorted;  // ascending
  std::int64_t count;
  const std::byte* values;
  std::int64_t num_values;
  bool after_equals;  // the position after equal elements instead of before them
};

/// The least and the greatest of some keys: unsigned integers in the order of the elements.
struct KeyRange {
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
};

// All kernels are for one dtype: an index into kScalars below 15, but not of complex numbers. The
// order is that of the values; NaN is greater than all others, and equal to NaN. All sorting is
// stable.
struct Sorting {
  Sorted (*sort)(ScalarType dtype, const SortCall& call) noexcept;
  void (*sort_lanes)(ScalarType dtype, const LaneSort& call) noexcept;
  Sorted (*order)(ScalarType dtype, const SortCall& call) noexcept;
  void (*merge)(ScalarType dtype, const MergeCall& call) noexcept;
  void (*search)(ScalarType dtype, const SearchCall& call, std::int64_t* positions) noexcept;
  /// found[i]: whether value i, if it is not NaN, is among the sorted elements.
  void (*contains)(ScalarType dtype, const SearchCall& call, std::byte* found) noexcept;
  /// Widens the range to the keys of these elements; NaN is above all others.
  void (*widen_range)(ScalarType dtype, const std::byte* in, std::int64_t count,
                      KeyRange& range) noexcept;
  /// table[key - low] = 1 for the key of each element, which is in the range. The table has a byte
  /// for each key of the range, and a last one for all others.
  void (*mark)(ScalarType dtype, const std::byte* in, std::int64_t count, const KeyRange& range,
               std::byte* table) noexcept;
  /// found[i]: whether the key of element i, if it is not NaN, is marked.
  void (*find_marked)(ScalarType dtype, const std::byte* in, std::int64_t count,
                      const KeyRange& range, const std::byte* table, std::byte* found) noexcept;
  /// differs[i] = 1 where element i is not equal to the one before it. NaN is not equal to
  /// anything. Both parts of complex numbers, which are allowed here, are compared.
  void (*differences)(ScalarType dtype, const std::byte* in, std::int64_t count,
                      std::byte* differs) noexcept;
};

}  // namespace refarray::core::kernels
