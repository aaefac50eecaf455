// An independent implementation of the conversion of one element: decodes to numbers and encodes
// again, by the definitions of the formats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "input.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::fuzz {

using core::Kind;

// --- the definitions of the small float formats

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

// --- elements

/// The bits of one scalar, as in memory.
struct Bits {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // the imaginary part of a complex128
};

/// The value of a scalar: an integer, or one or two reals.
struct Number {
  bool is_integer = false;
  __int128 integer = 0;
  double real = 0;
  double imag = 0;
};

/// The definition of a float type that C++ lacks; nullptr for all other types.
inline const Definition* small_float(Kind kind, int bits) {
  using D = Definition;
  static constexpr D kFloat16{"float16", 5, 10, 15, D::kIeee};
  static constexpr D kBfloat16{"bfloat16", 8, 7, 127, D::kIeee};
  static constexpr D kOthers[] = {
      {"float8_e3m4", 3, 4, 3, D::kIeee},
      {"float8_e4m3", 4, 3, 7, D::kIeee},
      {"float8_e4m3b11fnuz", 4, 3, 11, D::kUnsignedZero},
      {"float8_e4m3fn", 4, 3, 7, D::kOneNan},
      {"float8_e4m3fnuz", 4, 3, 8, D::kUnsignedZero},
      {"float8_e5m2", 5, 2, 15, D::kIeee},
      {"float8_e5m2fnuz", 5, 2, 16, D::kUnsignedZero},
      {"float8_e8m0fnu", 8, 0, 127, D::kOneNan},  // unsigned: never encoded by this row
      {"float6_e2m3fn", 2, 3, 1, D::kFinite},
      {"float6_e3m2fn", 3, 2, 3, D::kFinite},
      {"float4_e2m1fn", 2, 1, 1, D::kFinite},
  };
  if (kind == Kind::kFloat && bits == 16) return &kFloat16;
  if (kind == Kind::kBfloat) return &kBfloat16;
  const int row = static_cast<int>(kind) - static_cast<int>(Kind::kFloat8_e3m4);
  return row >= 0 ? &kOthers[row] : nullptr;
}

/// Bits of a part: a complex number is two floats of half the size.
inline double decode_real(Kind kind, int bits, std::uint64_t code) {
  if (kind == Kind::kFloat && bits == 64) return std::bit_cast<double>(code);
  if (kind == Kind::kFloat && bits == 32)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
  if (kind == Kind::kFloat8_e8m0fnu) {
    const int exponent = static_cast<int>(code & 0xFF);
    return exponent == 0xFF ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, exponent - 127);
  }
  const Definition* d = small_float(kind, bits);
  return defined_value(*d, static_cast<int>(code) & (2 * sign_bit(*d) - 1));
}

inline Number decode(const core::DType& dtype, Bits code) {
  Number out;
  const int bits = dtype.bits;
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  switch (dtype.kind) {
    case Kind::kBool:
      return {true, (code.low & mask) != 0 ? 1 : 0, 0, 0};
    case Kind::kUInt:
      return {true, static_cast<__int128>(code.low & mask), 0, 0};
    case Kind::kInt:
      out.is_integer = true;
      out.integer = static_cast<__int128>(code.low & mask);
      if ((code.low >> (bits - 1) & 1) != 0) out.integer -= static_cast<__int128>(mask) + 1;
      return out;
    case Kind::kComplex: {
      const int half = bits / 2;
      const std::uint64_t part = bits == 128 ? code.high : (code.low & mask) >> half;
      const std::uint64_t first =
          bits == 128 ? code.low : code.low & ((std::uint64_t{1} << half) - 1);
      out.real = decode_real(Kind::kFloat, half, first);
      out.imag = decode_real(Kind::kFloat, half, part);
      return out;
    }
    default:
      out.real = decode_real(dtype.kind, bits, code.low & mask);
      return out;
  }
}

/// Excludes NaN, which the caller handles.
inline std::uint64_t encode_small(const Definition& d, long double value) {
  using D = Definition;
  const int sign = std::signbit(value) ? sign_bit(d) : 0;
  const int top = largest_finite(d);
  int code = std::isinf(value) ? top + 1 : nearest_code(d, std::fabs(value));
  if (code > top) {
    if (d.specials == D::kUnsignedZero) return static_cast<std::uint64_t>(sign_bit(d));
    code = d.specials == D::kIeee     ? ((1 << d.exponent_bits) - 1) << d.mantissa_bits
           : d.specials == D::kOneNan ? sign_bit(d) - 1
                                      : top;
  }
  if (code == 0 && d.specials == D::kUnsignedZero) return 0;
  return static_cast<std::uint64_t>(code | sign);
}

