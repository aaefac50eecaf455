// Functors of division: quotients, quotients rounded down, and remainders.
#pragma once

#include "core/ops/functors/types.hpp"

namespace refarray::core::functors {
namespace {

/// Complex quotients by Smith's method, which scales by the larger part of the divisor so that its
/// square cannot overflow; complex64 in double, where it cannot overflow anyway.
template <class T>
constexpr Complex<T> complex_quotient(Complex<T> x, Complex<T> y) noexcept {
  if (y.real == 0 && y.imag == 0) return {x.real / absolute(y.real), x.imag / absolute(y.real)};
  if ((is_infinite(y.real) || is_infinite(y.imag)) && is_finite(x.real) && is_finite(x.imag)) {
    const T real = is_infinite(y.real) ? with_sign(T{1}, y.real) : with_sign(T{0}, y.real);
    const T imag = is_infinite(y.imag) ? with_sign(T{1}, y.imag) : with_sign(T{0}, y.imag);
    return {T{0} * (x.real * real + x.imag * imag), T{0} * (x.imag * real - x.real * imag)};
  }
  if (absolute(y.real) >= absolute(y.imag)) {
    const T ratio = y.imag / y.real;
    const T scale = y.real + y.imag * ratio;
    return {(x.real + x.imag * ratio) / scale, (x.imag - x.real * ratio) / scale};
  }
  const T ratio = y.real / y.imag;
  const T scale = y.imag + y.real * ratio;
  return {(x.real * ratio + x.imag) / scale, (x.imag * ratio - x.real) / scale};
}

struct Divide {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (std::is_same_v<T, Complex<float>>) {
      const Complex<double> quotient = complex_quotient<double>({x.real, x.imag}, {y.real, y.imag});
      return {static_cast<float>(quotient.real), static_cast<float>(quotient.imag)};
    } else if constexpr (is_complex<T>) {
      return complex_quotient(x, y);
    } else {
      return x / y;
    }
  }
};

inline float remainder_of(float x, float y) noexcept { return __builtin_fmodf(x, y); }
inline double remainder_of(double x, double y) noexcept { return __builtin_fmod(x, y); }

/// The remainder with the sign of the divisor: exact, by the standard's special cases.
template <class T>
constexpr T floor_remainder(T x, T y) noexcept {
  T rest = remainder_of(x, y);  // exact; NaN for an infinite x, a zero y, and NaN
  if (rest == 0) return with_sign(rest, y);
  if (is_negative(rest) != is_negative(y)) rest += y;
  return rest;
}

struct Remainder {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_integer<T>) {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return 0;  // the processor traps at the remainder of the smallest integer
        const T rest = static_cast<T>(x % y);
        return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
      } else {
        return static_cast<T>(x % y);
      }
    } else {
      return floor_remainder(x, y);
    }
  }
};

struct FloorDivide {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_integer<T>) {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
        const T quotient = static_cast<T>(x / y);
        return x % y != 0 && (x < 0) != (y < 0) ? static_cast<T>(quotient - 1) : quotient;
      } else {
        return static_cast<T>(x / y);
      }
    } else {
      return floor_quotient(x, y);
    }
  }

 private:
  /// The floor of the exact quotient, so that x == y * (x // y) + x % y as far as the dtype can
  /// hold it. Infinite operands and results follow the division.
  template <class T>
  static constexpr T floor_quotient(T x, T y) noexcept {
    const T quotient = x / y;
    if (x == 0 || !is_finite(quotient) || !is_finite(y)) return floor_of(quotient);
    const T whole = (x - floor_remainder(x, y)) / y;  // an integer, but for rounding errors
    if (whole == 0) return with_sign(T{0}, quotient);
    const T floor = floor_of(whole);
    return whole - floor > T{0.5} ? floor + T{1} : floor;
  }
};

}  // namespace
}  // namespace refarray::core::functors
