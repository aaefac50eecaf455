// Functors of division: quotients, quotients rounded down, and remainders.
#pragma once

#include "compute/ops/functors/types.hpp"

namespace refarray::core::functors {
namespace {

/// Of an infinite divisor: the quotient of a finite number is 0, with signs by C99's annex G.
template <class T>
constexpr Complex<T> over_infinity(Complex<T> x, Complex<T> y) noexcept {
  const T real = is_infinite(y.real) ? with_sign(T{1}, y.real) : with_sign(T{0}, y.real);
  const T imag = is_infinite(y.imag) ? with_sign(T{1}, y.imag) : with_sign(T{0}, y.imag);
  return {T{0} * (x.real * real + x.imag * imag), T{0} * (x.imag * real - x.real * imag)};
}

/// By Smith's method, which scales by the larger part of the divisor so that its square cannot
/// overflow.
constexpr Complex<double> finite_quotient(Complex<double> x, Complex<double> y) noexcept {
  if (absolute(y.real) >= absolute(y.imag)) {
    const double ratio = y.imag / y.real;
    const double scale = y.real + y.imag * ratio;
    return {(x.real + x.imag * ratio) / scale, (x.imag - x.real * ratio) / scale};
  }
  const double ratio = y.real / y.imag;
  const double scale = y.imag + y.real * ratio;
  return {(x.real * ratio + x.imag) / scale, (x.imag * ratio - x.real) / scale};
}

/// In double, where products of floats are exact and squares of them do not overflow: each part
/// has its digits, also where the products cancel.
constexpr Complex<float> finite_quotient(Complex<float> x, Complex<float> y) noexcept {
  const double a = x.real, b = x.imag, c = y.real, d = y.imag;
  const double square = c * c + d * d;
  return {static_cast<float>((a * c + b * d) / square),
          static_cast<float>((b * c - a * d) / square)};
}

template <class T>
constexpr Complex<T> complex_quotient(Complex<T> x, Complex<T> y) noexcept {
  if (y.real == 0 && y.imag == 0) return {x.real / absolute(y.real), x.imag / absolute(y.real)};
  if ((is_infinite(y.real) || is_infinite(y.imag)) && is_finite(x.real) && is_finite(x.imag))
    return over_infinity(x, y);
  return finite_quotient(x, y);
}

/// 1 / y: zeros have the signs of y's conjugate, so that a number beside a branch cut keeps its
/// side.
template <class T>
constexpr Complex<T> complex_reciprocal(Complex<T> y) noexcept {
  if (y.real == 0 && y.imag == 0) return {kInfinity<T>, kNaN<T>};
  if (is_infinite(y.real) || is_infinite(y.imag))
    return {with_sign(T{0}, y.real), with_sign(T{0}, -y.imag)};
  const double c = y.real, d = y.imag;
  if constexpr (sizeof(T) == 4) {
    const double square = c * c + d * d;
    return {static_cast<float>(c / square), static_cast<float>(-d / square)};
  } else {
    const bool is_real_larger = absolute(c) >= absolute(d);
    const double larger = is_real_larger ? c : d, smaller = is_real_larger ? d : c;
    const double ratio = smaller / larger, scale = larger + smaller * ratio;
    return {(is_real_larger ? 1 : ratio) / scale, -(is_real_larger ? ratio : 1) / scale};
  }
}

struct Divide {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_complex<T>)
      return complex_quotient(x, y);
    else
      return x / y;
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

/// Whether the quotient of which a floor was taken is less than it, by floor * y - x.
template <class T>
constexpr bool is_above(T excess, T y) noexcept {
  return y < 0 ? excess < 0 : excess > 0;
}

/// The floor of the exact quotient, rounded once. In double the floor is right, or the integer
/// after it. Infinite and zero operands follow the division.
inline float floor_quotient(float x, float y) noexcept {
  const double dividend = x, divisor = y;
  const double floor = floor_of(dividend / divisor);
  // floor * y - x by the products of two parts, exactly. NaN, which is above nothing, if infinite.
  const double high = static_cast<float>(floor);
  const double excess = (high * divisor - dividend) + (floor - high) * divisor;
  return static_cast<float>(floor - (is_above(excess, divisor) ? 1.0 : 0.0));
}

/// a * b - c, for an integer a and a c that is near a * b, without a fused multiply-add: by
/// Dekker's product, whose terms are exact. |a| and |b| are less than 2^996.
inline double product_excess(double a, double b, double c) noexcept {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double wide_a = kSplit * a, wide_b = kSplit * b;
  const double high_a = wide_a - (wide_a - a), high_b = wide_b - (wide_b - b);
  const double low_a = a - high_a, low_b = b - high_b;
  const double product = a * b;
  const double lost =
      ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b;
  return (product - c) + lost;
}

/// For a `floor` beyond 2^53 that is above the exact quotient: the rounded floor is the number
/// below if the floor is the midpoint of the two, whose mantissa is even.
inline double round_floor_again(double floor, double excess, double y) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(floor);
  const double power = std::bit_cast<double>(bits & (std::uint64_t{0x7FF} << 52));
  const double half_step = power * 0x1p-53;
  const bool is_midpoint = half_step * absolute(y) - absolute(excess) < absolute(y);
  return (bits & 1) != 0 && is_midpoint ? floor - 2 * half_step : floor;
}

inline double floor_quotient(double x, double y) noexcept {
  const double quotient = x / y;
  if (absolute(x) < absolute(y)) {
    const bool is_zero = x == 0 || is_infinite(y) || is_negative(x) == is_negative(y);
    return is_zero ? with_sign(0.0, quotient) : -1.0;
  }
  // Greater quotients are no nearer than 1 to a midpoint, unless they are one.
  if (!(absolute(quotient) < 0x1p107)) return quotient;
  const double floor = floor_of(quotient);
  const double scale = absolute(x) > 0x1p900 ? 0x1p-200 : 1.0;  // exact: y is not much smaller
  const double excess = product_excess(floor, y * scale, x * scale);
  if (!is_above(excess, y)) return floor;
  return absolute(floor) <= 0x1p53 ? floor - 1 : round_floor_again(floor, excess, y * scale);
}

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
};

}  // namespace
}  // namespace refarray::core::functors
