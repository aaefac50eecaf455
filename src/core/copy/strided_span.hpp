// Owns StridedSpan: elements at equal distances, the piece of memory that one call of a conversion
// kernel sees.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refarray::core {

/// Distances are in BITS, so that packed types need no second path.
struct StridedSpan {
  std::byte* data = nullptr;
  std::int64_t stride = 0;  // bits from one element to the next
  int bit = 0;    // 0..7: where in data[0] the first element begins; 0 unless the type is packed
  int width = 0;  // bits of one element that carry its value

  StridedSpan at(std::int64_t bits) const noexcept {
    const std::int64_t position = bit + bits;
    return {data + (position >> 3), stride, static_cast<int>(position & 7), width};
  }
};

/// Moves `count` >= 1 elements of one run. The two runs share no memory.
using Kernel = void (*)(const StridedSpan& dst, const StridedSpan& src,
                        std::int64_t count) noexcept;

}  // namespace refarray::core
