// Tests of copy() on long runs, transposes, shifted overlaps and many axes, compared with copying
// element by element. tests/fuzz/copy_fuzz.cpp does the same for random layouts and types, and
// compares conversions with the definitions of the types; tests/array/test_convert.py has every
// value and boundary of them.
#include "core/copy/copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "core/element.hpp"
#include "core/kernels/table.hpp"
#include "placement.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

/// RAII: uses the kernels of a random instruction set, afterwards the plain ones.
class RandomKernels {
 public:
  RandomKernels() {
    const kernels::Choices all = kernels::choices();
    kernels::use(all.tables[random_below(all.count)]->name);
  }
  ~RandomKernels() { kernels::use("plain"); }
};

/// copy() must change exactly the bits that a loop over single elements changes.
void expect_copy(const Placement& dst, const Placement& src) {
  Bytes source = random_bytes(src.nbytes);
  Bytes seen = random_bytes(dst.nbytes);
  Bytes expected = seen;
  copy_elements(dst, expected, src, source);
  const RandomKernels chosen;
  copy(dst.in(seen), src.in(source));
  check(seen == expected, describe(dst, src) + " by " + kernels::table().name);
}

const Case shapes("arrays of other shapes are refused", [] {
  Bytes bytes = random_bytes(64);
  const Placement three = row_major(type("float32"), {3}, 0);
  const Placement two = row_major(type("float32"), {2}, 0);
  fails(Fault::kValue, "cannot copy an array of shape (2,) into one of shape (3,)",
        [&] { copy(three.in(bytes), two.in(bytes)); });
});

const Case long_runs("contiguous runs longer than a buffer, at every bit offset", [] {
  const std::vector<DType> narrow = {type("float4_e2m1fn"), type("float6_e2m3fn"),
                                     type("float6_e3m2fn")};
  const std::vector<DType> others = {type("float4_e2m1fn"), type("float4_e2m1fn_padded"),
                                     type("float6_e2m3fn"), type("float6_e3m2fn_padded"),
                                     type("float32"),       type("int16"),
                                     type("float8_e5m2"),   type("complex64")};
  for (const DType& packed : narrow) {
    for (const DType& other : others) {
      for (std::int64_t first = 0; first < 5; ++first) {
        for (const std::int64_t count : {1, 2, 3, 5, 8, 255, 256, 257, 1000}) {
          expect_copy(row_major(other, {count}, first / 2), row_major(packed, {count}, first));
          if (can_convert(other, packed)) {
            expect_copy(row_major(packed, {count}, first), row_major(other, {count}, first / 2));
          }
        }
      }
    }
  }
});

const Case transposes("transposes larger than a tile, for every element size", [] {
  const std::vector<std::pair<const char*, const char*>> type_pairs = {
      {"int8", "int8"},           {"float16", "float16"},       {"float32", "float32"},
      {"float64", "float64"},     {"complex128", "complex128"}, {"float64", "float32"},
      {"float8_e5m2", "int64"},   {"float4_e2m1fn", "float32"}, {"float32", "float6_e2m3fn"},
      {"float32x3", "float32x3"}, {"complex64", "complex32"}};
  for (const auto& [from, to] : type_pairs) {
    for (const List& shape : {List{70, 131}, List{3, 64, 65}, List{129, 5, 40}, List{200, 3}}) {
      Placement source = row_major(type(from), List(shape.rbegin(), shape.rend()), 3);
      std::reverse(source.shape.begin(), source.shape.end());
      std::reverse(source.strides.begin(), source.strides.end());
      expect_copy(row_major(type(to), shape, 1), source);
      if (can_convert(type(to), type(from))) {
        Placement transposed = source;
        transposed.dtype = type(to);
        transposed.origin = 3 * transposed.dtype.stored_bits();
        transposed.nbytes = tight_size(transposed);
        expect_copy(transposed, row_major(type(from), shape, 1));
      }
    }
  }
});

/// Both placements are in one block; the result must equal copying from a snapshot.
void expect_overlapping_copy(Placement dst, Placement src) {
  const std::int64_t nbytes = std::max(dst.nbytes, src.nbytes);
  Bytes seen = random_bytes(nbytes);
  Bytes snapshot = seen;
  Bytes expected = seen;
  copy_elements(dst, expected, src, snapshot);
  const RandomKernels chosen;
  copy(dst.in(seen), src.in(seen));
  check(seen == expected, "overlapping " + describe(dst, src) + " by " + kernels::table().name);
}

const Case overlaps("overlapping copies behave as if src had been copied first", [] {
  for (const DType& from : all_types()) {
    for (const std::int64_t shift : {0, 1, 2, 3, 7}) {  // shifted in both directions
      expect_overlapping_copy(row_major(from, {300}, shift), row_major(from, {300}, 3));
      Placement reversed = row_major(from, {300}, 302);
      reversed.strides[0] = -1;
      expect_overlapping_copy(row_major(from, {300}, shift), reversed);
    }
  }
});

const Case same_memory("copying an array onto itself changes nothing", [] {
  for (const DType& dtype : all_types()) {
    const Placement place = random_placement(dtype, {3, 4, 5}, false);
    Bytes memory = random_bytes(place.nbytes);
    const Bytes before = memory;
    copy(place.in(memory), place.in(memory));
    check(memory == before, name(dtype));
  }
});

const Case many_axes("64 axes, most of extent 1 with meaningless strides", [] {
  List shape(64, 1);
  shape[0] = 3;
  shape[20] = 2;
  shape[40] = 4;
  shape[63] = 5;
  for (const char* name : {"int32", "float4_e2m1fn"}) {
    for (int round = 0; round < 20; ++round) {
      expect_copy(random_placement(type("float64"), shape, false),
                  random_placement(type(name), shape, true));
    }
  }
});

const Case empty("copying an empty array accesses no memory", [] {
  const List shape = {3, 0, 2};
  const List strides = {std::int64_t{1} << 62, -5, 9};
  copy(view_at(nullptr, type("float32"), shape, strides.data()),
       view_at(nullptr, type("int8"), shape, strides.data()));
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
