// Functions of float64: results in two doubles, the second of which has an error of about 2^-60 of
// the result, so that their sum is the nearest double but for one in a hundred to a thousand.
//
// Every instruction set gives the same bits: products and sums are rounded one by one, and no
// element depends on its neighbours.
//
// A function's `apply` has no branches and computes what is usual; it sets `rare` where the result
// is another, which `finish` has.
//
// Methods: tables as Tang's and those of Arm's optimized routines; Cody and Waite's and, of large
// angles, Payne and Hanek's reduction; Dekker's arithmetic of pairs.
#pragma once

#include <cstdint>

#include "compute/math/cancelling_logaddexp.hpp"
#include "compute/math/float64_tables.hpp"
#include "compute/math/large_angles_of_double.hpp"
#include "compute/math/levels/coefficients.hpp"
#include "compute/math/levels/pairs_of_doubles.hpp"
#include "compute/ops/elementwise_operation.hpp"

namespace refarray::core::math {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

// --- exponentials

/// x = (32 k + j) ln 2 / 32 + r
struct Exponential {
  static constexpr double kSteps = 32;
  // The product of the first with an integer below 2^18 is exact.
  static constexpr double kStepHigh = 0x1.62e42fefcp-6, kStepLow = -0x1.c610ca86c3899p-42;
  Words n;  // 32 k + j, in the low bits
  Doubles multiple, r, low;

  /// Of x + rest, |x| <= 800.
  [[gnu::always_inline]] explicit Exponential(Doubles x, Doubles rest = Doubles{}) noexcept {
    const Rounded nearest = round_to_integer(x * (kSteps / kLn2));
    n = nearest.low_bits;
    multiple = nearest.value;
    const Doubles large = x - multiple * kStepHigh, small = multiple * kStepLow - rest;
    r = large - small;
    low = (large - r) - small;
  }
  /// To be added to a double's bits: it is multiplied by 2^k.
  [[gnu::always_inline]] static Words scale(Words n) noexcept {
    return (n & ~std::int64_t{31}) << 47;
  }
};

/// e^x / 2^k of an `e` of x; kLong for an error of 2^-68.
template <bool kLong = false>
[[gnu::always_inline]] inline Pair power_of_e(const Exponential& e) noexcept {
  const Pair base = look_up(kPowers, e.n);
  const Doubles rest = e.low + e.r * e.r * rounded_polynomial(kExpPart, e.r);
  if constexpr (kLong) {
    const Pair first = exact_product(base.high, e.r), sum = fast_sum(base.high, first.high);
    const Doubles more = base.low * e.r + base.high * rest;
    return normalized({sum.high, sum.low + (first.low + (base.low + more))});
  } else {
    const Pair sum = fast_sum(base.high, base.high * e.r);
    return {sum.high, sum.low + (base.low + base.high * rest)};
  }
}

/// The sum times 2^(k + added) of normal numbers.
[[gnu::always_inline]] inline Doubles scaled(Pair x, const Exponential& e, int added = 0) noexcept {
  const Words scale = add_bits(Exponential::scale(e.n), broadcast_bits(std::int64_t{added} << 52));
  return of_bits(add_bits(bits_of(sum_of(x)), scale));
}

/// 2^added e^(x + rest) of any x.
[[gnu::noinline]] Doubles any_power_of_e(Doubles x, Doubles rest, int added) noexcept {
  constexpr double kMost = 800;  // beyond it the result is 0 or infinite
  const Words is_small = magnitude(x) < broadcast(kMost);
  const Exponential e(clamp(x, kMost), select(is_small, rest, Doubles{}));
  const Pair power = power_of_e<true>(e);
  const Doubles sum = sum_of(power);
  const Words k = ((e.n << 47) >> 52) + added, half = k >> 1;
  // Rounded once, where the last bit of subnormal numbers is.
  const Doubles large = power_of_2(-1022 - (k & (k < 0))), shifted = large + power.high;
  const Doubles rounded = (shifted + ((power.high - (shifted - large)) + power.low)) - large;
  return select(sum < large, rounded, sum) * power_of_2(half) * power_of_2(k - half);
}

struct Exp {
  static constexpr Elementwise kOperation = Elementwise::kExp;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Exponential e(x);
    rare = is_rare(x);
    return scaled(power_of_e(e), e);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    return select(is_rare(x), any_power_of_e(x, Doubles{}, 0), result);
  }

