// Owns the tests of how copy() finds its elements: random layouts against one element at a time,
// overlap, packed bits, tiles.
#include "core/copy/copy.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "core/kernels/table.hpp"
#include "placement.hpp"

namespace refarray::core {
namespace {

using check::Case;
using check::check;

/// Kernels of a random instruction set while it lives, then the plain ones again.
class AnyKernels {
 public:
  AnyKernels() {
    const kernels::Choices all = kernels::choices();
    kernels::use(all.tables[random_below(all.count)]->name);
  }
  ~AnyKernels() { kernels::use("plain"); }
};

/// copy() must change exactly what a loop over single elements changes, and not one bit more.
void expect_copy(const Placement& dst, const Placement& src) {
  Bytes source = random_bytes(src.nbytes);
  Bytes seen = random_bytes(dst.nbytes);
  Bytes expected = seen;
  for (std::int64_t rank = 0; rank < dst.size(); ++rank) {
    copy(dst.element(expected, rank), src.element(source, rank));
  }
  const AnyKernels chosen;
  copy(dst.in(seen), src.in(source));
  check(seen == expected, describe(dst, src) + " by " + kernels::table().name);
}

const Case pairs("every pair of types through random layouts", [] {
  for (const DType& from : all_types()) {
    for (const DType& to : all_types()) {
      if (!can_convert(from, to)) continue;
      for (int round = 0; round < 12; ++round) {
        const Numbers shape = random_shape();
        expect_copy(random_placement(to, shape, false), random_placement(from, shape, true));
      }
    }
  }
});

const Case vectors("vector types: packed, padded, of odd sizes", [] {
  for (const char* name : {"float32x4", "float64x3", "float16x3", "bfloat16x2", "int8x3",
                           "complex128x2", "float4_e2m1fnx2", "float4_e2m1fnx3", "float6_e2m3fnx4",
                           "float6_e3m2fnx3", "float6_e3m2fnx7", "boolx8"}) {
    DType from = type(name);
    for (int round = 0; round < 60; ++round) {
      DType to = from;
      to.padded = from.is_sub_byte() && random_below(2) == 0;
      from.padded = from.is_sub_byte() && random_below(2) == 0;
      const Numbers shape = random_shape();
      expect_copy(random_placement(to, shape, false), random_placement(from, shape, true));
    }
  }
});

const Case long_runs("gapless runs longer than a buffer, from every packed position", [] {
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

const Case transposes("transposes larger than a tile, of every size of element", [] {
  const std::vector<std::pair<const char*, const char*>> crossings = {
      {"int8", "int8"},           {"float16", "float16"},       {"float32", "float32"},
      {"float64", "float64"},     {"complex128", "complex128"}, {"float64", "float32"},
      {"float8_e5m2", "int64"},   {"float4_e2m1fn", "float32"}, {"float32", "float6_e2m3fn"},
      {"float32x3", "float32x3"}, {"complex64", "complex32"}};
  for (const auto& [from, to] : crossings) {
    for (const Numbers& shape :
         {Numbers{70, 131}, Numbers{3, 64, 65}, Numbers{129, 5, 40}, Numbers{200, 3}}) {
      Placement source = row_major(type(from), Numbers(shape.rbegin(), shape.rend()), 3);
      std::reverse(source.shape.begin(), source.shape.end());
      std::reverse(source.strides.begin(), source.strides.end());
      expect_copy(row_major(type(to), shape, 1), source);
      if (can_convert(type(to), type(from))) {
        Placement turned = source;
        turned.dtype = type(to);
        turned.origin = 3 * turned.dtype.stored_bits();
        turned.nbytes = tight_size(turned);
        expect_copy(turned, row_major(type(from), shape, 1));
      }
    }
  }
});

/// Both placements in one block: the result must be what copying through a snapshot gives.
void expect_overlapping_copy(Placement dst, Placement src) {
  const std::int64_t nbytes = std::max(dst.nbytes, src.nbytes);
  Bytes seen = random_bytes(nbytes);
  Bytes snapshot = seen;
  Bytes expected = seen;
  for (std::int64_t rank = 0; rank < dst.size(); ++rank) {
    copy(dst.element(expected, rank), src.element(snapshot, rank));
  }
  const AnyKernels chosen;
  copy(dst.in(seen), src.in(seen));
  check(seen == expected, "overlapping " + describe(dst, src) + " by " + kernels::table().name);
}

const Case overlaps("overlapping memory behaves as if src had been copied first", [] {
  const std::vector<DType> types = all_types();
  for (const DType& from : types) {
    for (int round = 0; round < 60; ++round) {
      const DType& to =
          round % 2 == 0 ? from : types[static_cast<std::size_t>(random_below(std::ssize(types)))];
      if (!can_convert(from, to)) continue;
      const Numbers shape = random_shape();
      expect_overlapping_copy(random_placement(to, shape, false),
                              random_placement(from, shape, true));
    }
    for (const std::int64_t shift : {0, 1, 2, 3, 7}) {  // a shifted copy of itself, both ways
      expect_overlapping_copy(row_major(from, {300}, shift), row_major(from, {300}, 3));
      Placement reversed = row_major(from, {300}, 302);
      reversed.strides[0] = -1;
      expect_overlapping_copy(row_major(from, {300}, shift), reversed);
    }
  }
});

const Case same_memory("an array copied onto itself stays as it is", [] {
  for (const DType& dtype : all_types()) {
    const Placement place = random_placement(dtype, {3, 4, 5}, false);
    Bytes memory = random_bytes(place.nbytes);
    const Bytes before = memory;
    copy(place.in(memory), place.in(memory));
    check(memory == before, name(dtype));
  }
});

const Case many_axes("64 axes, most of extent 1 with strides that mean nothing", [] {
  Numbers shape(64, 1);
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

const Case nothing("no elements: no memory is touched", [] {
  const Numbers shape = {3, 0, 2};
  const Numbers strides = {std::int64_t{1} << 62, -5, 9};
  ArrayView dst;
  dst.dtype = type("float32");
  dst.ndim = 3;
  dst.shape = shape.data();
  dst.strides = strides.data();
  ArrayView src = dst;
  src.dtype = type("int8");
  copy(dst, src);
  check(dst.data == nullptr);
});

}  // namespace
}  // namespace refarray::core
