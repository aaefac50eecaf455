// Complex functions: exponentials, hyperbolic and trigonometric functions, logarithms, square roots
// and inverse functions.
#include "compute/ops/complex_functions.hpp"

#include <cmath>

#include "compute/ops/functors/division.hpp"

namespace refarray::core::complex_functions {
namespace {

using functors::absolute;
using functors::is_finite;
using functors::is_infinite;
using functors::is_nan;
using functors::with_sign;

constexpr double kNaN = functors::kNaN<double>;
constexpr double kInfinity = functors::kInfinity<double>;
constexpr double kLogarithmOf2 = 0.693147180559945309417232121458;
constexpr double kLogarithmOf10 = 2.30258509299404568401799145468;
constexpr double kHalfPi = 1.57079632679489661923132169164;

/// The real functions that the complex ones call, all of them.
namespace real {
using std::atan2;
using std::cos;
using std::cosh;
using std::exp;
using std::expm1;
using std::hypot;
using std::log;
using std::log1p;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tanh;
}  // namespace real

/// j z and z / j: trigonometric functions are hyperbolic ones of the turned number.
constexpr Number turned(Number z) noexcept { return {-z.imag, z.real}; }
constexpr Number turned_back(Number z) noexcept { return {z.imag, -z.real}; }

// --- exponentials

constexpr double kLargeExponent = 709;  // exp() of 710 overflows
constexpr double kExpOfLarge = 8.218407461554972189241372386597816394e307;

/// scale exp(x) factor, for a factor of at most 1: the product may be finite where exp(x) is not.
double scaled_exponential(double scale, double x, double factor) noexcept {
  if (x <= kLargeExponent) return scale * real::exp(x) * factor;
  factor *= scale * kExpOfLarge;
  x -= kLargeExponent;
  if (x > kLargeExponent) {  // of a factor that is tiny
    factor *= kExpOfLarge;
    x -= kLargeExponent;
  }
  return real::exp(x) * factor;
}

double hyperbolic_sine_times(double a, double factor) noexcept {
  if (absolute(a) <= kLargeExponent) return real::sinh(a) * factor;
  return scaled_exponential(0.5, absolute(a), with_sign(1.0, a) * factor);
}
double hyperbolic_cosine_times(double a, double factor) noexcept {
  if (absolute(a) <= kLargeExponent) return real::cosh(a) * factor;
  return scaled_exponential(0.5, absolute(a), factor);
}

}  // namespace

Number exponential(Number z) noexcept {
  const auto [a, b] = z;
  if (b == 0) return {real::exp(a), b};
  if (!is_finite(b)) {
    if (a == -kInfinity) return {0.0, with_sign(0.0, b)};
    return {a == kInfinity ? kInfinity : kNaN, kNaN};
  }
  return {scaled_exponential(1, a, real::cos(b)), scaled_exponential(1, a, real::sin(b))};
}

/// expm1(a) cos(b) + (cos(b) - 1) + j exp(a) sin(b): no difference of near numbers at 0.
Number exponential_minus_1(Number z) noexcept {
  const auto [a, b] = z;
  if (b == 0) return {real::expm1(a) + 0.0, b};
  if (!is_finite(b) || a > kLargeExponent) {
    const Number out = exponential(z);
    return {a == -kInfinity ? -1.0 : out.real, out.imag};
  }
  if (a == -kInfinity) return {-1.0, 0.0 * real::sin(b)};
  const double half = real::sin(b / 2);
  return {real::expm1(a) * real::cos(b) - 2 * half * half, real::exp(a) * real::sin(b)};
}

Number hyperbolic_sine(Number z) noexcept {
  const auto [a, b] = z;
  if (b == 0) return {real::sinh(a), b};
  if (!is_finite(b)) return {a == 0 || is_infinite(a) ? a : kNaN, kNaN};
  return {hyperbolic_sine_times(a, real::cos(b)), hyperbolic_cosine_times(a, real::sin(b))};
}

Number hyperbolic_cosine(Number z) noexcept {
  const auto [a, b] = z;
  if (b == 0) return {real::cosh(a), with_sign(1.0, a) * b};
  if (!is_finite(b)) return {is_infinite(a) ? kInfinity : kNaN, a == 0 ? a : kNaN};
  return {hyperbolic_cosine_times(a, real::cos(b)), hyperbolic_sine_times(a, real::sin(b))};
}

/// (sinh(a) cosh(a) + j sin(b) cos(b)) / (sinh(a)^2 + cos(b)^2): Abramowitz and Stegun, 4.5.51. The
/// product is sinh(a)^2 + (1 - exp(-2a)) / 2, so that an error of a large square cancels.
///
/// At an infinite real part the imaginary part is +0 or -0 with the sign of b, as the standard
/// says; C99 gives it the sign of sin(2b).
Number hyperbolic_tangent(Number z) noexcept {
  constexpr double kLarge = 22;  // beyond, the real part is 1
  const auto [a, b] = z;
  if (is_infinite(a)) return {with_sign(1.0, a), with_sign(0.0, b)};
  if (b == 0) return {real::tanh(a), b};
  if (!is_finite(b)) return {a == 0 ? a : kNaN, kNaN};
  const double cosine = real::cos(b), sine = real::sin(b);
  if (absolute(a) > kLarge) {
    const double power = real::exp(-absolute(a));
    return {with_sign(1.0, a), 4 * (sine * cosine) * power * power};
  }
  const double half = real::expm1(-2 * absolute(a)) / -2;
  const double square = real::expm1(2 * absolute(a)) * half / 2;
  const double divisor = square + cosine * cosine;
  return {with_sign((square + half) / divisor, a), sine * cosine / divisor};
}

Number sine(Number z) noexcept { return turned_back(hyperbolic_sine(turned(z))); }
Number cosine(Number z) noexcept { return hyperbolic_cosine(turned(z)); }
Number tangent(Number z) noexcept { return turned_back(hyperbolic_tangent(turned(z))); }

// --- logarithms

namespace {

constexpr double sum_error(double a, double b, double sum) noexcept {
  const double second = sum - a;
  return (a - (sum - second)) + (b - second);
}

/// |1 + d + jy|^2 - 1, which is 2d + d^2 + y^2, summed with twice the digits: the terms may cancel.
double excess_of_square(double d, double y) noexcept {
  const double square = d * d, other = y * y;
  const double first = 2 * d + other, sum = first + square;
  return sum + (sum_error(2 * d, other, first) + sum_error(first, square, sum) +
                (functors::product_excess(d, d, square) + functors::product_excess(y, y, other)));
}

/// log |z|
double logarithm_of_magnitude(Number z) noexcept {
  constexpr double kHuge = 0x1p1000;
  constexpr double kScale = 0x1p976, kLogarithmOfScale = 676.5116482265066;  // almost exact
  const double a = absolute(z.real), b = absolute(z.imag);
  const double larger = a > b ? a : b, smaller = a > b ? b : a;
  if (larger >= 0.5 && larger <= 2) {
    const double excess = excess_of_square(larger - 1, smaller);
    if (excess > -0.75) return real::log1p(excess) / 2;
  }
  if (larger > kHuge) return real::log(real::hypot(a / kScale, b / kScale)) + kLogarithmOfScale;
  if (larger < 1 / kHuge) return real::log(real::hypot(a * kScale, b * kScale)) - kLogarithmOfScale;
  return real::log(real::hypot(a, b));
}

constexpr Number divided(Number z, double divisor) noexcept {
  return {z.real / divisor, z.imag / divisor};
}

}  // namespace

Number logarithm(Number z) noexcept {
  return {logarithm_of_magnitude(z), real::atan2(z.imag, z.real)};
}

Number logarithm2(Number z) noexcept { return divided(logarithm(z), kLogarithmOf2); }
Number logarithm10(Number z) noexcept { return divided(logarithm(z), kLogarithmOf10); }

Number logarithm_of_1_plus(Number z) noexcept {
  constexpr double kLarge = 1e100;
  const auto [a, b] = z;
  if (b == 0 && a >= -1) return {real::log1p(a), b};
  if (!(absolute(a) < kLarge && absolute(b) < kLarge)) return logarithm({1.0 + a, b});
  const double excess = excess_of_square(a, b);
  const double size = excess > -0.75 ? real::log1p(excess) / 2 : real::log(real::hypot(1.0 + a, b));
  return {size, real::atan2(b, 1.0 + a)};
}

// --- square roots

/// By W. Kahan, Branch cuts for complex elementary functions (1987): the larger part of the root is
/// sqrt((|a| + |z|) / 2), where nothing cancels.
Number square_root(Number z) noexcept {
  auto [a, b] = z;
  if (is_infinite(b)) return {kInfinity, b};
  if (a == 0 && b == 0) return {0.0, b};
  if (a == kInfinity) return {a, is_nan(b) ? b : with_sign(0.0, b)};
  if (a == -kInfinity) return {is_nan(b) ? b : 0.0, with_sign(kInfinity, b)};
  double scale = 1;
  if (absolute(a) > 0x1p1000 || absolute(b) > 0x1p1000) {
    a *= 0x1p-54, b *= 0x1p-54, scale = 0x1p27;
  } else if (absolute(a) < 0x1p-900 && absolute(b) < 0x1p-900) {
    a *= 0x1p108, b *= 0x1p108, scale = 0x1p-54;
  }
  const double larger = real::sqrt((absolute(a) + real::hypot(a, b)) / 2) * scale;
  const double smaller = absolute(z.imag) / (2 * larger);
  if (a < 0) return {smaller, with_sign(larger, b)};
  return {larger, with_sign(smaller, b)};
}

// --- inverse functions

namespace {

/// asin(z) is atan2(sine, cosine) + j height, and acos(z) is atan2(cosine, sine) - j height, but
/// for signs. Sine and cosine may have a common factor.
struct ArcSine {
  double sine;
  double cosine;
  double height;
};

/// By T. E. Hull, T. F. Fairgrieve and P. T. P. Tang, Implementing the complex arcsine and
/// arccosine functions using exception handling (1997), for x, y >= 0. Where they have y^2 / near,
/// y is a factor here, so that a tiny y needs no case of its own. The height of a small sine is
/// asinh(y / cosine), which takes fewer roundings.
ArcSine arc_sine_of(double x, double y) noexcept {
  constexpr double kCrossover = 0.64;
  constexpr double kLarge = 0x1p28;  // beyond, |z|^2 + 1 is |z|^2
  if (!(x < kLarge && y < kLarge)) {
    const double height = logarithm_of_magnitude({x, y}) + kLogarithmOf2;
    return {x, x == 0 && is_nan(y) ? 1.0 : y, height};
  }
  const double r = real::hypot(x + 1, y), s = real::hypot(x - 1, y);  // distances from -1 and 1
  const double mean = (r + s) / 2;
  const double sine = x / mean;
  if (sine < kCrossover) {
    const double cosine = real::sqrt((1 - sine) * (1 + sine));
    const double sinh = y + y * (sine * sine / (cosine * (1 + cosine)));  // y / cosine
    return {sine, cosine, real::log1p(sinh + sinh * sinh / (1 + real::sqrt(1 + sinh * sinh)))};
  }
  const double far = r + (x + 1), near = s + absolute(x - 1);
  const double sum = (mean + x) / 2, inverse = 1 / far + 1 / near;
  const double cosine =
      x <= 1 ? real::sqrt(sum * (y * y / far + near)) : y * real::sqrt(sum * inverse);
  if (x < 1) {
    const double root = real::sqrt(inverse * ((mean + 1) / 2));
    return {x, cosine, real::log1p(y * (y * (inverse / 2) + root))};
  }
  const double rest = y * y / far + near;  // 2 (mean - 1)
  return {x, cosine, real::log1p(rest / 2 + real::sqrt(rest * ((mean + 1) / 2)))};
}

}  // namespace

Number arc_sine(Number z) noexcept {
  const auto [sine, cosine, height] = arc_sine_of(absolute(z.real), absolute(z.imag));
  return {with_sign(real::atan2(sine, cosine), z.real), with_sign(height, z.imag)};
}

Number arc_cosine(Number z) noexcept {
  const auto [sine, cosine, height] = arc_sine_of(absolute(z.real), absolute(z.imag));
  return {real::atan2(cosine, with_sign(sine, z.real)), with_sign(height, -z.imag)};
}

Number arc_hyperbolic_sine(Number z) noexcept { return turned_back(arc_sine(turned(z))); }

Number arc_hyperbolic_cosine(Number z) noexcept {
  const Number out = arc_cosine(z);
  return {absolute(out.imag), with_sign(out.real, z.imag)};
}

/// By Kahan, as above: log1p(4x / ((1 - x)^2 + y^2)) / 4 and atan2(2y, (1 - x)(1 + x) - y^2) / 2.
Number arc_hyperbolic_tangent(Number z) noexcept {
  constexpr double kLarge = 0x1p54;  // beyond, |z|^2 - 1 is |z|^2
  const double x = absolute(z.real), y = absolute(z.imag);
  if (x > kLarge || y > kLarge) {
    const double larger = x > y ? x : y, ratio = (x > y ? y : x) / larger;
    const double inverse = (x > y ? 1 : ratio) / larger / (1 + ratio * ratio);  // x / |z|^2
    const bool is_right_angle = is_infinite(y) || !(is_nan(x) || is_nan(y));
    return {with_sign(is_infinite(x) || is_infinite(y) ? 0.0 : inverse, z.real),
            with_sign(is_right_angle ? kHalfPi : kNaN, z.imag)};
  }
  double size = real::log1p(4 * x / ((1 - x) * (1 - x) + y * y)) / 4;
  if (x == 0) size = 0;                                                  // of a NaN too
  if (x == 1 && y < 0x1p-54) size = (kLogarithmOf2 - real::log(y)) / 2;  // y^2 may be 0
  const double angle = real::atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2;
  return {with_sign(size, z.real), with_sign(angle, z.imag)};
}

Number arc_tangent(Number z) noexcept { return turned_back(arc_hyperbolic_tangent(turned(z))); }

}  // namespace refarray::core::complex_functions
