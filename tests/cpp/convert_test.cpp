// Tests of the conversion of single values by copy(), and of the conversions it rejects.
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/copy/copy.hpp"
#include "placement.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

const Case rejected("invalid conversions and shapes are rejected", [] {
  std::array<std::byte, 64> memory{};
  const std::array<std::int64_t, 2> extents{2, 3};
  const std::int64_t stride = 1;
  const auto array = [&](const char* name, std::size_t extent) {
    return view_at(memory.data(), type(name), {&extents[extent], 1}, &stride);
  };
  const ArrayView real = array("float32", 0);
  fails(Fault::kType, "no conversion from complex64 to float32",
        [&] { copy(real, array("complex64", 0)); });
  fails(Fault::kType, "float32x2", [&] { copy(real, array("float32x2", 0)); });
  fails(Fault::kValue, "(3,)", [&] { copy(real, array("float32", 1)); });
});

const Case rules("can_convert()", [] {
  for (const DType& from : all_types()) {
    for (const DType& to : all_types()) {
      const bool loses_a_part = from.is_complex() && !to.is_complex() && to.kind != Kind::kBool;
      expect(can_convert(from, to), !loses_a_part, name(from) + " -> " + name(to));
    }
  }
  check(!can_convert(type("float32x2"), type("float64x2")));
  check(!can_convert(type("float32x2"), type("float32x4")));
  check(!can_convert(type("float32"), type("float32x2")));
  check(can_convert(type("float4_e2m1fnx2"), type("float4_e2m1fnx2_padded")));
});

template <class D, class S>
D converted(const char* to, const char* from, S value) {
  D out{};
  copy(view_at(reinterpret_cast<std::byte*>(&out), type(to)),
       view_at(reinterpret_cast<std::byte*>(&value), type(from)));
  return out;
}

const Case saturation("float to integer truncates, saturates, and maps NaN to 0", [] {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto to_int8 = [](double value) {
    return int{converted<std::int8_t>("int8", "float64", value)};
  };
  const auto to_uint64 = [](float value) {
    return converted<std::uint64_t>("uint64", "float32", value);
  };
  const auto to_int64 = [](double value) {
    return converted<std::int64_t>("int64", "float64", value);
  };
  expect(to_int8(127.9), 127);
  expect(to_int8(128.0), 127);
  expect(to_int8(-128.9), -128);
  expect(to_int8(-129.0), -128);
  expect(to_int8(-0.9), 0);
  expect(to_int8(kInf), 127);
  expect(to_int8(-kInf), -128);
  expect(to_int8(std::nan("")), 0);
  expect(to_uint64(-1.0F), std::uint64_t{0});
  expect(to_uint64(0x1p63F), std::uint64_t{1} << 63);
  expect(to_uint64(0x1p64F), std::numeric_limits<std::uint64_t>::max());
  expect(to_int64(0x1p63), std::numeric_limits<std::int64_t>::max());
  expect(to_int64(-0x1p63), std::numeric_limits<std::int64_t>::min());
  expect(to_int64(0x1.fffffffffffffp62), std::int64_t{0x7FFFFFFFFFFFFC00});
  expect(int{converted<std::int16_t>("int16", "float8_e5m2", std::uint8_t{0xFC})}, -32768);
});

const Case numbers("integers, bool and complex", [] {
  expect(int{converted<std::uint8_t>("uint8", "int32", -1)}, 255);
  expect(int{converted<std::int8_t>("int8", "int64", std::int64_t{300})}, 44);
  expect(converted<std::uint64_t>("uint64", "int8", std::int8_t{-2}), ~std::uint64_t{1});
  expect(int{converted<std::int8_t>("int8", "bool", std::uint8_t{7})}, 1);
  for (const float value : {1e-45F, -3.0F, std::nanf("")}) {
    expect(int{converted<std::uint8_t>("bool", "float32", value)}, 1);
  }
  expect(int{converted<std::uint8_t>("bool", "float32", -0.0F)}, 0);
  expect(int{converted<std::uint8_t>("bool", "complex64", std::array{0.0F, 2.0F})}, 1);
  expect(int{converted<std::uint8_t>("bool", "complex32", std::array<std::uint16_t, 2>{0x8000, 0})},
         0);
  expect(int{converted<std::uint8_t>("bool", "float8_e8m0fnu", std::uint8_t{0})}, 1);
  const auto complex =
      converted<std::array<double, 2>>("complex128", "float8_e4m3fn", std::uint8_t{0x7E});
  check(complex[0] == 448.0 && complex[1] == 0.0);
  const auto half =
      converted<std::array<std::uint16_t, 2>>("complex32", "complex128", std::array{1.5, -70000.0});
  check(half[0] == 0x3E00 && half[1] == 0xFC00);
});