 private:
  [[gnu::always_inline]] static Words is_rare(Doubles x) noexcept {
    return ~(magnitude(x) <= broadcast(708));
  }
};

constexpr double kMoreThanOne = 300;  // e^-x is nothing beside e^x, and 1 neither

struct Expm1 {
  static constexpr Elementwise kOperation = Elementwise::kExpm1;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Exponential e(x);
    const Pair base = look_up(kPowers, e.n);
    const Doubles one = of_bits(subtract_bits(broadcast_bits(kBitsOfOne), Exponential::scale(e.n)));
    const Pair first = exact_product(base.high, e.r);
    const Pair difference = exact_sum(base.high, -one);
    const Pair sum = exact_sum(difference.high, first.high);
    const Doubles rest = e.low + e.r * e.r * rounded_polynomial(kExpPart, e.r);
    const Doubles more = base.low + (base.low * e.r + base.high * rest);
    rare = ~(magnitude(x) <= broadcast(kMoreThanOne));
    return with_sign_of(scaled({sum.high, (difference.low + sum.low) + (first.low + more)}, e), x);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    result =
        select(magnitude(x) <= broadcast(kMoreThanOne), result, any_power_of_e(x, Doubles{}, 0));
    return select(x < broadcast(-kMoreThanOne), broadcast(-1), result);
  }
};

/// sinh and cosh of |x|, times 2^(1 - k).
struct Hyperbolic {
  Exponential e;
  Pair sum, difference;  // of e^x and e^-x of the table
  Doubles sinh_less_r, cosh_less_1;

  [[gnu::always_inline]] explicit Hyperbolic(Doubles x) noexcept : e(x) {
    const Pair up = look_up(kPowers, e.n);
    const Words inverse = subtract_bits(Words{}, e.n);
    const Words scale = subtract_bits(Exponential::scale(inverse), Exponential::scale(e.n));
    Pair down = look_up(kPowers, inverse);
    const Doubles power = of_bits(add_bits(broadcast_bits(kBitsOfOne), scale));
    down = {down.high * power, down.low * power};
    const Pair added = fast_sum(up.high, down.high);
    const Pair subtracted = fast_sum(up.high, -down.high);
    sum = {added.high, added.low + (up.low + down.low)};
    difference = {subtracted.high, subtracted.low + (up.low - down.low)};
    const Doubles z = e.r * e.r;
    sinh_less_r = e.low + e.r * z * rounded_polynomial(kSinhPart, z);
    cosh_less_1 = z * rounded_polynomial(kCoshPart, z);
  }
  [[gnu::always_inline]] Pair sinh() const noexcept { return turn(difference, sum); }
  [[gnu::always_inline]] Pair cosh() const noexcept { return turn(sum, difference); }

 private:
  [[gnu::always_inline]] Pair turn(Pair even, Pair odd) const noexcept {
    const Pair first = exact_product(odd.high, e.r);
    const Pair whole = exact_sum(even.high, first.high);
    const Doubles more = odd.low * e.r + (odd.high * sinh_less_r + even.high * cosh_less_1);
    return {whole.high, whole.low + (first.low + (even.low + more))};
  }
};

constexpr double kTiny = 0x1p-28;  // sinh and tanh of less are x

struct Sinh {
  static constexpr Elementwise kOperation = Elementwise::kSinh;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Doubles a = magnitude(x);
    const Hyperbolic part(a);
    rare = ~((a <= broadcast(kMoreThanOne)) & (a >= broadcast(kTiny)));
    return with_sign_of(scaled(part.sinh(), part.e, -1), x);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    const Doubles a = magnitude(x);
    result = select(a <= broadcast(kMoreThanOne), result,
                    with_sign_of(any_power_of_e(a, Doubles{}, -1), x));
    return select(a < broadcast(kTiny), x, result);
  }
};
struct Cosh {
  static constexpr Elementwise kOperation = Elementwise::kCosh;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Hyperbolic part(magnitude(x));
    rare = ~(magnitude(x) <= broadcast(kMoreThanOne));
    return scaled(part.cosh(), part.e, -1);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    const Doubles a = magnitude(x);
    return select(a <= broadcast(kMoreThanOne), result, any_power_of_e(a, Doubles{}, -1));
  }
};
struct Tanh {
  static constexpr Elementwise kOperation = Elementwise::kTanh;
  static constexpr double kOne = 20;  // tanh of more is 1
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Doubles a = magnitude(x);
    const Hyperbolic part(a);
    rare = ~((a <= broadcast(kOne)) & (a >= broadcast(kTiny)));
    return with_sign_of(sum_of(part.sinh() / normalized(part.cosh())), x);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    const Doubles a = magnitude(x);
    result = select(a <= broadcast(kOne), result, select(x == x, with_sign_of(broadcast(1), x), x));
    return select(a < broadcast(kTiny), x, result);
  }
};