/// 2^n has the code n + 127. Ties round up; zero and negative values are NaN (0xFF).
inline std::uint64_t encode_power(long double value) {
  if (!(value > 0) || std::isinf(value)) return 0xFF;
  if (value < std::ldexp(1.0, -126)) return value <= std::ldexp(1.0, -127) ? 0 : 1;
  int exponent = 0;
  const long double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  const int code = exponent - 1 + 127 + (fraction >= 0.75 ? 1 : 0);
  return static_cast<std::uint64_t>(std::min(code, 0xFF));
}

/// Truncates toward zero and saturates; 0 for NaN.
inline std::uint64_t encode_integer(const core::DType& dtype, const Number& number) {
  const int bits = dtype.bits;
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  if (number.is_integer) return static_cast<std::uint64_t>(number.integer) & mask;
  const bool is_signed = dtype.kind == Kind::kInt;
  const double end = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  if (std::isnan(number.real)) return 0;
  if (number.real >= end) return is_signed ? mask >> 1 : mask;
  if (number.real < (is_signed ? -end : 0.0)) return is_signed ? (mask >> 1) + 1 : 0;
  return static_cast<std::uint64_t>(static_cast<__int128>(std::trunc(number.real))) & mask;
}

/// Whether `seen` is the correct conversion of `from` to a real of `bits` bits.
inline bool is_real(Kind kind, int bits, std::uint64_t seen, const Number& from, double value) {
  const double narrow = from.is_integer ? static_cast<double>(static_cast<float>(from.integer))
                                        : static_cast<double>(static_cast<float>(value));
  if (kind == Kind::kFloat && bits >= 32) {
    const double exact = from.is_integer ? static_cast<double>(from.integer) : value;
    const double wanted = bits == 32 ? narrow : exact;
    const double got = decode_real(kind, bits, seen);
    return (std::isnan(got) && std::isnan(wanted)) ||
           (got == wanted && std::signbit(got) == std::signbit(wanted));
  }
  // Rounded once. A long double holds every 64-bit integer.
  const long double wanted = from.is_integer ? static_cast<long double>(from.integer) : value;
  if (kind == Kind::kFloat8_e8m0fnu)
    return seen == (std::isnan(wanted) ? 0xFF : encode_power(wanted));
  const Definition& d = *small_float(kind, bits);
  if (!std::isnan(wanted)) return seen == encode_small(d, wanted);
  if (d.specials == Definition::kFinite)  // without NaN: -0 with the sign flipped
    return seen == (std::signbit(wanted) ? 0U : static_cast<std::uint64_t>(sign_bit(d)));
  const double got = decode_real(kind, bits, seen);
  return std::isnan(got) && (d.specials == Definition::kUnsignedZero ||
                             std::signbit(wanted) == ((seen >> (bits - 1) & 1) != 0));
}

/// Whether `seen` is the correct conversion of the element `given`.
inline bool is_converted(const core::DType& to, Bits seen, const core::DType& from, Bits given) {
  const Number number = decode(from, given);
  switch (to.kind) {
    case Kind::kBool:
      return (seen.low & 0xFF) ==
             ((number.is_integer ? number.integer != 0 : number.real != 0 || number.imag != 0)
                  ? 1U
                  : 0U);
    case Kind::kInt:
    case Kind::kUInt:
      return seen.low == encode_integer(to, number);
    case Kind::kComplex: {
      const int half = to.bits / 2;
      const std::uint64_t mask = half == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << half) - 1;
      const std::uint64_t real = seen.low & mask;
      const std::uint64_t imag = half == 64 ? seen.high : seen.low >> half & mask;
      Number second = number;
      if (number.is_integer) second.integer = 0;
      return is_real(Kind::kFloat, half, real, number, number.real) &&
             is_real(Kind::kFloat, half, imag, second, number.imag);
    }
    default:
      return is_real(to.kind, to.bits, seen.low, number, number.real);
  }
}

}  // namespace refarray::fuzz
