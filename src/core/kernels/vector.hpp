// Owns the vectors the kernels compute with: as wide as the instruction set this file is compiled
// for, made of the compiler's own vector types, so that one source serves every level.
//
// Everything has internal linkage: the linker must never take a function that was compiled for one
// instruction set for another's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace refarray::core::kernels {
namespace {

/// Bytes of a vector; 8 stands for no vectors at all.
#if defined(REFARRAY_PLAIN)
constexpr int kWidth = 8;
#elif defined(__AVX512VBMI__)
constexpr int kWidth = 64;
#elif defined(__AVX2__)
constexpr int kWidth = 32;
#else
constexpr int kWidth = 16;
#endif
constexpr bool kPlain = kWidth == 8;

constexpr std::int64_t kLine = 64;  // bytes of a cache line

template <int kUnit>
struct UnitOf;
template <>
struct UnitOf<1> {
  using type = std::uint8_t;
};
template <>
struct UnitOf<2> {
  using type = std::uint16_t;
};
template <>
struct UnitOf<4> {
  using type = std::uint32_t;
};
template <>
struct UnitOf<8> {
  using type = std::uint64_t;
};
template <>
struct UnitOf<16> {
  typedef std::uint64_t type [[gnu::vector_size(16)]];
};

/// Vectors of 16-byte units are vectors of 8-byte lanes, shuffled in pairs.
template <int kUnit>
using Lane = typename UnitOf<(kUnit > 8 ? 8 : kUnit)>::type;

template <int kUnit, int kBytes>
struct VectorOf {
  typedef Lane<kUnit> type [[gnu::vector_size(kBytes)]];
};
template <int kUnit, int kBytes>
using Vector = typename VectorOf<kUnit, kBytes>::type;

template <class T>
[[gnu::always_inline]] inline T load(const std::byte* from) noexcept {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
[[gnu::always_inline]] inline void store(std::byte* to, T value) noexcept {
  __builtin_memcpy(to, &value, sizeof(T));
}

/// Around the caches; `to` is aligned to the vector.
template <class T>
[[gnu::always_inline]] inline void stream(std::byte* to, T value) noexcept {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 64)
    return _mm512_stream_si512(reinterpret_cast<__m512i*>(to), __builtin_bit_cast(__m512i, value));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(T) == 32)
    return _mm256_stream_si256(reinterpret_cast<__m256i*>(to), __builtin_bit_cast(__m256i, value));
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(T) == 16)
    return _mm_stream_si128(reinterpret_cast<__m128i*>(to), __builtin_bit_cast(__m128i, value));
#endif
  store(to, value);
}

template <bool kStreams, class T>
[[gnu::always_inline]] inline void put(std::byte* to, T value) noexcept {
  if constexpr (kStreams)
    stream(to, value);
  else
    store(to, value);
}

/// The units that Indices::at(0), Indices::at(1) ... name.
template <int kUnit, int kBytes, class Indices>
[[gnu::always_inline]] inline Vector<kUnit, kBytes> shuffle(Vector<kUnit, kBytes> a,
                                                            Vector<kUnit, kBytes> b) noexcept {
  constexpr int kLaneBytes = kUnit > 8 ? 8 : kUnit;
  constexpr int kEach = kUnit / kLaneBytes;
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, (Indices::at(i / kEach) * kEach + i % kEach)...);
  }(std::make_integer_sequence<int, kBytes / kLaneBytes>{});
}

template <int kUnit, int kBytes>
[[gnu::always_inline]] inline Vector<kUnit, kBytes> join(Vector<kUnit, kBytes / 2> low,
                                                         Vector<kUnit, kBytes / 2> high) noexcept {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(low, high, i...);
  }(std::make_integer_sequence<int, kBytes / (kUnit > 8 ? 8 : kUnit)>{});
}

inline std::int64_t least(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }

/// Bytes from `to` on until the next cache line begins.
inline std::int64_t to_line(const std::byte* to) noexcept {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) & (kLine - 1));
}

}  // namespace
}  // namespace refarray::core::kernels