// --- logarithms

/// x = 2^n z, z between sqrt(1/2) and sqrt(2). Of positive finite numbers.
struct Mantissa {
  Words exponent, index;  // n + 1023 and z's place in the table
  Doubles n, z;
  [[gnu::always_inline]] explicit Mantissa(Doubles x) noexcept {
    constexpr std::int64_t kLeast = 0x3FE6A00000000000;
    constexpr std::int64_t kMantissa = (std::int64_t{1} << 52) - 1;
    constexpr std::int64_t kWhole = 0x4330000000000000;  // 2^52, whose last bit is 1
    const Words shifted = add_bits(bits_of(x), broadcast_bits(kBitsOfOne - kLeast));
    exponent = (Words)((Unsigned)shifted >> 52);
    index = (Words)((Unsigned)shifted >> 46);
    n = of_bits(exponent | kWhole) - (0x1p52 + 1023);
    z = of_bits((shifted & kMantissa) + kLeast);
  }
};

/// z / (1 / the logarithm's table) - 1, exact.
[[gnu::always_inline]] inline Pair reduce_mantissa(const Mantissa& x, Doubles inverse) noexcept {
  constexpr std::int64_t kLost = (std::int64_t{1} << 27) - 1;
  const Doubles head = of_bits(bits_of(x.z) & ~kLost);  // the product of 25 and 26 bits is exact
  return fast_sum(head * inverse - 1.0, (x.z - head) * inverse);
}

/// The logarithm of 2^n (1 + r), of r + 1 = `inverse` z; kLong for an error of 2^-68.
template <bool kLong>
[[gnu::always_inline]] inline Pair log_of(Doubles n, Words index, Pair r) noexcept {
  // The product of the first with an integer below 2^11 is exact.
  constexpr double kHigh = 0x1.62e42fefa38p-1, kLow = 0x1.ef35793c7673p-45;
  const Pair sum = fast_sum(n * kHigh + look_up(kLogarithms.high, index), r.high);
  const Doubles rest = sum.low + ((n * kLow + look_up(kLogarithms.low, index)) + r.low);
  if constexpr (kLong) {
    const Doubles polynomial = rounded_polynomial(kLogLong, r.high);
    const Pair square = exact_product(r.high, -0.5 * r.high);
    const Pair more = fast_sum(sum.high, square.high);
    const Doubles cube = r.high * r.high * r.high * polynomial;
    return normalized({more.high, rest + (more.low + ((square.low - r.high * r.low) + cube))});
  } else {
    const Doubles polynomial = rounded_polynomial(kLogPart, r.high);
    return {sum.high, rest + r.high * r.high * (r.high * polynomial - 0.5)};
  }
}

/// The logarithm of x.high + x.low, 1/2 < x.high < 2^1000.
template <bool kLong>
[[gnu::always_inline]] inline Pair log_of_pair(Pair x) noexcept {
  const Mantissa parts(x.high);
  const Doubles power = of_bits((2046 - parts.exponent) << 52);
  const Doubles inverse = look_up(kInverses, parts.index);
  const Pair r = reduce_mantissa(parts, inverse);
  return log_of<kLong>(parts.n, parts.index, fast_sum(r.high, r.low + x.low * power * inverse));
}

/// The logarithm of 2^added x.
template <bool kLong = false>
[[gnu::always_inline]] inline Pair log_of_normal(Doubles x, double added = 0) noexcept {
  const Mantissa parts(x);
  return log_of<kLong>(parts.n + added, parts.index,
                       reduce_mantissa(parts, look_up(kInverses, parts.index)));
}

constexpr double kLeastNormal = 0x1p-1022;
[[gnu::always_inline]] inline Words is_normal(Doubles x) noexcept {
  return (x >= broadcast(kLeastNormal)) & (x < broadcast(kInfinity));
}

