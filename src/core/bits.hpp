// Reading and writing packed elements: values of up to 8 bits at any bit offset.
#pragma once

#include <cstddef>

namespace refarray::core {

/// Reads `width` <= 8 bits at bit offset `bit` < 8; accesses data[1] only if they extend into it.
inline unsigned read_bits(const std::byte* data, int bit, int width) noexcept {
  unsigned value = std::to_integer<unsigned>(data[0]) >> bit;
  if (bit + width > 8) value |= std::to_integer<unsigned>(data[1]) << (8 - bit);
  return value & ((1U << width) - 1);
}

/// Writes them; `value` has no bits above `width`. All other bits are preserved.
inline void write_bits(std::byte* data, int bit, int width, unsigned value) noexcept {
  const unsigned mask = ((1U << width) - 1) << bit;
  const unsigned shifted = value << bit;
  data[0] = (data[0] & ~std::byte(mask & 0xFFU)) | std::byte(shifted & 0xFFU);
  if (mask > 0xFFU) data[1] = (data[1] & ~std::byte(mask >> 8)) | std::byte(shifted >> 8);
}

}  // namespace refarray::core
