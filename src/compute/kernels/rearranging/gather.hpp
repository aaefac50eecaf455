// Arguments of the kernels that move the elements which index arrays and masks select.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refarray::core::kernels {

/// `count` elements of `bytes` bytes at arbitrary places of one side, and at equal distances of the
/// other. All pointers may be misaligned; the two sides do not overlap.
struct IndexedMove {
  std::byte* dst;
  const std::byte* src;
  const std::int64_t* offsets;  // bytes: from `src` when gathering, from `dst` when scattering
  std::int64_t count;
  std::int64_t step;   // bytes from one element of the other side to the next
  std::int64_t bytes;  // of one element
};

/// Adds index * stride to `count` offsets, or stores it if not `adds`. Negative indices count from
/// the end. `offsets` may be `index`.
struct IndexTerm {
  std::int64_t* offsets;
  const std::int64_t* index;
  std::int64_t count;
  std::int64_t low;  // least valid index: -extent, or 0 for unsigned dtypes
  std::int64_t extent;
  std::int64_t stride;
  bool adds;
};

/// The operations of an instruction set that indexing is made of.
struct Gathering {
  // By log2 of the element's size up to 16 bytes, and last for any size. Scattering writes in
  // order: of equal offsets the last one wins.
  void (*gather[6])(const IndexedMove& move) noexcept;
  void (*scatter[6])(const IndexedMove& move) noexcept;
  /// The position of the first index out of range, at which it has stopped, or -1.
  std::int64_t (*add_term)(const IndexTerm& term) noexcept;
  /// The number of bytes that are not zero.
  std::int64_t (*count_set)(const std::byte* mask, std::int64_t count) noexcept;
  /// Writes first + i * stride for each byte i that is not zero, at most `limit` numbers; returns
  /// how many.
  std::int64_t (*positions)(std::int64_t* out, std::int64_t limit, const std::byte* mask,
                            std::int64_t count, std::int64_t first, std::int64_t stride) noexcept;
  /// Copies the elements whose bytes in `mask` are not zero, at most `limit`; returns how many. By
  /// log2 of the element's size.
  std::int64_t (*select[5])(std::byte* dst, std::int64_t limit, const std::byte* src,
                            const std::byte* mask, std::int64_t count) noexcept;
};

}  // namespace refarray::core::kernels