/// The logarithm to a base from the natural one.
template <Elementwise kWhich>
struct Logarithm {
  static constexpr Elementwise kOperation = kWhich;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    rare = ~is_normal(x);
    return from(log_of_normal(x));
  }
  [[gnu::noinline]] static Doubles finish(Doubles x, Doubles result) noexcept {
    const Doubles of_subnormal = from(log_of_normal(x * 0x1p54, -54));
    return limit_log(x, select(x < broadcast(kLeastNormal), of_subnormal, result));
  }

 private:
  [[gnu::always_inline]] static Doubles from(Pair natural) noexcept {
    if constexpr (kWhich == Elementwise::kLog2)  // times 1 / ln 2
      natural = natural * broadcast(0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
    else if constexpr (kWhich == Elementwise::kLog10)
      natural = natural * broadcast(0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
    return sum_of(natural);
  }
};
using Log = Logarithm<Elementwise::kLog>;
using Log2 = Logarithm<Elementwise::kLog2>;
using Log10 = Logarithm<Elementwise::kLog10>;

struct Log1p {
  static constexpr Elementwise kOperation = Elementwise::kLog1p;
  static constexpr double kLarge = 0x1p900;  // 1 is nothing beside it
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    rare = ~((x > broadcast(-1)) & (x < broadcast(kLarge)));
    return with_sign_of(sum_of(log_of_pair<false>(exact_sum(broadcast(1), x))), x);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    result = select(x < broadcast(kLarge), result, sum_of(log_of_normal(x)));
    return limit_log(x + 1.0, result);
  }
};

constexpr double kFewTerms = 0x1p-5;   // below it a polynomial has the result
constexpr double kLargeRoot = 0x1p30;  // sqrt(x^2 + 1) is x from there on

/// asinh and acosh of numbers of at least kLargeRoot.
[[gnu::noinline]] Doubles log_of_twice(Doubles x) noexcept {
  return select(x < broadcast(kInfinity), sum_of(log_of_normal(x, 1)), x);
}

struct Asinh {
  static constexpr Elementwise kOperation = Elementwise::kAsinh;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Doubles a = magnitude(x), square = a * a;
    const Pair under = exact_sum(square, broadcast(1));
    const Pair root = square_root(Pair{under.high, under.low + error_of_product(a, a, square)});
    const Pair sum = fast_sum(root.high, a);
    const Doubles result = sum_of(log_of_pair<false>({sum.high, sum.low + root.low}));
    const Doubles few = a + a * square * rounded_polynomial(kAsinhPart, square);
    rare = ~(a <= broadcast(kLargeRoot));
    return with_sign_of(select(a < broadcast(kFewTerms), few, result), x);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    const Doubles a = magnitude(x);
    return select(a <= broadcast(kLargeRoot), result, with_sign_of(log_of_twice(a), x));
  }
};
struct Acosh {
  static constexpr Elementwise kOperation = Elementwise::kAcosh;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Pair square = exact_product(x, x), less_1 = exact_sum(square.high, broadcast(-1));
    const Pair root = square_root(exact_sum(less_1.high, less_1.low + square.low));
    const Pair sum = fast_sum(x, root.high);
    rare = ~((x >= broadcast(1)) & (x <= broadcast(kLargeRoot)));
    return sum_of(log_of_pair<false>({sum.high, sum.low + root.low}));
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    result = select(x <= broadcast(kLargeRoot), result, log_of_twice(x));
    return select(x < broadcast(1), broadcast(kNaN), result);
  }
};
struct Atanh {
  static constexpr Elementwise kOperation = Elementwise::kAtanh;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Doubles a = magnitude(x), square = a * a;
    const Pair up = fast_sum(broadcast(1), a), down = fast_sum(broadcast(1), -a);
    const Doubles result = 0.5 * sum_of(log_of_pair<false>(up / down));
    const Doubles few = a + a * square * rounded_polynomial(kAtanhPart, square);
    rare = ~(a < broadcast(1));
    return with_sign_of(select(a < broadcast(kFewTerms), few, result), x);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    const Doubles a = magnitude(x);
    result = select(a < broadcast(1), result, broadcast(kNaN));
    return select(a == broadcast(1), with_sign_of(broadcast(kInfinity), x), result);
  }
};

// --- angles

constexpr std::int64_t kQuarter = 16;  // steps of a quarter of the circle

