// Sums of two doubles, about 100 bits: series for the exponential function and for angles, and one
// step of Newton's method from the C library's result for their inverses. It need not be fast: one
// in a hundred thousand results comes here.
#include "compute/math/accurate.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace refarray::core::math {
namespace {

/// high + low, |low| at most half of high's last bit.
struct Pair {
  double high, low = 0;
};

/// Exact, for |a| >= |b|.
Pair fast_sum(double a, double b) noexcept {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
/// Exact.
Pair sum(double a, double b) noexcept {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
/// Exact.
Pair product(double a, double b) noexcept {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

Pair operator-(Pair a) noexcept { return {-a.high, -a.low}; }
Pair operator+(Pair a, Pair b) noexcept {
  const Pair high = sum(a.high, b.high), low = sum(a.low, b.low);
  const Pair first = fast_sum(high.high, high.low + low.high);
  return fast_sum(first.high, first.low + low.low);
}
Pair operator*(Pair a, Pair b) noexcept {
  const Pair out = product(a.high, b.high);
  return fast_sum(out.high, out.low + (a.high * b.low + a.low * b.high));
}
Pair operator/(Pair a, Pair b) noexcept {
  const double first = a.high / b.high;
  const Pair rest = a + -(b * Pair{first});
  return fast_sum(first, rest.high / b.high) +
         Pair{(rest + -(b * Pair{rest.high / b.high})).high / b.high};
}

constexpr Pair kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

/// 2^n e^r
struct Scaled {
  Pair value;
  int n;
};

Scaled exponential(Pair x) noexcept {
  const double n = std::nearbyint(x.high / kLn2.high);
  const Pair r = x + -(Pair{n} * kLn2);
  Pair value{1};
  for (double i = 30; i > 0; --i) value = Pair{1} + value * r / Pair{i};
  return {value, static_cast<int>(n)};
}

Pair scale(Scaled x) noexcept {
  return {std::ldexp(x.value.high, x.n), std::ldexp(x.value.low, x.n)};
}

/// log(x), where the C library has it nearly.
Pair logarithm(Pair x, double nearly) noexcept {
  const Pair rest = x * scale(exponential(Pair{-nearly})) + Pair{-1};
  return Pair{nearly} + rest + Pair{-0.5} * rest * rest;
}

struct Angle {
  Pair sine, cosine;
};
Angle angle(double x) noexcept {
  const Pair square = -product(x, x);
  Pair sine{1}, cosine{1};
  for (double i = 48; i > 0; i -= 2) {
    cosine = Pair{1} + cosine * square / Pair{i * (i - 1)};
    sine = Pair{1} + sine * square / Pair{i * (i + 1)};
  }
  return {sine * Pair{x}, cosine};
}

/// Rounded once: to odd in double first, which keeps the side of the middle of two floats.
float round_to_float(Pair x) noexcept {
  auto bits = std::bit_cast<std::uint64_t>(x.high);
  if (x.low != 0) {
    if (std::signbit(x.low) != std::signbit(x.high)) --bits;
    bits |= 1;
  }
  return static_cast<float>(std::bit_cast<double>(bits));
}

}  // namespace

float accurate_atan2(float y, float x) noexcept {
  const double nearly = std::atan2(double{y}, double{x});
  const Angle at = angle(nearly);
  const Pair a{y}, b{x};
  const Pair rest = (a * at.cosine + -(b * at.sine)) / (b * at.cosine + a * at.sine);
  Pair out = Pair{nearly} + rest + -(rest * rest * rest / Pair{3});
  // A quotient that is the middle of two subnormal floats: the angle is less.
  if (std::fabs(nearly) < 0x1p-100 && out.low == 0) out.low = -0x1p-80 * nearly;
  return round_to_float(out);
}

float accurate_hypot(float x, float y) noexcept {
  const Pair square = sum(double{x} * x, double{y} * y);
  const double length = std::sqrt(square.high);
  float below = static_cast<float>(length);
  if (below > length) below = std::nextafter(below, 0.0f);
  const float above = std::nextafter(below, HUGE_VALF);
  const double middle = (double{below} + (std::isinf(above) ? 0x1p128 : double{above})) / 2;
  const double excess = (square.high - middle * middle) + square.low;
  if (excess == 0) return static_cast<float>(middle);
  return excess > 0 ? above : below;
}

float accurate_logaddexp(float x, float y) noexcept {
  const double greater = x > y ? x : y, lesser = x > y ? y : x;
  const Pair share = scale(exponential(sum(lesser, -greater)));
  const Pair added = share.high < 0x1p-60 ? share + Pair{-0.5} * share * share
                                          : logarithm(Pair{1} + share, std::log1p(share.high));
  return round_to_float(Pair{greater} + added);
}

float accurate_pow(float x, float y) noexcept {
  const double base = std::fabs(x);
  const Pair exponent = Pair{y} * logarithm(Pair{base}, std::log(base));
  Pair power = scale(exponential(exponent));
  constexpr double kExact = 0x1p-85;  // no inexact power is as near to the middle of two floats
  const double middle = static_cast<double>(std::bit_cast<double>(
      (std::bit_cast<std::uint64_t>(power.high) + (std::uint64_t{1} << 27)) >> 28 << 28));
  if (std::fabs((power.high - middle) + power.low) <= kExact * middle) power = {middle};
  const bool is_odd = std::fmod(std::fabs(y), 2.0f) == 1;
  return round_to_float(x < 0 && is_odd ? -power : power);
}

}  // namespace refarray::core::math
