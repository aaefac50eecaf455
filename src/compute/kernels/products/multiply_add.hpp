// The vectors of matrix products, and fused multiply-adds of their elements.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/kernels/vector.hpp"

namespace refarray::core::kernels::REFARRAY_PRODUCTS {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
using Vector = typename VectorOf<T, kVectorBytes>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Vector<T> broadcast(T value) noexcept {
  return [value]<int... i>(std::integer_sequence<int, i...>) {
    return Vector<T>{((void)i, value)...};
  }(std::make_integer_sequence<int, kLanes<T>>{});
}

/// a * b + c, rounded once; integers wrap around.
template <class T>
[[gnu::always_inline]] inline Vector<T> multiply_add(Vector<T> a, Vector<T> b,
                                                     Vector<T> c) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return a * b + c;
  } else {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
      return (Vector<T>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    if constexpr (sizeof(T) == 8)
      return (Vector<T>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    if constexpr (sizeof(T) == 4)
      return (Vector<T>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    if constexpr (sizeof(T) == 8)
      return (Vector<T>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    for (int i = 0; i < kLanes<T>; ++i) {
      if constexpr (sizeof(T) == 4) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
      if constexpr (sizeof(T) == 8) c[i] = __builtin_fma(a[i], b[i], c[i]);
    }
    return c;
#endif
  }
}

/// The same of single elements.
template <class T>
[[gnu::always_inline]] inline T multiply_add(T a, T b, T c) noexcept {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(a * b + c);
  if constexpr (std::is_same_v<T, float>) return __builtin_fmaf(a, b, c);
  if constexpr (std::is_same_v<T, double>) return __builtin_fma(a, b, c);
}

/// The neutral element of addition.
template <class T>
constexpr T kNothing = std::is_integral_v<T> ? T{0} : -T{0};

}  // namespace
}  // namespace refarray::core::kernels::REFARRAY_PRODUCTS