/// x = n pi / 32 + r + low
struct Angle {
  Words n;  // in the low bits
  Doubles r, low;
  [[gnu::always_inline]] explicit Angle(Doubles x) noexcept {
    constexpr double kPerStep = 0x1.45f306dc9c883p+3;  // 32 / pi
    // The product of the first with an integer below 2^24 is exact.
    constexpr double kStep[] = {0x1.921fb54p-4, 0x1.10b4611a62633p-34, 0x1.45c06e0e68948p-90};
    const Rounded nearest = round_to_integer(x * kPerStep);
    const Pair middle = exact_product(nearest.value, broadcast(kStep[1]));
    const Pair rest = exact_sum(x - nearest.value * kStep[0], -middle.high);
    const Pair sum = fast_sum(rest.high, rest.low - middle.low - nearest.value * kStep[2]);
    n = nearest.low_bits;
    r = sum.high;
    low = sum.low;
  }
  [[gnu::always_inline]] static Words is_large(Doubles x) noexcept {
    return magnitude(x) >= broadcast(kLargeAngleOfDouble);
  }
  [[gnu::noinline]] static Angle of_large(Doubles x) noexcept {
    Angle out(Doubles{});
    for (int i = 0; i < kLanes; ++i) {
      if (!(magnitude(x)[i] >= kLargeAngleOfDouble)) continue;
      const LargeAngleOfDouble angle = reduce_large_angle_of_double(x[i]);
      out.n[i] = angle.n;
      out.r[i] = angle.high;
      out.low[i] = angle.low;
    }
    return out;
  }

  /// The sine of the angle plus `steps` steps.
  [[gnu::always_inline]] Pair sine(std::int64_t steps = 0) const noexcept {
    const Pair start = at(add_bits(n, broadcast_bits(steps)));
    const Pair slope = at(add_bits(n, broadcast_bits(steps + kQuarter)));
    const Doubles z = r * r, sine_less_r = low + r * z * rounded_polynomial(kSinPart, z);
    const Doubles cosine_less_1 = z * rounded_polynomial(kCosPart, z);
    return along(start, slope, sine_less_r, start.high * cosine_less_1);
  }
  /// The sine over the cosine: both without the factor cos r, and with the other sign in the second
  /// half of the circle.
  [[gnu::always_inline]] Pair tangent() const noexcept {
    const Pair sine = look_up(kSines, n),
               cosine = negate(look_up(kSines, add_bits(n, broadcast_bits(kQuarter))), n << 59);
    const Doubles z = r * r, tangent_less_r = low + r * z * rounded_polynomial(kTanPart, z);
    const Pair rise = along(sine, cosine, tangent_less_r, Doubles{});
    const Pair run = along(cosine, {-sine.high, -sine.low}, tangent_less_r, Doubles{});
    return rise / normalized(run);
  }

 private:
  /// -x where the sign bit is set.
  [[gnu::always_inline]] static Pair negate(Pair x, Words sign) noexcept {
    sign &= kSignOfDouble;
    return {of_bits(bits_of(x.high) ^ sign), of_bits(bits_of(x.low) ^ sign)};
  }
  /// The sine of n steps.
  [[gnu::always_inline]] static Pair at(Words steps) noexcept {
    return negate(look_up(kSines, steps), steps << 58);
  }
  /// start + slope (r + rest) + more
  [[gnu::always_inline]] Pair along(Pair start, Pair slope, Doubles rest,
                                    Doubles more) const noexcept {
    const Pair first = exact_product(slope.high, r), sum = fast_sum(start.high, first.high);
    const Doubles least = slope.low * r + (slope.high * rest + more);
    return {sum.high, sum.low + (first.low + (start.low + least))};
  }
};

template <Elementwise kWhich>
struct OfAngle {
  static constexpr Elementwise kOperation = kWhich;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    rare = Angle::is_large(x);
    const Doubles result = of(Angle(x));
    return kWhich == Elementwise::kCos ? result : select(x == Doubles{}, x, result);
  }
  [[gnu::noinline]] static Doubles finish(Doubles x, Doubles result) noexcept {
    return select(Angle::is_large(x), of(Angle::of_large(x)), result);
  }

 private:
  [[gnu::always_inline]] static Doubles of(const Angle& angle) noexcept {
    if constexpr (kWhich == Elementwise::kSin) return sum_of(angle.sine());
    if constexpr (kWhich == Elementwise::kCos) return sum_of(angle.sine(kQuarter));
    if constexpr (kWhich == Elementwise::kTan) return sum_of(angle.tangent());
  }
};
using Sin = OfAngle<Elementwise::kSin>;
using Cos = OfAngle<Elementwise::kCos>;
using Tan = OfAngle<Elementwise::kTan>;

