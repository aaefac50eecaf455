// Discrete Fourier transforms of a few elements, for scalars and vectors of transforms alike.
#pragma once

#include "compute/kernels/transforms/fourier.hpp"

namespace refarray::core::kernels {
namespace {

template <class V>
struct Complex {
  V real;
  V imag;
};

template <class V>
[[gnu::always_inline]] inline Complex<V> operator+(const Complex<V>& x,
                                                   const Complex<V>& y) noexcept {
  return {x.real + y.real, x.imag + y.imag};
}
template <class V>
[[gnu::always_inline]] inline Complex<V> operator-(const Complex<V>& x,
                                                   const Complex<V>& y) noexcept {
  return {x.real - y.real, x.imag - y.imag};
}
/// W is V, or the type of one lane.
template <class V, class W>
[[gnu::always_inline]] inline Complex<V> product(const Complex<V>& x,
                                                 const Complex<W>& y) noexcept {
  return {x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real};
}

template <class V>
[[gnu::always_inline]] inline void butterfly_of_2(Complex<V>* arms) noexcept {
  const Complex<V> difference = arms[0] - arms[1];
  arms[0] = arms[0] + arms[1];
  arms[1] = difference;
}

template <class V>
[[gnu::always_inline]] inline void butterfly_of_4(Complex<V>* arms) noexcept {
  const Complex<V> even = arms[0] + arms[2], even_difference = arms[0] - arms[2];
  const Complex<V> odd = arms[1] + arms[3], odd_difference = arms[1] - arms[3];
  arms[0] = even + odd;
  arms[1] = {even_difference.real + odd_difference.imag,
             even_difference.imag - odd_difference.real};
  arms[2] = even - odd;
  arms[3] = {even_difference.real - odd_difference.imag,
             even_difference.imag + odd_difference.real};
}

/// An odd radix: the arms i and radix - i have conjugate roots, so their sums and differences are
/// enough. kRadix: the radix if it is known at compile time, otherwise 0.
template <int kRadix, class V, class T>
[[gnu::always_inline]] inline void odd_butterfly(Complex<V>* arms, int radix,
                                                 Planes<const T> roots) noexcept {
  constexpr int kMostPairs = (kRadix > 0 ? kRadix : kMaxRadix) / 2;
  const int pairs = radix / 2;
  Complex<V> sums[kMostPairs], differences[kMostPairs];
  const Complex<V> first = arms[0];
  for (int i = 0; i < pairs; ++i) {
    sums[i] = arms[i + 1] + arms[radix - 1 - i];
    differences[i] = arms[i + 1] - arms[radix - 1 - i];
    arms[0] = arms[0] + sums[i];
  }
  for (int j = 1; j <= pairs; ++j) {
    Complex<V> even = first, odd{};
    int root = 0;
    for (int i = 0; i < pairs; ++i) {
      root += j;
      if (root >= radix) root -= radix;
      const T cosine = roots.real[root], sine = roots.imag[root];
      even = {even.real + sums[i].real * cosine, even.imag + sums[i].imag * cosine};
      odd = {odd.real + differences[i].real * sine, odd.imag + differences[i].imag * sine};
    }
    arms[j] = {even.real - odd.imag, even.imag + odd.real};
    arms[radix - j] = {even.real + odd.imag, even.imag - odd.real};
  }
}

/// Replaces the arms by their transform.
template <int kRadix, class V, class T>
[[gnu::always_inline]] inline void butterfly(Complex<V>* arms, int radix,
                                             Planes<const T> roots) noexcept {
  if constexpr (kRadix == 2) {
    butterfly_of_2(arms);
  } else if constexpr (kRadix == 4) {
    butterfly_of_4(arms);
  } else {
    odd_butterfly<kRadix>(arms, radix, roots);
  }
}

}  // namespace
}  // namespace refarray::core::kernels
