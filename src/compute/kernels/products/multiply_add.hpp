// The vectors of matrix products, and fused multiply-adds of their elements.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/kernels/vector.hpp"

namespace refarray::core::kernels::REFARRAY_PRODUCTS {
namespace {

template <class T>
using Vector = typename VectorOf<T, kVectorBytes>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T, int kBytes = kVectorBytes>
[[gnu::always_inline]] inline auto broadcast(T value) noexcept {
  return [value]<int... i>(std::integer_sequence<int, i...>) {
    return typename VectorOf<T, kBytes>::type{((void)i, value)...};
  }(std::make_integer_sequence<int, kBytes / static_cast<int>(sizeof(T))>{});
}

/// a * b + c, rounded once. Without an instruction for it this is the C library's, and those of
/// musl and zig give +0 for a negative product that underflows, plus +0.
template <class T>
[[gnu::always_inline]] inline T fused(T a, T b, T c) noexcept {
#if !defined(__FMA__) && !defined(__FP_FAST_FMA)
  if (c == 0 && a != 0 && b != 0) return a * b;
#endif
  if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
  if constexpr (sizeof(T) == 8) return __builtin_fma(a, b, c);
}

/// a * b + c, rounded once; integers wrap around. X: a vector of T, or T.
template <class T, class X>
[[gnu::always_inline]] inline X multiply_add(X a, X b, X c) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<X>(a * b + c);
  } else if constexpr (sizeof(X) == sizeof(T)) {
    return fused(a, b, c);
#if defined(__AVX512F__)
  } else if constexpr (sizeof(X) == 64) {
    if constexpr (sizeof(T) == 4) return (X)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    if constexpr (sizeof(T) == 8) return (X)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#endif
#if defined(__FMA__)
  } else if constexpr (sizeof(X) == 32) {
    if constexpr (sizeof(T) == 4) return (X)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    if constexpr (sizeof(T) == 8) return (X)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
  } else {
    for (int i = 0; i < static_cast<int>(sizeof(X) / sizeof(T)); ++i)
      c[i] = multiply_add<T, T>(a[i], b[i], c[i]);
    return c;
  }
}

/// The neutral element of addition.
template <class T>
constexpr T kNothing = std::is_integral_v<T> ? T{0} : -T{0};

}  // namespace
}  // namespace refarray::core::kernels::REFARRAY_PRODUCTS