// --- inverse functions of angles

/// The angle of the point (b, a), neither of them negative, not both 0, the greater one between
/// 2^-100 and 2^100.
[[gnu::always_inline]] inline Pair angle_of(Pair a, Pair b) noexcept {
  const Words is_steep = a.high > b.high;
  const Pair rise = select(is_steep, b, a), run = select(is_steep, a, b);
  constexpr double kMostRow = 31;
  // tan(angle - atan(c)) = (rise - c run) / (run + c rise)
  const Rounded row =
      round_to_integer(clamp(rise.high * approximate_inverse(run.high) * 32.0, kMostRow));
  const Doubles c = row.value * (1 / 32.0);
  const Pair back = exact_product(c, run.high), on = exact_product(c, rise.high);
  const Pair difference = exact_sum(rise.high, -back.high);
  const Pair numerator =
      fast_sum(difference.high, difference.low + ((rise.low - back.low) - c * run.low));
  const Pair sum = fast_sum(run.high, on.high);
  const Pair denominator = {sum.high, sum.low + (on.low + (run.low + c * rise.low))};
  const Pair t = numerator / denominator;
  const Doubles z = t.high * t.high;
  const Pair base = look_up(kAngles, row.low_bits);
  const Pair angle = fast_sum(base.high, t.high);
  const Pair flat = {
      angle.high, angle.low + (base.low + (t.low + t.high * z * rounded_polynomial(kAtanPart, z)))};
  return select(is_steep, less(broadcast(kHalfPi, kHalfPiLow), flat), flat);
}

[[gnu::always_inline]] inline Pair less_than_pi(Pair angle) noexcept {
  return less(broadcast(2 * kHalfPi, 2 * kHalfPiLow), angle);
}

struct Atan {
  static constexpr Elementwise kOperation = Elementwise::kAtan;
  static constexpr double kMost = 0x1p70;  // its angle is pi / 2 in double
  [[gnu::always_inline]] static Doubles apply(Doubles x, Words& rare) noexcept {
    const Doubles a = magnitude(x);
    rare = a > broadcast(kMost);
    return with_sign_of(sum_of(angle_of({a, Doubles{}}, {broadcast(1), Doubles{}})), x);
  }
  static Doubles finish(Doubles x, Doubles result) noexcept {
    return select(magnitude(x) > broadcast(kMost), with_sign_of(broadcast(kHalfPi), x), result);
  }
};

/// With |x| > 1/2 by the half angle: asin x = pi / 2 - 2 asin sqrt((1 - x) / 2).
struct ArcSine {
  Words is_small;
  Pair value;  // of |x|, or of the root; NaN where |x| > 1
  [[gnu::always_inline]] explicit ArcSine(Doubles x) noexcept {
    const Doubles a = magnitude(x), half = 0.5 - 0.5 * a;
    is_small = a <= broadcast(0.5);
    const Doubles root = select(is_small, a, square_root(half));
    const Doubles z = select(is_small, a * a, half);
    // The root's square is z + error, so that of the root of z is less.
    const Doubles error = error_of_product(root, root, z);
    const Doubles slope = z * (0.5 + z * 0.5) + 1.0;  // 1 / sqrt(1 - z), nearly
    const Doubles excess = 0.5 * error * approximate_inverse(root + 0x1p-1000) * slope;
    // root + root z (1 / 6 + ...)
    const Pair cube = exact_product(root, z),
               sixth = broadcast(0x1.5555555555555p-3, 0x1.5555555555555p-57);
    const Pair terms = fast_sum(sixth.high, z * rounded_polynomial(kAsinRest, z));
    const Pair more =
        Pair{cube.high, cube.low + root * error} * Pair{terms.high, terms.low + sixth.low};
    const Pair sum = fast_sum(root, more.high);
    value = {sum.high, sum.low + (select(is_small, Doubles{}, -excess) + more.low)};
  }
  /// start + factor value, of a factor of 1 or 2.
  [[gnu::always_inline]] Doubles plus(Pair start, Doubles factor) const noexcept {
    const Pair sum = fast_sum(start.high, factor * value.high);
    return sum.high + (sum.low + (start.low + factor * value.low));
  }
};
struct Asin {
  static constexpr Elementwise kOperation = Elementwise::kAsin;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const ArcSine part(x);
    const Pair start = select(part.is_small, Pair{}, broadcast(kHalfPi, kHalfPiLow));
    return with_sign_of(part.plus(start, select(part.is_small, broadcast(1), broadcast(-2))), x);
  }
};
struct Acos {
  static constexpr Elementwise kOperation = Elementwise::kAcos;
  [[gnu::always_inline]] static Doubles apply(Doubles x) noexcept {
    const ArcSine part(x);
    const Pair large = select(x < Doubles{}, broadcast(2 * kHalfPi, 2 * kHalfPiLow), Pair{});
    const Pair start = select(part.is_small, broadcast(kHalfPi, kHalfPiLow), large);
    const Doubles factor = select(part.is_small, broadcast(-1), broadcast(2));
    return part.plus(start, of_bits(bits_of(factor) ^ (bits_of(x) & kSignOfDouble)));
  }
};

