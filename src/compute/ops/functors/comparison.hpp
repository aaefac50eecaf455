// Functors of comparisons, of logic and of the classification of floating-point numbers.
#pragma once

#include "compute/ops/functors/types.hpp"

namespace refarray::core::functors {
namespace {

struct Equal {
  template <class T>
  static constexpr Boolean apply(T x, T y) noexcept {
    if constexpr (is_complex<T>)
      return boolean(x.real == y.real && x.imag == y.imag);
    else if constexpr (is_boolean<T>)
      return boolean(truth(x) == truth(y));
    else
      return boolean(x == y);
  }
};

struct NotEqual {
  template <class T>
  static constexpr Boolean apply(T x, T y) noexcept {
    return boolean(!truth(Equal::apply(x, y)));
  }
};

/// Of real numbers.
template <auto kHolds>
struct Comparison {
  template <class T>
  static constexpr Boolean apply(T x, T y) noexcept {
    return boolean(kHolds(x, y));
  }
};
using Less = Comparison<[](auto x, auto y) { return x < y; }>;
using LessEqual = Comparison<[](auto x, auto y) { return x <= y; }>;
using Greater = Comparison<[](auto x, auto y) { return y < x; }>;
using GreaterEqual = Comparison<[](auto x, auto y) { return y <= x; }>;

/// The greater of two numbers: NaN if one is NaN, and +0 rather than -0.
struct Maximum {
  /// Of vectors too.
  template <class T>
  static constexpr auto prefers(T x, T y) noexcept {
    return x > y;
  }
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_real_floating<T>) {
      const T greater = prefers(x, y) ? x : y;  // y if one is NaN
      const T of_equals = std::bit_cast<T>(
          static_cast<Bits<T>>(std::bit_cast<Bits<T>>(x) & std::bit_cast<Bits<T>>(y)));
      const T out = x == y ? of_equals : greater;
      return is_nan(x) ? x : out;
    } else {
      return prefers(x, y) ? x : y;
    }
  }
};

/// The lesser of two numbers: NaN if one is NaN, and -0 rather than +0.
struct Minimum {
  /// Of vectors too.
  template <class T>
  static constexpr auto prefers(T x, T y) noexcept {
    return x < y;
  }
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_real_floating<T>) {
      const T lesser = prefers(x, y) ? x : y;  // y if one is NaN
      const T of_equals = std::bit_cast<T>(
          static_cast<Bits<T>>(std::bit_cast<Bits<T>>(x) | std::bit_cast<Bits<T>>(y)));
      const T out = x == y ? of_equals : lesser;
      return is_nan(x) ? x : out;
    } else {
      return prefers(x, y) ? x : y;
    }
  }
};

struct IsNan {
  template <class T>
  static constexpr Boolean apply(T x) noexcept {
    if constexpr (is_complex<T>)
      return boolean(is_nan(x.real) || is_nan(x.imag));
    else
      return boolean(is_nan(x));
  }
};

struct IsInf {
  template <class T>
  static constexpr Boolean apply(T x) noexcept {
    if constexpr (is_complex<T>)
      return boolean(is_infinite(x.real) || is_infinite(x.imag));
    else if constexpr (is_real_floating<T>)
      return boolean(is_infinite(x));
    else
      return boolean(false);
  }
};

struct IsFinite {
  template <class T>
  static constexpr Boolean apply(T x) noexcept {
    if constexpr (is_complex<T>)
      return boolean(is_finite(x.real) && is_finite(x.imag));
    else if constexpr (is_real_floating<T>)
      return boolean(is_finite(x));
    else
      return boolean(true);
  }
};

struct SignBit {
  template <class T>
  static constexpr Boolean apply(T x) noexcept {
    return boolean(is_negative(x));
  }
};

}  // namespace
}  // namespace refarray::core::functors
