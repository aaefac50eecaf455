// Functors of arithmetic: sums, products, quotients, remainders, powers of integers, signs.
#pragma once

#include "core/ops/functors/types.hpp"

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

struct Multiply {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_complex<T>)
      return {x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real};
    else if constexpr (is_integer<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(y));
    else
      return x * y;
  }
};

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

constexpr float remainder_of(float x, float y) noexcept { return __builtin_fmodf(x, y); }
constexpr double remainder_of(double x, double y) noexcept { return __builtin_fmod(x, y); }

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
      return Divide::apply(T{1, 0}, x);
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
