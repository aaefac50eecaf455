// Functors of arithmetic: sums, products, powers of integers, absolute values, signs.
#pragma once

#include "compute/ops/functors/division.hpp"
#include "compute/ops/functors/types.hpp"

namespace refarray::core::functors {
namespace {

struct Add {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_complex<T>)
      return {x.real + y.real, x.imag + y.imag};
    else if constexpr (is_integer<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(x) + static_cast<Wrapping<T>>(y));
    else
      return x + y;
  }
};

struct Subtract {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_complex<T>)
      return {x.real - y.real, x.imag - y.imag};
    else if constexpr (is_integer<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(y));
    else
      return x - y;
  }
};

/// Complex products of floats in double, where the products of the parts are exact: no digit is
/// lost when they cancel.
struct Multiply {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (std::is_same_v<T, Complex<float>>) {
      const double a = x.real, b = x.imag, c = y.real, d = y.imag;
      return {static_cast<float>(a * c - b * d), static_cast<float>(a * d + b * c)};
    } else if constexpr (is_complex<T>) {
      return {x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real};
    } else if constexpr (is_integer<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(y));
    } else {
      return x * y;
    }
  }
};

/// x to the power of an integer, by squaring. Negative powers: 1 and -1 have reciprocals, those of
/// other integers are rounded toward 0, and 0 gives 0.
struct IntegerPower {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (std::is_signed_v<T>) {
      if (y < 0) {
        if (x == 1) return 1;
        if (x == -1) return y % 2 == 0 ? T{1} : T{-1};
        return 0;
      }
    }
    Wrapping<T> result = 1;
    auto base = static_cast<Wrapping<T>>(x);
    for (auto exponent = static_cast<Bits<T>>(y); exponent != 0; exponent >>= 1) {
      if (exponent & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

struct Negative {
  template <class T>
  static constexpr T apply(T x) noexcept {
    if constexpr (is_complex<T>)
      return {-x.real, -x.imag};
    else if constexpr (is_integer<T>)
      return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
    else
      return -x;
  }
};

struct Positive {
  template <class T>
  static constexpr T apply(T x) noexcept {
    return x;
  }
};

struct Square {
  template <class T>
  static constexpr T apply(T x) noexcept {
    return Multiply::apply(x, x);
  }
};

struct Reciprocal {
  template <class T>
  static constexpr T apply(T x) noexcept {
    if constexpr (is_complex<T>)
      return complex_reciprocal(x);
    else
      return T{1} / x;
  }
};

struct SquareRoot {
  static float apply(float x) noexcept { return __builtin_sqrtf(x); }
  static double apply(double x) noexcept { return __builtin_sqrt(x); }
};

/// Of real numbers. abs() of complex ones is hypot().
struct Absolute {
  template <class T>
  static constexpr T apply(T x) noexcept {
    if constexpr (std::is_signed_v<T> && is_integer<T>)
      return x < 0 ? Negative::apply(x) : x;
    else if constexpr (is_real_floating<T>)
      return absolute(x);
    else
      return x;
  }
};

/// Of real numbers.
struct Sign {
  template <class T>
  static constexpr T apply(T x) noexcept {
    if constexpr (is_real_floating<T>) {
      const T sign = static_cast<T>((x > 0) - (x < 0));
      return is_nan(x) ? x : sign;
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<T>((x > 0) - (x < 0));
    } else {
      return static_cast<T>(x != 0);
    }
  }
};

}  // namespace
}  // namespace refarray::core::functors
