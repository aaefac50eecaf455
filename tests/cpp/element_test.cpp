// Tests of the small floats: every code of every format, and rounding at every midpoint.
#include "core/element.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "naive_floats.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
struct Tested {
  using Type = T;
  Definition definition;
};

template <class Visit>
void for_each_format(Visit visit) {
  visit(Tested<Float16>{{"float16", 5, 10, 15, Definition::kIeee}});
  visit(Tested<Float8_e3m4>{{"float8_e3m4", 3, 4, 3, Definition::kIeee}});
  visit(Tested<Float8_e4m3>{{"float8_e4m3", 4, 3, 7, Definition::kIeee}});
  visit(Tested<Float8_e4m3b11fnuz>{{"float8_e4m3b11fnuz", 4, 3, 11, Definition::kUnsignedZero}});
  visit(Tested<Float8_e4m3fn>{{"float8_e4m3fn", 4, 3, 7, Definition::kOneNan}});
  visit(Tested<Float8_e4m3fnuz>{{"float8_e4m3fnuz", 4, 3, 8, Definition::kUnsignedZero}});
  visit(Tested<Float8_e5m2>{{"float8_e5m2", 5, 2, 15, Definition::kIeee}});
  visit(Tested<Float8_e5m2fnuz>{{"float8_e5m2fnuz", 5, 2, 16, Definition::kUnsignedZero}});
  visit(Tested<Float6_e2m3fn>{{"float6_e2m3fn", 2, 3, 1, Definition::kFinite}});
  visit(Tested<Float6_e3m2fn>{{"float6_e3m2fn", 3, 2, 3, Definition::kFinite}});
  visit(Tested<Float4_e2m1fn>{{"float4_e2m1fn", 2, 1, 1, Definition::kFinite}});
}

bool is_same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

const Case values("every code has the value that the definition gives", [] {
  for_each_format([]<class T>(Tested<T> format) {
    for (int code = 0; code < 2 * sign_bit(format.definition); ++code) {
      const double seen = double{T{static_cast<typename T::Code>(code)}.value()};
      check(is_same(seen, defined_value(format.definition, code)),
            std::string(format.definition.name) + " code " + std::to_string(code));
    }
  });
});

const Case round_trips("every value converts back to its code", [] {
  for_each_format([]<class T>(Tested<T> format) {
    for (int code = 0; code < 2 * sign_bit(format.definition); ++code) {
      const float value = T{static_cast<typename T::Code>(code)}.value();
      if (std::isnan(value)) continue;
      expect(int{T::from(value).code}, code, format.definition.name);
      expect(int{T::from(double{value}).code}, code, format.definition.name);
    }
  });
});

const Case unused_bits("unused bits above a sub-byte value are ignored", [] {
  for (unsigned code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    const auto low = [code](unsigned bits) {
      return static_cast<std::uint8_t>(code & ((1U << bits) - 1));
    };
    check(is_same(double{Float4_e2m1fn{byte}.value()}, double{Float4_e2m1fn{low(4)}.value()}));
    check(is_same(double{Float6_e2m3fn{byte}.value()}, double{Float6_e2m3fn{low(6)}.value()}));
    check(is_same(double{Float6_e3m2fn{byte}.value()}, double{Float6_e3m2fn{low(6)}.value()}));
  }
});

template <class T, class Wide>
void expect_code(const Definition& d, double value, int code) {
  const Wide wide = static_cast<Wide>(value);
  if (static_cast<double>(wide) != value) return;  // not representable in Wide
  const bool unsigned_zero = d.specials == Definition::kUnsignedZero;
  const int negative =
      unsigned_zero && (code == 0 || code == sign_bit(d)) ? code : code ^ sign_bit(d);
  const std::string note = std::string(d.name) + " from " + std::to_string(value);
  expect(int{T::from(wide).code}, code, note);
  expect(int{T::from(-wide).code}, negative, "minus: " + note);
}

/// At the midpoint of two adjacent codes: below it rounds down, above it rounds up, at it to even.
template <class T, class Wide>
void expect_rounding(const Definition& d) {
  const int top = largest_finite(d);
  for (int code = 0; code <= top; ++code) {
    const double middle = (plain_value(d, code) + plain_value(d, code + 1)) / 2;
    const int up = code < top ? code + 1 : int{T::format.over};
    const auto wide_middle = static_cast<Wide>(middle);
    expect_code<T, Wide>(d, static_cast<double>(std::nextafter(wide_middle, Wide{0})), code);
    expect_code<T, Wide>(d, middle, code % 2 == 0 ? code : up);
    expect_code<T, Wide>(d, static_cast<double>(std::nextafter(wide_middle, Wide{kInf})), up);
  }
}

const Case rounding("values round to nearest even at every midpoint, from float32 and from float64",
                    [] {
                      for_each_format([]<class T>(Tested<T> format) {
                        expect_rounding<T, float>(format.definition);
                        expect_rounding<T, double>(format.definition);
                      });
                    });

const Case out_of_range("values far outside of the range", [] {
  for_each_format([]<class T>(Tested<T> format) {
    const Definition& d = format.definition;
    for (const double huge : {1e6, 3e38, double{kInf}}) {
      expect_code<T, double>(d, huge, int{T::format.over});
      expect_code<T, float>(d, static_cast<double>(static_cast<float>(huge)), int{T::format.over});
    }
    for (const double tiny : {1e-30, 1e-42, 1e-320, 0.0}) expect_code<T, double>(d, tiny, 0);
    for (const float tiny : {1e-30F, 1e-42F, 0.0F}) expect_code<T, float>(d, double{tiny}, 0);
  });
});