// --- of two numbers

/// A power of two by which a positive number becomes one of [2^-51, 16).
[[gnu::always_inline]] inline Doubles inverse_power(Doubles x) noexcept {
  constexpr std::int64_t kFourths = std::int64_t{0x7FC} << 52, kMost = std::int64_t{0x7FE} << 52;
  return of_bits(kMost - (bits_of(x) & kFourths));
}

/// Whether the numbers need no scaling: their squares are normal numbers, and far from infinite.
[[gnu::always_inline]] inline Words are_moderate(Doubles greater, Doubles lesser) noexcept {
  return (greater < broadcast(0x1p400)) & (lesser > broadcast(0x1p-400));
}

struct Atan2 {
  static constexpr Elementwise kOperation = Elementwise::kAtan2;
  [[gnu::always_inline]] static Doubles apply(Doubles y, Doubles x, Words& rare) noexcept {
    const Doubles a = magnitude(y), b = magnitude(x);
    const Words is_steep = a > b;
    rare = ~are_moderate(select(is_steep, a, b), select(is_steep, b, a));
    const Pair angle = angle_of({a, Doubles{}}, {b, Doubles{}});
    return with_sign_of(sum_of(select(x < Doubles{}, less_than_pi(angle), angle)), y);
  }
  [[gnu::noinline]] static Doubles finish(Doubles y, Doubles x, Doubles result) noexcept {
    const Doubles infinity = broadcast(kInfinity), one = broadcast(1);
    const Doubles a = magnitude(y), b = magnitude(x);
    const Words is_steep = a > b;
    const Doubles most = select(is_steep, a, b), scale = inverse_power(most);
    const Words are_limits = (most == Doubles{}) | (most == infinity);
    const Doubles rise = select(are_limits, select(a == infinity, one, Doubles{}), a * scale);
    const Doubles run = select(
        are_limits, select((b == infinity) | (most == Doubles{}), one, Doubles{}), b * scale);
    const Pair angle = angle_of({rise, Doubles{}}, {run, Doubles{}});
    // A quotient, maybe a subnormal number, is the angle itself.
    const Words is_flat = (rise < run * 0x1p-500) & ~are_limits;
    Doubles other = select(is_flat, a / b, sum_of(angle));
    other = with_sign_of(select(bits_of(x) < 0, sum_of(less_than_pi(angle)), other), y);
    const Words usual = are_moderate(most, select(is_steep, b, a));
    return select((y == y) & (x == x), select(usual, result, other), broadcast(kNaN));
  }
};

