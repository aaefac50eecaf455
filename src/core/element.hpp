// The C++ type of each of the 27 scalar types, including the small floats that C++ lacks.
#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// Parameters of a small float format. Codes are the bit patterns of positive values.
struct FloatFormat {
  int bits;            // sign, exponent, mantissa
  int mantissa;        // bits of the mantissa
  int bias;            // of the exponent
  std::uint16_t max;   // largest finite value
  std::uint16_t over;  // result of an overflow: infinity, NaN, or `max` if the format has neither
  std::uint16_t nan;   // NaN; as in ml_dtypes, a negative NaN has its sign bit flipped
  bool signed_zero;    // false in the "uz" formats, whose only NaN has the code of -0
};

namespace detail {
/// `a < b ? yes : no` for a and b whose top bit is 0, without a branch. For `?:` g++ emits a branch
/// if one side adds floats, and such a loop is not vectorized.
template <class U>
constexpr U select_below(U a, U b, U yes, U no) noexcept {
  const U mask = static_cast<U>(static_cast<std::make_signed_t<U>>(a - b) >> (sizeof(U) * 8 - 1));
  return no ^ ((yes ^ no) & mask);
}
}  // namespace detail

/// A binary float of 4 to 16 bits that rounds to nearest even. Conversions in both directions are
/// branch-free, so that loops are vectorized. No intermediate result is a subnormal float32, so
/// that flush-to-zero mode does not change results.
template <FloatFormat F>
struct SmallFloat {
  using Code = std::conditional_t<(F.bits > 8), std::uint16_t, std::uint8_t>;
  Code code = 0;  // bits above F.bits are ignored when read and zero when written

  static constexpr FloatFormat format = F;
  static constexpr std::uint32_t sign_bit = 1U << (F.bits - 1);

  /// `Wide` is float or, to round once, double.
  template <class Wide>
  static constexpr SmallFloat from(Wide value) noexcept {
    using U = std::conditional_t<sizeof(Wide) == 4, std::uint32_t, std::uint64_t>;
    constexpr int kMantissa = std::numeric_limits<Wide>::digits - 1;
    constexpr U kBias = static_cast<U>(std::numeric_limits<Wide>::max_exponent - 1);
    constexpr int kDrop = kMantissa - F.mantissa;
    constexpr U kInfinity = std::bit_cast<U>(std::numeric_limits<Wide>::infinity());
    constexpr U kMinNormal = (kBias - U(F.bias) + 1) << kMantissa;
    // A power of two whose unit in the last place is this format's smallest subnormal: adding it
    // rounds the sum to a multiple of that.
    constexpr U kMagic = (kBias + 1 - U(F.bias) + U(kDrop)) << kMantissa;

    const U bits = std::bit_cast<U>(value);
    const U magnitude = bits & (~U{0} >> 1);
    const U rounded = magnitude + ((U{1} << (kDrop - 1)) - 1) + ((magnitude >> kDrop) & 1);
    const U normal = (rounded >> kDrop) - ((kBias - U(F.bias)) << F.mantissa);
    const U subnormal =
        std::bit_cast<U>(std::bit_cast<Wide>(magnitude) + std::bit_cast<Wide>(kMagic)) - kMagic;
    U nan = F.nan;
    if constexpr (F.mantissa == 10)  // float16 keeps the payload, bfloat16 does not
      nan |= (magnitude >> kDrop) & ((U{1} << F.mantissa) - 1);
    U out = detail::select_below(magnitude, kMinNormal, subnormal, normal);
    out = detail::select_below(U{F.max}, out, U{F.over}, out);
    out = detail::select_below(kInfinity, magnitude, nan, out);
    const U sign = (bits >> (sizeof(U) * 8 - 1)) << (F.bits - 1);
    if constexpr (F.signed_zero) return {static_cast<Code>(out ^ sign)};
    return {static_cast<Code>((out & (sign_bit - 1)) == 0 ? out : out | sign)};
  }

  constexpr float value() const noexcept {
    constexpr int kDrop = 23 - F.mantissa;
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - F.bias) << 23;
    constexpr std::uint32_t kMinNormal = kRebias + (1U << 23);
    constexpr std::uint32_t kInfinity = 0x7F800000U;
    constexpr std::uint32_t kNan = 0x7FC00000U;
    const std::uint32_t magnitude = code & (sign_bit - 1);
    const std::uint32_t wide = magnitude << kDrop;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(
        std::bit_cast<float>(wide + kMinNormal) - std::bit_cast<float>(kMinNormal));
    std::uint32_t out = detail::select_below(wide, 1U << 23, subnormal, wide + kRebias);
    if constexpr (F.bits == 16) {  // infinity, or NaN with its payload
      out = detail::select_below<std::uint32_t>(F.max, magnitude, wide | kInfinity, out);
    } else if constexpr (!F.signed_zero) {
      out = (code & (2 * sign_bit - 1)) == F.nan ? kNan : out;
    } else if constexpr (F.over != F.max) {
      out = magnitude <= F.max ? out : F.over != F.nan && magnitude == F.over ? kInfinity : kNan;
    }
    return signed_value(out);
  }

 private:
  constexpr float signed_value(std::uint32_t magnitude) const noexcept {
    return std::bit_cast<float>(magnitude | ((code & sign_bit) << (32 - F.bits)));
  }
};

