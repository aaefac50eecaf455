// Functions of float32, computed in double: the error is below 2^-50 of the result, so that nearly
// all results are rounded correctly. kCorrections has the others of each function of one number;
// `make gate G=test-long` proves by all 2^32 inputs that there are no more. Functions of two
// numbers tell results that lie near the middle of two floats, which accurate.cpp computes again.
//
// Methods: Cody and Waite's and, of large angles, Payne and Hanek's reduction; fdlibm's logarithm
// by s = f / (2 + f); arctangents by the angle sum. CORE-MATH has the same plan of a double that
// is rounded and of a few exceptions.
#pragma once

#include <cstdint>

#include "compute/math/large_angles.hpp"
#include "compute/math/levels/coefficients.hpp"
#include "compute/math/levels/lanes_of_double.hpp"

namespace refarray::core::math {
namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;
constexpr double kLog10Of2High = 0x1.34413509f7800p-2, kLog10Of2Low = 0x1.fef311f12b358p-46;
constexpr double kInverseLn10 = 0x1.bcb7b1526e50ep-2;
// Their products with integers below 2^25 are exact.
constexpr double kHalfPi[] = {0x1.921fb54000000p+0, 0x1.10b4610000000p-30, 0x1.a62633145c06ep-58};
constexpr double kTanOfEighth = 0x1.a827999fcef32p-2;  // tan(pi / 8) = sqrt(2) - 1

// --- exponentials

/// x = n ln 2 + r: sinh r, cosh r - 1, and powers of two. |x| <= 200.
struct Exponential {
  Doubles sinh, cosh_less_1, power, inverse_power;
};
[[gnu::always_inline]] inline Exponential reduce_exponent(Doubles x) noexcept {
  const Rounded n = round_to_integer(x * (1 / kLn2));
  const Doubles r =
      multiply_add(n.value, broadcast(-kLn2Low), multiply_add(n.value, broadcast(-kLn2High), x));
  const Doubles z = r * r;
  return {multiply_add(r * z, polynomial(kSinh, z), r), z * polynomial(kCosh, z),
          power_of_2(n.low_bits), power_of_2(subtract_bits(Words{}, n.low_bits))};
}

constexpr double kMostExponent = 150;  // beyond it results are 0 or infinite in float32

struct Exp {
  static constexpr Elementwise kOperation = Elementwise::kExp;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Exponential e = reduce_exponent(clamp(x, kMostExponent));
    return multiply_add(e.power, e.sinh + e.cosh_less_1, e.power);
  }
};
struct Expm1 {
  static constexpr Elementwise kOperation = Elementwise::kExpm1;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Exponential e = reduce_exponent(clamp(x, kMostExponent));
    return with_sign_of(multiply_add(e.power, e.sinh + e.cosh_less_1, e.power - 1.0), x);
  }
};
struct Sinh {
  static constexpr Elementwise kOperation = Elementwise::kSinh;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Exponential e = reduce_exponent(clamp(magnitude(x), kMostExponent));
    const Doubles sum = e.power + e.inverse_power, difference = e.power - e.inverse_power;
    return with_sign_of(
        0.5 * multiply_add(sum, e.sinh, multiply_add(difference, e.cosh_less_1, difference)), x);
  }
};
struct Cosh {
  static constexpr Elementwise kOperation = Elementwise::kCosh;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Exponential e = reduce_exponent(clamp(x, kMostExponent));
    const Doubles sum = e.power + e.inverse_power, difference = e.power - e.inverse_power;
    return 0.5 * multiply_add(difference, e.sinh, multiply_add(sum, e.cosh_less_1, sum));
  }
};
struct Tanh {
  static constexpr Elementwise kOperation = Elementwise::kTanh;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    constexpr double kOne = 20;  // tanh of it is 1 in double
    const Exponential e = reduce_exponent(clamp(magnitude(x), kOne));
    const Doubles sum = e.power + e.inverse_power, difference = e.power - e.inverse_power;
    return with_sign_of(
        multiply_add(sum, e.sinh, multiply_add(difference, e.cosh_less_1, difference)) /
            multiply_add(difference, e.sinh, multiply_add(sum, e.cosh_less_1, sum)),
        x);
  }
};

// --- logarithms