struct Hypot {
  static constexpr Elementwise kOperation = Elementwise::kHypot;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Doubles y, Words& rare) noexcept {
    const Doubles a = magnitude(x), b = magnitude(y);
    const Words is_less = a < b;
    const Doubles most = select(is_less, b, a);
    rare = ~are_moderate(most, most);
    return sum_of(length(most, select(is_less, a, b)));
  }
  [[gnu::noinline]] static Doubles finish(Doubles x, Doubles y, Doubles result) noexcept {
    const Doubles a = magnitude(x), b = magnitude(y), infinity = broadcast(kInfinity);
    const Words is_less = a < b;
    const Doubles most = select(is_less, b, a), scale = inverse_power(most);
    const Pair root = length(most * scale, select(is_less, a, b) * scale);
    const Words has_power = most >= broadcast(0x1p-1019);  // of which the inverse is normal
    const Doubles power = of_bits((std::int64_t{0x7FE} << 52) - bits_of(scale));
    // Others were scaled by 2^1023: rounded once, where the last bit of subnormal numbers is.
    const Doubles large = broadcast(2), shifted = large + root.high;
    const Doubles rounded = (shifted + ((root.high - (shifted - large)) + root.low)) - large;
    const Doubles small = select(sum_of(root) < large, rounded, sum_of(root)) * 0x1p-1022 * 0.5;
    Doubles other = select(has_power, sum_of(root) * power, small);
    other = select(a + b < infinity, other, select((a == a) & (b == b), other, a + b));
    other = select((a == infinity) | (b == infinity), infinity, other);
    return select(are_moderate(most, most), select(a + b < infinity, result, other), other);
  }

 private:
  [[gnu::always_inline]] static Pair length(Doubles most, Doubles least) noexcept {
    const Pair first = exact_product(most, most), second = exact_product(least, least);
    const Pair sum = fast_sum(first.high, second.high);
    return square_root(Pair{sum.high, sum.low + (first.low + second.low)});
  }
};

struct Logaddexp {
  static constexpr Elementwise kOperation = Elementwise::kLogaddexp;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Doubles y, Words& rare) noexcept {
    const Words is_less = x < y;
    const Doubles greater = select(is_less, y, x), lesser = select(is_less, x, y);
    const Pair distance = exact_sum(lesser, -greater);
    const Exponential e(distance.high, distance.low);
    const Pair share = power_of_e<true>(e);
    const Doubles power = of_bits(add_bits(broadcast_bits(kBitsOfOne), Exponential::scale(e.n)));
    const Pair under = fast_sum(broadcast(1), share.high * power);
    const Pair log = log_of_pair<true>({under.high, under.low + share.low * power});
    const Pair sum = exact_sum(greater, log.high);
    const Doubles result = sum.high + (sum.low + log.low);
    rare = ~(distance.high > broadcast(-kMostDistance)) | cancels(result, greater);
    return result;
  }
  [[gnu::noinline]] static Doubles finish(Doubles x, Doubles y, Doubles result) noexcept {
    const Words is_less = x < y;
    const Doubles greater = select(is_less, y, x), lesser = select(is_less, x, y);
    const Pair distance = exact_sum(lesser, -greater);
    const Doubles far = greater + any_power_of_e(distance.high, Doubles{}, 0);
    result = select(distance.high > broadcast(-kMostDistance), result, far);
    const Words cancel = cancels(result, greater);
    for (int i = 0; i < kLanes; ++i)
      if (cancel[i] != 0) result[i] = cancelling_logaddexp(greater[i], lesser[i]);
    result = select(magnitude(greater) < broadcast(kInfinity), result, greater);
    return select((x == x) & (y == y), result, broadcast(kNaN));
  }

 private:
  static constexpr double kMostDistance = 700;
  [[gnu::always_inline]] static Words cancels(Doubles result, Doubles greater) noexcept {
    return magnitude(result) < 0x1p-10 * magnitude(greater);
  }
};

struct Pow {
  static constexpr Elementwise kOperation = Elementwise::kPow;
  [[gnu::always_inline]] static Doubles apply(Doubles x, Doubles y, Words& rare) noexcept {
    const Pair log = log_of_normal<true>(x), product = exact_product(y, log.high);
    const Exponential e(product.high, product.low + y * log.low);
    rare = is_rare(x, y, product.high);
    return scaled(power_of_e<true>(e), e);
  }
  [[gnu::noinline]] static Doubles finish(Doubles x, Doubles y, Doubles result) noexcept {
    const Doubles base = magnitude(x);
    const Words is_small = base < broadcast(kLeastNormal);
    const Pair usual = log_of_normal<true>(base), small = log_of_normal<true>(base * 0x1p54, -54);
    const Pair log = select(is_small, small, usual);
    const Pair product = exact_product(y, limit_log(base, log.high));
    const Doubles other = any_power_of_e(product.high, product.low + y * log.low, 0);
    result = select(is_rare(x, y, product.high), other, result);
    return limit_power(x, y, result);
  }

 private:
  [[gnu::always_inline]] static Words is_rare(Doubles x, Doubles y, Doubles exponent) noexcept {
    return ~(is_normal(x) & (magnitude(y) < broadcast(0x1p900)) &
             (magnitude(exponent) <= broadcast(700)));
  }
};

}  // namespace
}  // namespace refarray::core::math