using Float16 = SmallFloat<FloatFormat{16, 10, 15, 0x7BFF, 0x7C00, 0x7E00, true}>;
using Float8_e3m4 = SmallFloat<FloatFormat{8, 4, 3, 0x6F, 0x70, 0x78, true}>;
using Float8_e4m3 = SmallFloat<FloatFormat{8, 3, 7, 0x77, 0x78, 0x7C, true}>;
using Float8_e4m3b11fnuz = SmallFloat<FloatFormat{8, 3, 11, 0x7F, 0x80, 0x80, false}>;
using Float8_e4m3fn = SmallFloat<FloatFormat{8, 3, 7, 0x7E, 0x7F, 0x7F, true}>;
using Float8_e4m3fnuz = SmallFloat<FloatFormat{8, 3, 8, 0x7F, 0x80, 0x80, false}>;
using Float8_e5m2 = SmallFloat<FloatFormat{8, 2, 15, 0x7B, 0x7C, 0x7E, true}>;
using Float8_e5m2fnuz = SmallFloat<FloatFormat{8, 2, 16, 0x7F, 0x80, 0x80, false}>;
using Float6_e2m3fn = SmallFloat<FloatFormat{6, 3, 1, 0x1F, 0x1F, 0x20, true}>;
using Float6_e3m2fn = SmallFloat<FloatFormat{6, 2, 3, 0x1F, 0x1F, 0x20, true}>;
using Float4_e2m1fn = SmallFloat<FloatFormat{4, 1, 1, 0x07, 0x07, 0x08, true}>;

/// The upper half of a float32.
struct BFloat16 {
  using Code = std::uint16_t;
  Code code = 0;

  static constexpr BFloat16 from(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t nan = 0x7FC0U | ((bits >> 16) & 0x8000U);
    return {static_cast<Code>((bits & 0x7FFFFFFFU) > 0x7F800000U ? nan : rounded)};
  }
  static constexpr BFloat16 from(double value) noexcept {
    return {SmallFloat<FloatFormat{16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, true}>::from(value).code};
  }
  constexpr float value() const noexcept { return std::bit_cast<float>(std::uint32_t{code} << 16); }
};

/// A power of two, 2^-127 to 2^127, or NaN (0xFF): no sign, no zero, no infinity.
struct Float8_e8m0fnu {
  using Code = std::uint8_t;
  Code code = 0;

  /// Ties round up; zero and negative values become NaN. Below 2^-126 the result is that of
  /// ml_dtypes: 2^-127 is kept, larger values become 2^-126.
  static constexpr Float8_e8m0fnu from(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x3FFFFFU + (bits >= 0x800000U ? 1U : 0U)) >> 23;
    const bool is_positive = bits - 1 < 0x7F800000U - 1;  // also false for NaN
    return {static_cast<Code>(is_positive ? rounded : 0xFFU)};
  }
  static constexpr Float8_e8m0fnu from(double value) noexcept {
    constexpr std::uint64_t kOne = std::uint64_t{1} << 52, kLeast = (1023 - 127) * kOne;  // 2^-127
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t rounded =
        bits < kLeast + kOne ? (bits > kLeast ? 1U : 0U) : (bits + kOne / 2 - kLeast) >> 52;
    const bool is_positive = bits - 1 < 0x7FF * kOne - 1;  // also false for NaN
    return {static_cast<Code>(is_positive && rounded < 0xFFU ? rounded : 0xFFU)};
  }
  constexpr float value() const noexcept {
    const std::uint32_t bits = code == 0xFFU ? 0x7FC00000U
                               : code == 0   ? 0x00400000U
                                             : std::uint32_t{code} << 23;
    return std::bit_cast<float>(bits);
  }
};

/// One byte; any value except zero is True.
struct Bool {
  std::uint8_t byte = 0;
};

struct Complex32 {
  Float16 real;
  Float16 imag;
};

/// A list of types; table(f) is the array of the results of f.operator()<T>() for each type.
template <class... Ts>
struct ElementList {
  static constexpr std::size_t size = sizeof...(Ts);
  static constexpr std::array<std::size_t, size> sizes{sizeof(Ts)...};
  template <class F>
  static constexpr auto table(F f) {
    return std::array{f.template operator()<Ts>()...};
  }
};

/// In the order of kScalars.
using Elements =
    ElementList<Bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                std::uint16_t, std::uint32_t, std::uint64_t, float, double, std::complex<float>,
                std::complex<double>, Float16, BFloat16, Complex32, Float8_e3m4, Float8_e4m3,
                Float8_e4m3b11fnuz, Float8_e4m3fn, Float8_e4m3fnuz, Float8_e5m2, Float8_e5m2fnuz,
                Float8_e8m0fnu, Float6_e2m3fn, Float6_e3m2fn, Float4_e2m1fn>;

static_assert(Elements::size == kScalars.size());
static_assert([] {
  for (std::size_t i = 0; i < kScalars.size(); ++i) {
    if (Elements::sizes[i] != (kScalars[i].bits + 7U) / 8U) return false;
  }
  return true;
}());

}  // namespace refarray::core