/// x = 2^n (1 + f), between sqrt(1/2) and sqrt(2).
struct Mantissa {
  Doubles n, f;
};
[[gnu::always_inline]] inline Mantissa split_exponent(Doubles x) noexcept {
  constexpr std::int64_t kLeast = 0x3FE6A09E667F3BCD;  // sqrt(1/2)
  constexpr std::int64_t kMantissa = (std::int64_t{1} << 52) - 1;
  constexpr std::int64_t kWhole = 0x4330000000000000;  // 2^52, whose last bit is 1
  const Words shifted = add_bits(bits_of(x), broadcast_bits(kBitsOfOne - kLeast));
  const Words exponent = (Words)((Unsigned)shifted >> 52);
  return {of_bits(exponent | kWhole) - (0x1p52 + 1023),
          of_bits((shifted & kMantissa) + kLeast) - 1.0};
}

/// log(1 + f) - f, in the order of fdlibm: the sum with f loses nothing.
[[gnu::always_inline]] inline Doubles log1p_less_f(Doubles f, Doubles added) noexcept {
  const Doubles s = f / (f + 2.0), z = s * s, half_square = 0.5 * f * f;
  return multiply_add(s, multiply_add(z, polynomial(kAtanh, z), half_square), added) - half_square;
}

/// The logarithm of 2^n (1 + f).
[[gnu::always_inline]] inline Doubles log_of(Mantissa x) noexcept {
  return multiply_add(x.n, broadcast(kLn2High), x.f + log1p_less_f(x.f, x.n * kLn2Low));
}
[[gnu::always_inline]] inline Doubles log1p_of_part(Doubles f) noexcept {
  return f + log1p_less_f(f, Doubles{});
}

[[gnu::always_inline]] inline Doubles finish_log(Doubles x, Doubles result) noexcept {
  if (any(~((x > Doubles{}) & (x < broadcast(kInfinity))))) [[unlikely]]
    result = limit_log(x, result);
  return result;
}

/// log(1 + x) of any double: a part of the sum that is lost is below its rounding.
[[gnu::always_inline]] inline Doubles log1p_of(Doubles x) noexcept {
  const Doubles sum = x + 1.0;
  Mantissa parts = split_exponent(sum);
  parts.f = select(parts.n == Doubles{}, x, parts.f);
  return finish_log(sum, log_of(parts));
}

struct Log {
  static constexpr Elementwise kOperation = Elementwise::kLog;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    return finish_log(x, log_of(split_exponent(x)));
  }
};
struct Log2 {
  static constexpr Elementwise kOperation = Elementwise::kLog2;
  [[gnu::always_inline]] static Doubles of_positive(Doubles x) noexcept {
    const Mantissa parts = split_exponent(x);
    return multiply_add(log1p_of_part(parts.f), broadcast(1 / kLn2), parts.n);
  }
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    return finish_log(x, of_positive(x));
  }
};
struct Log10 {
  static constexpr Elementwise kOperation = Elementwise::kLog10;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Mantissa parts = split_exponent(x);
    const Doubles small =
        multiply_add(log1p_of_part(parts.f), broadcast(kInverseLn10), parts.n * kLog10Of2Low);
    return finish_log(x, multiply_add(parts.n, broadcast(kLog10Of2High), small));
  }
};
struct Log1p {
  static constexpr Elementwise kOperation = Elementwise::kLog1p;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    return select(x < broadcast(-1), broadcast(kNaN), with_sign_of(log1p_of(x), x));
  }
};
struct Asinh {
  static constexpr Elementwise kOperation = Elementwise::kAsinh;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Doubles a = magnitude(x), square = a * a;
    const Doubles argument = a + square / (square_root(square + 1.0) + 1.0);
    const Doubles result = select(a < broadcast(kInfinity), log1p_of(argument), a);
    return with_sign_of(result, x);
  }
};
struct Acosh {
  static constexpr Elementwise kOperation = Elementwise::kAcosh;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Doubles less_1 = x - 1.0;
    const Doubles result = log1p_of(less_1 + square_root(less_1 * (less_1 + 2.0)));
    return select(x < broadcast(1), broadcast(kNaN), result);
  }
};
struct Atanh {
  static constexpr Elementwise kOperation = Elementwise::kAtanh;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Doubles a = magnitude(x);
    return with_sign_of(0.5 * log1p_of((a + a) / (1.0 - a)), x);
  }
};

// --- angles

