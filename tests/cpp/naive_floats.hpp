// The definitions of the small float formats, independent of SmallFloat, for comparison.
#pragma once

#include <cmath>
#include <limits>

namespace refarray::check {

/// Parameters of a format.
struct Definition {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum { kIeee, kOneNan, kUnsignedZero, kFinite } specials;
};

inline int sign_bit(const Definition& d) { return 1 << (d.exponent_bits + d.mantissa_bits); }

/// The value of a positive code if no code were special. Also valid for largest_finite() + 1.
inline double plain_value(const Definition& d, int code) {
  const int mantissa = code & ((1 << d.mantissa_bits) - 1);
  const int exponent = code >> d.mantissa_bits;
  if (exponent == 0) return std::ldexp(mantissa, 1 - d.bias - d.mantissa_bits);
  return std::ldexp(mantissa + (1 << d.mantissa_bits), exponent - d.bias - d.mantissa_bits);
}

inline double defined_value(const Definition& d, int code) {
  const bool negative = (code & sign_bit(d)) != 0;
  const int magnitude = code & (sign_bit(d) - 1);
  const int infinity = ((1 << d.exponent_bits) - 1) << d.mantissa_bits;
  double value = plain_value(d, magnitude);
  if (d.specials == Definition::kIeee && magnitude >= infinity) {
    value = magnitude == infinity ? std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::quiet_NaN();
  } else if (d.specials == Definition::kOneNan && magnitude == sign_bit(d) - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (d.specials == Definition::kUnsignedZero && code == sign_bit(d)) {
    value = std::numeric_limits<double>::quiet_NaN();
  }
  return negative ? -value : value;
}

inline int largest_finite(const Definition& d) {
  int code = sign_bit(d) - 1;
  while (!std::isfinite(defined_value(d, code))) --code;
  return code;
}

/// The code of the finite value nearest to `magnitude` >= 0, ties to even; largest_finite() + 1 if
/// the value overflows.
inline int nearest_code(const Definition& d, long double magnitude) {
  int low = 0, high = largest_finite(d) + 1;
  if (magnitude >= plain_value(d, high)) return high;
  while (high - low > 1) {  // plain_value() is monotonic
    const int middle = (low + high) / 2;
    (plain_value(d, middle) <= magnitude ? low : high) = middle;
  }
  const long double below = magnitude - plain_value(d, low);
  const long double above = plain_value(d, high) - magnitude;
  if (below != above) return below < above ? low : high;
  return low % 2 == 0 ? low : high;
}

}  // namespace refarray::check
