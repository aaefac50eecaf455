// StridedSpan: elements at equal distances, the argument of the conversion kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refarray::core {

/// Distances are in BITS, so that packed types need no separate path.
struct StridedSpan {
  std::byte* data = nullptr;
  std::int64_t stride = 0;  // bits from one element to the next
  int bit = 0;    // 0..7: offset of the first element in data[0]; 0 unless the type is packed
  int width = 0;  // bits of one element, without padding

  StridedSpan at(std::int64_t bits) const noexcept {
    const std::int64_t position = bit + bits;
    return {data + (position >> 3), stride, static_cast<int>(position & 7), width};
  }
};

/// Copies `count` >= 1 elements. The two spans do not overlap.
using Kernel = void (*)(const StridedSpan& dst, const StridedSpan& src,
                        std::int64_t count) noexcept;

}  // namespace refarray::core