/// x = n pi / 2 + r, for those n that are even, odd, or all.
template <Quadrants kWhich>
struct Angle {
  Words n;  // in the low bits
  Doubles r;
  [[gnu::always_inline]] explicit Angle(Doubles x) noexcept {
    constexpr double kPerQuadrant = 2 / kPi;
    Doubles multiple;
    if constexpr (kWhich == Quadrants::kAll) {
      const Rounded nearest = round_to_integer(x * kPerQuadrant);
      multiple = nearest.value;
      n = nearest.low_bits;
    } else {
      constexpr bool kIsOdd = kWhich == Quadrants::kOdd;
      const Rounded nearest = round_to_integer(x * (kPerQuadrant / 2) - (kIsOdd ? 0.5 : 0.0));
      multiple = 2.0 * nearest.value + (kIsOdd ? 1.0 : 0.0);
      n = (nearest.low_bits << 1) + (kIsOdd ? 1 : 0);
    }
    r = x;
    for (double part : kHalfPi) r = multiply_add(multiple, broadcast(-part), r);
    if (any(magnitude(x) >= broadcast(kLargeAngle))) [[unlikely]]
      reduce_large(x);
  }

 private:
  [[gnu::noinline]] void reduce_large(Doubles x) noexcept {
    for (int i = 0; i < kLanes; ++i) {
      if (!(magnitude(x)[i] >= kLargeAngle)) continue;
      const LargeAngle angle = reduce_large_angle(x[i], kWhich);
      n[i] = angle.n;
      r[i] = angle.r;
    }
  }
};

/// Changes the sign of `x` where bit `bit` of n is set.
template <int kBit>
[[gnu::always_inline]] inline Doubles negate_by_bit(Doubles x, Words n) noexcept {
  return of_bits(bits_of(x) ^ ((n << (63 - kBit)) & kSignOfDouble));
}

struct Sin {
  static constexpr Elementwise kOperation = Elementwise::kSin;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Angle<Quadrants::kEven> angle(x);
    const Doubles z = angle.r * angle.r;
    const Doubles result = multiply_add(angle.r * z, polynomial(kSin, z), angle.r);
    return select(x == Doubles{}, x, negate_by_bit<1>(result, angle.n));
  }
};
struct Cos {
  static constexpr Elementwise kOperation = Elementwise::kCos;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Angle<Quadrants::kOdd> angle(x);  // cos(r + pi / 2) = -sin r
    const Doubles z = angle.r * angle.r;
    const Doubles result = multiply_add(angle.r * z, polynomial(kSin, z), angle.r);
    return negate_by_bit<1>(-result, angle.n);
  }
};
struct Tan {
  static constexpr Elementwise kOperation = Elementwise::kTan;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const Angle<Quadrants::kAll> angle(x);  // tan(r + pi / 2) = -cos r / sin r
    const Doubles z = angle.r * angle.r;
    const Doubles sine = multiply_add(angle.r * z, polynomial(kSinQuarter, z), angle.r);
    const Doubles cosine = multiply_add(z, polynomial(kCosQuarter, z), broadcast(1));
    const Words is_odd = (angle.n & 1) != 0;
    const Doubles result = select(is_odd, -cosine, sine) / select(is_odd, sine, cosine);
    return select(x == Doubles{}, x, result);
  }
};

// --- inverse functions of angles

/// The angle of the point (b, a), neither of them negative.
[[gnu::always_inline]] inline Doubles angle_of(Doubles a, Doubles b) noexcept {
  const Words is_small = a <= kTanOfEighth * b, is_large = b < kTanOfEighth * a;
  const Doubles numerator = select(is_small, a, select(is_large, -b, a - b));
  Doubles denominator = select(is_small, b, select(is_large, a, a + b));
  const Doubles offset =
      select(is_small, Doubles{}, select(is_large, broadcast(kPi / 2), broadcast(kPi / 4)));
  denominator = select(a == Doubles{}, broadcast(1), denominator);  // not 0 / 0
  const Doubles t = numerator / denominator, z = t * t;
  return offset + multiply_add(t * z, polynomial(kAtan, z), t);
}

struct Atan {
  static constexpr Elementwise kOperation = Elementwise::kAtan;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    return with_sign_of(angle_of(magnitude(x), broadcast(1)), x);
  }
};

