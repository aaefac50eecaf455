// Vector loads, stores and shuffles in terms of the compiler's vector types, as wide as the
// instruction set that this file is compiled for.
//
// Everything has internal linkage: otherwise the linker could use a function that was compiled for
// one instruction set in another's kernels (a violation of the one-definition rule).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace refarray::core::kernels {
namespace {

/// Bytes of a vector; 8 means no vectorization.
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

/// The same for what computes, which needs no VBMI.
#if defined(__AVX512F__)
[[maybe_unused]] constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
[[maybe_unused]] constexpr int kVectorBytes = 32;
#else
[[maybe_unused]] constexpr int kVectorBytes = 16;
#endif

constexpr std::int64_t kLine = 64;  // bytes of a cache line
/// Bytes of a row that is worth streaming although it does not consist of whole lines.
[[maybe_unused]] constexpr std::int64_t kWorthStreaming = 2048;

template <int kWordSize>
struct WordOf;
template <>
struct WordOf<1> {
  using type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using type = std::uint64_t;
};
template <>
struct WordOf<16> {
  typedef std::uint64_t type [[gnu::vector_size(16)]];
};

/// Vectors of 16-byte words consist of 8-byte lanes that are shuffled in pairs.
template <int kWordSize>
using Lane = typename WordOf<(kWordSize > 8 ? 8 : kWordSize)>::type;

template <class T, int kBytes>
struct VectorOf {
  typedef T type [[gnu::vector_size(kBytes)]];
};
template <int kWordSize, int kBytes>
using Vector = typename VectorOf<Lane<kWordSize>, kBytes>::type;

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

/// Non-temporal store, where the instruction set has one; `to` is aligned to the vector.
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
[[gnu::always_inline]] inline void write(std::byte* to, T value) noexcept {
  if constexpr (kStreams)
    stream(to, value);
  else
    store(to, value);
}

/// Word i of the result is word Indices::at(i) of the concatenation of `a` and `b`.
template <int kWordSize, int kBytes, class Indices>
[[gnu::always_inline]] inline Vector<kWordSize, kBytes> shuffle(
    Vector<kWordSize, kBytes> a, Vector<kWordSize, kBytes> b) noexcept {
  constexpr int kLaneBytes = kWordSize > 8 ? 8 : kWordSize;
  constexpr int kEach = kWordSize / kLaneBytes;
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, (Indices::at(i / kEach) * kEach + i % kEach)...);
  }(std::make_integer_sequence<int, kBytes / kLaneBytes>{});
}

template <int kWordSize, int kBytes>
[[gnu::always_inline]] inline Vector<kWordSize, kBytes> join(
    Vector<kWordSize, kBytes / 2> low, Vector<kWordSize, kBytes / 2> high) noexcept {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(low, high, i...);
  }(std::make_integer_sequence<int, kBytes / (kWordSize > 8 ? 8 : kWordSize)>{});
}

inline std::int64_t min(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }

/// Bytes from `to` to the next cache line boundary.
inline std::int64_t bytes_to_line(const std::byte* to) noexcept {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) & (kLine - 1));
}

}  // namespace
}  // namespace refarray::core::kernels
