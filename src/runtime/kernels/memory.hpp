// Loads and stores of kernels: typed words, and bits of packed elements.
#pragma once

#include <cstdint>
#include <type_traits>

namespace refarray::runtime::kernels {

// GPUs have several address spaces. Unless the compiler knows that a pointer is to global memory,
// it emits slower generic accesses.
#if defined(__NVPTX__) || defined(__AMDGCN__)
template <class T>
using Global = T __attribute__((address_space(1)));
#else
template <class T>
using Global = T;
#endif

/// The word of kBytes that one load or store moves.
using Word16 = std::uint32_t __attribute__((vector_size(16)));
template <int kBytes>
using CopyWord = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t,
                                          std::conditional_t<kBytes == 8, std::uint64_t, Word16>>>>;

/// `address` is aligned to sizeof(T).
template <class T>
inline T load(std::uint64_t address) noexcept {
  return *reinterpret_cast<const Global<T>*>(address);
}
template <class T>
inline void store(std::uint64_t address, T value) noexcept {
  *reinterpret_cast<Global<T>*>(address) = value;
}

/// Loads `width` <= 32 bits that start `bit` bits after the byte at `address`; accesses no byte
/// outside them.
inline std::uint32_t load_bits(std::uint64_t address, std::int64_t bit,
                               std::uint32_t width) noexcept {
  address += static_cast<std::uint64_t>(bit >> 3);
  const auto skip = static_cast<std::uint32_t>(bit & 7);
  std::uint64_t bits = 0;
  for (std::uint32_t byte = 0; byte * 8 < skip + width; ++byte)
    bits |= std::uint64_t{load<std::uint8_t>(address + byte)} << (byte * 8);
  return static_cast<std::uint32_t>(bits >> skip) &
         static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
}

/// Sets the masked bits of an aligned word. Other threads may set other bits concurrently: both
/// operations are atomic and leave those unchanged.
inline void store_masked(std::uint64_t address, std::uint32_t mask, std::uint32_t bits) noexcept {
  auto* const word = reinterpret_cast<Global<std::uint32_t>*>(address);
  __atomic_fetch_and(word, ~mask, __ATOMIC_RELAXED);
  __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

/// The inverse of load_bits; safe while other threads store neighbouring bits. Accesses the whole
/// words around the bits.
inline void store_bits(std::uint64_t address, std::int64_t bit, std::uint32_t width,
                       std::uint32_t value) noexcept {
  address += static_cast<std::uint64_t>(bit >> 3);
  const auto skip = static_cast<std::uint32_t>(((address & 3) << 3) | (bit & 7));
  const std::uint64_t mask = ((std::uint64_t{1} << width) - 1) << skip;
  const std::uint64_t bits = std::uint64_t{value} << skip;
  address &= ~std::uint64_t{3};
  store_masked(address, static_cast<std::uint32_t>(mask), static_cast<std::uint32_t>(bits));
  if (const auto rest = static_cast<std::uint32_t>(mask >> 32); rest != 0)
    store_masked(address + 4, rest, static_cast<std::uint32_t>(bits >> 32));
}

}  // namespace refarray::runtime::kernels