/// With |x| > 1/2 by the half angle: asin x = pi / 2 - 2 asin sqrt((1 - x) / 2).
struct ArcSine {
  Words is_small;
  Doubles value;  // of |x|, or of the root
  [[gnu::always_inline]] explicit ArcSine(Doubles x) noexcept {
    const Doubles a = magnitude(x);
    is_small = a <= broadcast(0.5);
    const Doubles z = select(is_small, a * a, 0.5 - 0.5 * a);
    const Doubles root = select(is_small, a, square_root(z));
    value = multiply_add(root * z, polynomial(kAsin, z), root);
  }
};
struct Asin {
  static constexpr Elementwise kOperation = Elementwise::kAsin;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const ArcSine part(x);
    return with_sign_of(select(part.is_small, part.value, kPi / 2 - 2.0 * part.value), x);
  }
};
struct Acos {
  static constexpr Elementwise kOperation = Elementwise::kAcos;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const ArcSine part(x);
    const Doubles twice = 2.0 * part.value;
    const Doubles large = select(x < Doubles{}, kPi - twice, twice);
    return select(part.is_small, kPi / 2 - with_sign_of(part.value, x), large);
  }
};

// --- of two numbers

/// A result with a relative error below 2^-43, but where it is `doubtful`.
struct Result2 {
  Doubles value;
  Words doubtful;
};

struct Atan2 {
  static constexpr Elementwise kOperation = Elementwise::kAtan2;
  [[gnu::always_inline]] static Result2 apply(Doubles y, Doubles x) noexcept {
    const Doubles infinity = broadcast(kInfinity);
    Doubles a = magnitude(y), b = magnitude(x);
    const Words are_infinite = (a == infinity) & (b == infinity);
    a = select(are_infinite, broadcast(1), a);
    b = select(are_infinite, broadcast(1), b);
    const Doubles angle = angle_of(a, b);
    return {with_sign_of(select(bits_of(x) < 0, kPi - angle, angle), y), Words{}};
  }
  static float apply_accurately(float y, float x) noexcept { return accurate_atan2(y, x); }
};
struct Hypot {
  static constexpr Elementwise kOperation = Elementwise::kHypot;
  [[gnu::always_inline]] static Result2 apply(Doubles x, Doubles y) noexcept {
    const Doubles infinity = broadcast(kInfinity);
    const Doubles length = square_root(x * x + y * y);  // of exact squares
    const Words is_infinite = (magnitude(x) == infinity) | (magnitude(y) == infinity);
    return {select(is_infinite, infinity, length), Words{}};
  }
  static float apply_accurately(float x, float y) noexcept { return accurate_hypot(x, y); }
};
struct Logaddexp {
  static constexpr Elementwise kOperation = Elementwise::kLogaddexp;
  [[gnu::always_inline]] static Result2 apply(Doubles x, Doubles y) noexcept {
    const Doubles greater = select(x > y, x, y);
    const Doubles distance = select(x == y, Doubles{}, magnitude(x - y));
    const Doubles sum = greater + log1p_of(Exp::apply(-distance));
    return {sum, magnitude(sum) < 0x1p-8 * magnitude(greater)};  // the terms cancel
  }
  static float apply_accurately(float x, float y) noexcept { return accurate_logaddexp(x, y); }
};
constexpr double kMostPower = 200;  // of 2: beyond it results are 0 or infinite in float32

struct Pow {
  static constexpr Elementwise kOperation = Elementwise::kPow;
  [[gnu::always_inline]] static Result2 apply(Doubles x, Doubles y) noexcept {
    const Doubles base = magnitude(x);
    const Doubles exponent = clamp(y * finish_log(base, Log2::of_positive(base)), kMostPower);
    const Rounded n = round_to_integer(exponent);
    const Doubles r = (exponent - n.value) * kLn2, z = r * r, power = power_of_2(n.low_bits);
    const Doubles less_1 = multiply_add(r * z, polynomial(kSinh, z), r) + z * polynomial(kCosh, z);
    const Doubles result = multiply_add(power, less_1, power);
    const Words is_ordinary =
        (x > Doubles{}) & (x < broadcast(kInfinity)) & (magnitude(y) < broadcast(kInfinity));
    if (!any(~is_ordinary)) [[likely]]
      return {result, Words{}};
    return {limit_power(x, y, result), Words{}};
  }
  static float apply_accurately(float x, float y) noexcept { return accurate_pow(x, y); }
};

}  // namespace
}  // namespace refarray::core::math
