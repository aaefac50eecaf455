// Owns access to values of up to a byte that need not begin at a byte: how packed elements are read
// and written.
#pragma once

#include <cstddef>

namespace refarray::core {

/// `width` <= 8 bits that begin `bit` bits into data[0]; touches data[1] only if they reach into
/// it.
inline unsigned read_bits(const std::byte* data, int bit, int width) noexcept {
  unsigned value = std::to_integer<unsigned>(data[0]) >> bit;
  if (bit + width > 8) value |= std::to_integer<unsigned>(data[1]) << (8 - bit);
  return value & ((1U << width) - 1);
}

/// The inverse; `value` has no bits above `width`, and bits beside it survive.
inline void write_bits(std::byte* data, int bit, int width, unsigned value) noexcept {
  const unsigned mask = ((1U << width) - 1) << bit;
  const unsigned shifted = value << bit;
  data[0] = (data[0] & ~std::byte(mask & 0xFFU)) | std::byte(shifted & 0xFFU);
  if (mask > 0xFFU) data[1] = (data[1] & ~std::byte(mask >> 8)) | std::byte(shifted >> 8);
}

}  // namespace refarray::core