struct SpecialCodes {
  int nan, minus_nan, infinity, minus_infinity, minus_zero;
};

template <class T>
void expect_specials(const char* name, const SpecialCodes& codes) {
  expect(int{T::from(kNan).code}, codes.nan, name);
  expect(int{T::from(-kNan).code}, codes.minus_nan, name);
  expect(int{T::from(kInf).code}, codes.infinity, name);
  expect(int{T::from(-kInf).code}, codes.minus_infinity, name);
  expect(int{T::from(-0.0F).code}, codes.minus_zero, name);
}

/// The codes that ml_dtypes 0.6 gives.
const Case specials("NaN, infinities and -0", [] {
  expect_specials<Float16>("float16", {0x7E00, 0xFE00, 0x7C00, 0xFC00, 0x8000});
  expect_specials<BFloat16>("bfloat16", {0x7FC0, 0xFFC0, 0x7F80, 0xFF80, 0x8000});
  expect_specials<Float8_e3m4>("float8_e3m4", {0x78, 0xF8, 0x70, 0xF0, 0x80});
  expect_specials<Float8_e4m3>("float8_e4m3", {0x7C, 0xFC, 0x78, 0xF8, 0x80});
  expect_specials<Float8_e4m3b11fnuz>("float8_e4m3b11fnuz", {0x80, 0x80, 0x80, 0x80, 0x00});
  expect_specials<Float8_e4m3fn>("float8_e4m3fn", {0x7F, 0xFF, 0x7F, 0xFF, 0x80});
  expect_specials<Float8_e4m3fnuz>("float8_e4m3fnuz", {0x80, 0x80, 0x80, 0x80, 0x00});
  expect_specials<Float8_e5m2>("float8_e5m2", {0x7E, 0xFE, 0x7C, 0xFC, 0x80});
  expect_specials<Float8_e5m2fnuz>("float8_e5m2fnuz", {0x80, 0x80, 0x80, 0x80, 0x00});
  expect_specials<Float8_e8m0fnu>("float8_e8m0fnu", {0xFF, 0xFF, 0xFF, 0xFF, 0xFF});
  expect_specials<Float6_e2m3fn>("float6_e2m3fn", {0x20, 0x00, 0x1F, 0x3F, 0x20});
  expect_specials<Float6_e3m2fn>("float6_e3m2fn", {0x20, 0x00, 0x1F, 0x3F, 0x20});
  expect_specials<Float4_e2m1fn>("float4_e2m1fn", {0x08, 0x00, 0x07, 0x0F, 0x08});
});

const Case bfloat16("bfloat16: every code and every midpoint", [] {
  for (unsigned code = 0; code < 0x10000; ++code) {
    const float value = BFloat16{static_cast<std::uint16_t>(code)}.value();
    expect(std::bit_cast<std::uint32_t>(value), code << 16);
    if (!std::isfinite(value)) continue;
    expect(unsigned{BFloat16::from(value).code}, code);
    const auto from_bits = [](std::uint32_t bits) {
      return unsigned{BFloat16::from(std::bit_cast<float>(bits)).code};
    };
    expect(from_bits((code << 16) + 0x7FFFU), code);
    expect(from_bits((code << 16) + 0x8000U), code + (code & 1U));
    expect(from_bits((code << 16) + 0x8001U), code + 1);
  }
});

const Case powers("float8_e8m0fnu represents powers of two", [] {
  for (int code = 0; code < 255; ++code) {
    const float value = Float8_e8m0fnu{static_cast<std::uint8_t>(code)}.value();
    expect(double{value}, std::ldexp(1.0, code - 127));
    expect(int{Float8_e8m0fnu::from(value).code}, code);
    expect(int{Float8_e8m0fnu::from(-value).code}, 255);
    if (code == 0) continue;
    const float middle = std::ldexp(1.5F, code - 127);
    expect(int{Float8_e8m0fnu::from(std::nextafter(middle, 0.0F)).code}, code);
    expect(int{Float8_e8m0fnu::from(middle).code}, code + 1);
  }
  check(std::isnan(Float8_e8m0fnu{255}.value()));
  expect(int{Float8_e8m0fnu::from(0.0F).code}, 255);
  expect(int{Float8_e8m0fnu::from(std::nextafter(std::ldexp(1.0F, -127), 1.0F)).code}, 1);
  expect(int{Float8_e8m0fnu::from(std::numeric_limits<float>::denorm_min()).code}, 0);
});

const Case payloads("float16 NaNs are quiet and keep the upper bits of the payload", [] {
  expect(std::bit_cast<std::uint32_t>(Float16{0xFE15}.value()), 0xFFC2A000U);
  expect(int{Float16::from(std::bit_cast<float>(0xFFC2A000U)).code}, 0xFE15);
  expect(int{Float16::from(std::bit_cast<float>(0x7F800001U)).code}, 0x7E00);
});

static_assert(Float8_e4m3fn::from(448.0F).value() == 448.0F);
static_assert(Float8_e5m2::from(57344.0).value() == 57344.0F);
static_assert(Float4_e2m1fn{5}.value() == 3.0F);
static_assert(Float16::from(65520.0F).code == 0x7C00);

}  // namespace
