// Tests of copy() on long runs, transposes, shifted overlaps and many axes, compared with copying
// element by element. tests/fuzz/copy_fuzz.cpp does the same for random layouts and types.
#include "core/copy/copy.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
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

}  // namespace