template <std::size_t Size>
std::array<int, Size> repacked(const char* to, const char* from, std::int64_t count,
                               std::vector<int> bytes) {
  Bytes source, memory(Size, std::byte{0xFF});
  for (const int each : bytes) source.push_back(static_cast<std::byte>(each));
  copy(row_major(type(to), {count}, 0).in(memory), row_major(type(from), {count}, 0).in(source));
  std::array<int, Size> out{};
  for (std::size_t i = 0; i < Size; ++i) out[i] = std::to_integer<int>(memory[i]);
  return out;
}

const Case packing(
    "packed elements are little-endian; padding is zero; bits after the end are preserved", [] {
      using Bytes5 = std::array<int, 5>;
      check(repacked<5>("float4_e2m1fn_padded", "float4_e2m1fn", 3, {0x21, 0x43}) ==
            Bytes5{1, 2, 3, 255, 255});
      check(repacked<5>("float4_e2m1fn", "float4_e2m1fn_padded", 3, {1, 2, 0xF3}) ==
            Bytes5{0x21, 0xF3, 255, 255, 255});
      check(repacked<5>("float6_e2m3fn_padded", "float6_e2m3fn", 4, {0x81, 0x30, 0x10}) ==
            Bytes5{1, 2, 3, 4, 255});
      check(repacked<5>("float6_e2m3fn", "float6_e2m3fn_padded", 4, {1, 2, 3, 4}) ==
            Bytes5{0x81, 0x30, 0x10, 255, 255});
      check(repacked<5>("float6_e2m3fnx3_padded", "float6_e2m3fnx3", 1, {0x81, 0x30, 0xFF}) ==
            Bytes5{0x81, 0x30, 3, 255, 255});
      check(repacked<5>("float6_e2m3fnx3", "float6_e2m3fnx3_padded", 1, {0x81, 0x30, 0}) ==
            Bytes5{0x81, 0x30, 0xFC, 255, 255});
    });

const Case rounding_once("conversions round once, although float32 would round to the tie", [] {
  const double above_tie = 1.0 + 0x1p-11 + 0x1p-40;
  expect(int{converted<std::uint16_t>("float16", "float64", above_tie)}, 0x3C01);
  expect(converted<std::uint32_t>("complex32", "float64", above_tie), 0x3C01U);
  expect(converted<std::uint32_t>("complex32", "complex128", std::complex<double>(1.0, -above_tie)),
         0xBC013C00U);
  expect(int{converted<std::uint16_t>("bfloat16", "float64", 1.0 + 0x1p-8 + 0x1p-40)}, 0x3F81);
  expect(int{converted<std::uint8_t>("float8_e4m3fn", "float64", 1.0 + 0x1p-4 + 0x1p-40)}, 0x39);
  expect(int{converted<std::uint8_t>("float8_e8m0fnu", "float64", 1.5 - 0x1p-40)}, 127);
  expect(int{converted<std::uint8_t>("float8_e8m0fnu", "float64", 0x1p-1000)}, 0);
  constexpr std::int64_t kAboveTie = (std::int64_t{257} << 54) + 1;  // of bfloat16
  expect(int{converted<std::uint16_t>("bfloat16", "int64", kAboveTie)}, 0x5E81);
  expect(int{converted<std::uint16_t>("bfloat16", "int64", -kAboveTie)}, 0xDE81);
  expect(int{converted<std::uint16_t>("bfloat16", "int32", (257 << 21) + 1)}, 0x4E01);
  expect(int{converted<std::uint16_t>("float16", "int64", std::int64_t{65519})}, 0x7BFF);
  expect(int{converted<std::uint16_t>("float16", "int64", std::int64_t{65520})}, 0x7C00);
});

}  // namespace
