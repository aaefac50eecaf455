// Tests of core/layout.hpp: edge cases. tests/fuzz/layout_fuzz.cpp compares random layouts with the
// naive model.
#include "core/layout.hpp"

#include <limits>

#include "check.hpp"
#include "naive.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;
constexpr std::int64_t kTwo60 = std::int64_t{1} << 60;
constexpr std::int64_t kTwo62 = std::int64_t{1} << 62;
constexpr DType kByte{Kind::kUInt, 8, 1, false};
constexpr DType kDouble{Kind::kFloat, 64, 1, false};
constexpr DType kFour{Kind::kFloat4_e2m1fn, 4, 1, false};
constexpr DType kSix{Kind::kFloat6_e2m3fn, 6, 1, false};
constexpr DType kWidest{Kind::kComplex, 128, 65535, false};
constexpr DType kTypes[] = {kByte, kDouble, kFour,
                            kSix,  kWidest, {Kind::kFloat6_e2m3fn, 6, 3, true}};

const Case copies("copying a Layout copies only its axes", [] {
  Layout a(List{2, 3}, List{3, 1});
  Layout b(a);
  check(b.ndim == 2 && same(b.extents(), a.extents()) && same(b.stride_span(), a.stride_span()));
  Layout c(List{9, 9, 9}, List{81, 9, 1});
  c = a;
  check(c.ndim == 2 && same(c.extents(), a.extents()) &&
        c.shape[2] == 9);  // the third entry is not copied
  const Layout& alias = c;
  c = alias;
  check(same(c.extents(), a.extents()));
  c.push(5, -7);
  check(same(c.extents(), List{2, 3, 5}) && same(c.stride_span(), List{3, 1, -7}));
  check(Layout(Extents{}, Extents{}).ndim == 0);
  const List full(kMaxRank, 1);
  const Layout widest(full, full);
  check(same(Layout(widest).extents(), full));
});

const Case full("a Layout cannot be overfilled", [] {
  const List most(kMaxRank, 1);
  const List too_many(kMaxRank + 1, 1);
  Layout layout(most, most);
  fails(Fault::kValue, "ndim is 65; the limit is 64", [&] { layout.push(7, 7); });
  check(same(layout.extents(), most));
  fails(Fault::kValue, "ndim is 65; the limit is 64", [&] { Layout(too_many, too_many); });
});

const Case text_of_shapes("shape_text() formats shapes like Python tuples", [] {
  expect(shape_text({}), "()");
  expect(shape_text(List{7}), "(7,)");
  expect(shape_text(List{-1, 0, kLeast}), "(-1, 0, -9223372036854775808)");
});

const Case size_table("checked_size() edge cases", [] {
  expect(checked_size({}), 1);
  expect(checked_size(List{0}), 0);
  expect(checked_size(List{kMost}), kMost);
  expect(checked_size(List{kMost, 1, 1}), kMost);
  expect(checked_size(List{kMost, 0}), 0);
  expect(checked_size(List{0, kTwo62, 1}), 0);
  expect(checked_size(List{kTwo31, kTwo31 - 1}), kTwo31 * (kTwo31 - 1));
  expect(checked_size(List{49, 73, 127, 337, 92737, 649657}), kMost);
});

const Case size_refused("checked_size() errors name the value", [] {
  fails(Fault::kValue, "axis 1 is -3", [] { checked_size(List{2, -3}); });
  fails(Fault::kValue, "axis 0 is -9223372036854775808", [] { checked_size(List{kLeast}); });
  fails(Fault::kValue, "axis 1 is -1", [] { checked_size(List{0, -1}); });
  fails(Fault::kValue, "axis 2 is -1",
        [] { checked_size(List{kTwo62, kTwo62, -1}); });  // reported instead of the overflow
  fails(Fault::kValue, "axis 0 is -2", [] { checked_size(List{-2, -3}); });
  fails(Fault::kOverflow, "(4611686018427387904, 2)", [] { checked_size(List{kTwo62, 2}); });
  fails(Fault::kOverflow, "(4611686018427387904, 0, 2)", [] { checked_size(List{kTwo62, 0, 2}); });
  fails(Fault::kOverflow, "(0, ", [] { checked_size(List{0, kMost, kMost}); });
  // These products wrap around to 0.
  fails(Fault::kOverflow, "limit",
        [] { checked_size(List{kTwo31 * 2, kTwo31 * 2, kTwo31 * 2, kTwo31 * 2}); });
  fails(Fault::kOverflow, "limit", [] { checked_size(List{kTwo31 * 4, kTwo31}); });
});

const Case nbytes_table(
    "sizes in bytes: packed types are rounded up once, padded ones per element", [] {
      expect(checked_nbytes(0, kDouble), 0);
      expect(checked_nbytes(3, kDouble), 24);
      expect(checked_nbytes(3, kFour), 2);
      expect(checked_nbytes(1, kFour), 1);
      expect(checked_nbytes(4, kSix), 3);
      expect(checked_nbytes(5, kSix), 4);
      expect(checked_nbytes(5, DType{Kind::kFloat6_e2m3fn, 6, 1, true}), 5);
      expect(checked_nbytes(3, DType{Kind::kFloat4_e2m1fn, 4, 3, false}), 5);
      expect(checked_nbytes(3, DType{Kind::kFloat4_e2m1fn, 4, 3, true}), 6);
      expect(checked_nbytes(1, kWidest), 1048560);
      expect(checked_nbytes(kTwo60 - 1, kByte), kTwo60 - 1);
      expect(checked_nbytes(kMost / 4, kFour), kMost / 8 + 1);
      expect(checked_nbytes(0, kWidest), 0);
      fails(Fault::kOverflow, "1152921504606846976 elements of uint8",
            [] { checked_nbytes(kTwo60, kByte); });
      fails(Fault::kOverflow, "complex128x65535", [] { checked_nbytes(kTwo60, kWidest); });
      fails(Fault::kOverflow, "limit", [] { checked_nbytes(kMost, kFour); });
      for (const DType& dtype : kTypes) {
        for (std::int64_t size = 0; size < 40; ++size)
          expect(nbytes_of(size, dtype), checked_nbytes(size, dtype), name(dtype));
      }
    });

const Case c_layout_table("row-major layouts", [] {
  check(same(c_layout(List{2, 3, 4}).stride_span(), List{12, 4, 1}));
  check(same(c_layout(List{2, 0, 4}).stride_span(), List{4, 4, 1}));  // an extent of 0 counts as 1
  check(same(c_layout(List{1, 5, 1}).stride_span(), List{5, 1, 1}));
  check(c_layout({}).ndim == 0);
  check(same(c_layout(List{kTwo62, 0}).stride_span(), List{1, 1}));
  expect(c_layout(List(kMaxRank, 1)).ndim, kMaxRank);
  fails(Fault::kValue, "ndim is 65; the limit is 64", [] { c_layout(List(kMaxRank + 1, 1)); });
  fails(Fault::kValue, "axis 0 is -1", [] { c_layout(List{-1}); });
  fails(Fault::kOverflow, "(4611686018427387904, 0, 2)", [] { c_layout(List{kTwo62, 0, 2}); });
});

void check_range(const List& shape, const List& strides, const DType& dtype, std::int64_t begin,
                 std::int64_t end) {
  const BitRange range = checked_bit_range(shape, strides, dtype);
  expect(range.begin, begin, show(shape, strides));
  expect(range.end, end, show(shape, strides));
}

const Case range_table("bit ranges at the limits of int64", [] {
  constexpr DType kBit{Kind::kUInt, 1, 1,
                       false};  // not a supported type, but it reaches the last bit
  check_range({}, {}, kDouble, 0, 64);
  check_range({0}, {kLeast}, kWidest, 0, 0);
  check_range({kMost, 0}, {kLeast, 1}, kWidest, 0,
              0);  // empty, although the axis before overflows
  check_range({1}, {kLeast}, kWidest, 0, 8388480);
  check_range({1, 1, 1}, {kLeast, kMost, 0}, kFour, 0, 4);
  check_range({2}, {kLeast}, kBit, kLeast, 1);
  check_range({kMost}, {1}, kBit, 0, kMost);
  check_range({kMost}, {-1}, kBit, -(kMost - 1), 1);
  check_range({kMost}, {0}, kWidest, 0, 8388480);
  check_range({kTwo60 - 1}, {1}, kByte, 0, kMost - 7);
  check_range({2}, {-kTwo60}, kByte, kLeast, 8);
  check_range({kTwo62, kTwo62}, {-1, 1}, kBit, -(kTwo62 - 1), kTwo62);
  check_range({3, 4}, {-4, 1}, kFour, -32, 16);
});

const Case range_refused("overflowing bit ranges are rejected", [] {
  fails(Fault::kOverflow, "(2,) with strides (-9223372036854775808,)",
        [] { checked_bit_range(List{2}, List{kLeast}, kFour); });
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{3}, List{kLeast}, kFour); });
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{kMost}, List{kLeast}, kWidest); });
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{kMost}, List{kMost}, kWidest); });
  fails(Fault::kOverflow, "bits",
        [] { checked_bit_range(List{kTwo60}, List{1}, kByte); });  // only the end overflows
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{2}, List{-kTwo60 - 1}, kByte); });
  fails(Fault::kOverflow, "bits",
        [] { checked_bit_range(List{2, 2, 2}, List{kTwo62, kTwo62, kTwo62}, kFour); });
  fails(Fault::kOverflow, "bits",
        [] { checked_bit_range(List{2, 2, 2}, List{kLeast, kLeast, 1}, kFour); });
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{kTwo60}, List{1}, kWidest); });
  check(!bit_range(List{2}, List{kLeast}, kFour).has_value());
  check(bit_range(List{2}, List{-1}, kFour).has_value());
});

const Case contiguous_table("contiguity ignores meaningless strides", [] {
  check(is_c_contiguous({}, {}) && is_f_contiguous({}, {}));
  check(is_c_contiguous(List{1, 5}, List{12345, 1}) && is_f_contiguous(List{1, 5}, List{12345, 1}));
  check(is_c_contiguous(List{5, 1}, List{1, -7}));
  check(is_c_contiguous(List{3, 0}, List{99, -99}) && is_f_contiguous(List{0, 3}, List{99, -99}));
  check(!is_c_contiguous(List{2, 3}, List{1, 2}) && is_f_contiguous(List{2, 3}, List{1, 2}));
  check(!is_c_contiguous(List{3}, List{-1}) && !is_c_contiguous(List{3}, List{0}) &&
        !is_c_contiguous(List{3}, List{2}));
  check(!is_c_contiguous(List{2, 3}, List{4, 1}) && is_c_contiguous(List{2, 1, 3}, List{3, 0, 1}));
  check(is_c_contiguous(List{1, 1}, List{kLeast, kMost}));
});

const Case reshape_table("reshape_layout() edge cases", [] {
  const auto strides_of = [](const List& shape, const List& strides, const List& to) {
    const std::optional<Layout> out = reshape_layout(shape, strides, to);
    return out ? shape_text(out->stride_span()) : std::string("none");
  };
  expect(strides_of({}, {}, {}), "()");
  expect(strides_of({}, {}, {1, 1}), "(1, 1)");
  expect(strides_of({1}, {kLeast}, {}), "()");
  expect(strides_of({6}, {1}, {2, 3}), "(3, 1)");
  expect(strides_of({2, 3}, {3, 1}, {1, 2, 3}), "(6, 3, 1)");
  expect(strides_of({6}, {-2}, {2, 1, 3}), "(-6, -6, -2)");
  expect(strides_of({6}, {0}, {3, 2}), "(0, 0)");
  expect(strides_of({2, 3}, {1, 2}, {6}), "none");
  expect(strides_of({2, 3}, {1, 2}, {2, 3, 1}), "(1, 2, 2)");
  expect(strides_of({2, 1, 3}, {3, 777, 1}, {6}), "(1,)");
  expect(strides_of({0, 5}, {7, 7}, {5, 0, 2}), "(2, 2, 1)");
  expect(strides_of({2, 2}, {kTwo62, 1}, {2, 2, 1}), "(4611686018427387904, 1, 1)");
  fails(Fault::kValue, "(6,) into (4,): 6 elements and 4",
        [] { reshape_layout(List{6}, List{1}, List{4}); });
  fails(Fault::kValue, "into (0,)", [] { reshape_layout(List{6}, List{1}, List{0}); });
  fails(Fault::kValue, "(0,) into ()", [] { reshape_layout(List{0}, List{1}, {}); });
  fails(Fault::kValue, "axis 0 is -1", [] { reshape_layout(List{6}, List{1}, List{-1, 6}); });
  fails(Fault::kOverflow, "limit", [] { reshape_layout(List{0}, List{1}, List{kMost, 0, 2}); });
  fails(Fault::kValue, "ndim is 65",
        [] { reshape_layout(List{1}, List{1}, List(kMaxRank + 1, 1)); });
});

const Case broadcast_table("broadcast_layout() edge cases", [] {
  expect(shape_text(broadcast_layout({}, {}, {}).stride_span()), "()");
  expect(shape_text(broadcast_layout(List{1}, List{9}, List{4}).stride_span()), "(0,)");
  expect(shape_text(broadcast_layout(List{1}, List{9}, List{0}).stride_span()), "(0,)");
  expect(shape_text(broadcast_layout(List{3}, List{-1}, List{2, 3}).stride_span()), "(0, -1)");
  fails(Fault::kValue, "(3,) does not broadcast to (4,)",
        [] { broadcast_layout(List{3}, List{1}, List{4}); });
  fails(Fault::kValue, "(3,) does not broadcast to (1,)",
        [] { broadcast_layout(List{3}, List{1}, List{1}); });
  fails(Fault::kValue, "(0,) does not broadcast to (2,)",
        [] { broadcast_layout(List{0}, List{1}, List{2}); });
  fails(Fault::kValue, "(1, 3) does not broadcast to (3,)",
        [] { broadcast_layout(List{1, 3}, List{3, 1}, List{3}); });
  fails(Fault::kValue, "axis 0 is -2", [] { broadcast_layout(List{1}, List{1}, List{-2}); });
  fails(Fault::kValue, "ndim is 65",
        [] { broadcast_layout(List{1}, List{1}, List(kMaxRank + 1, 1)); });
  fails(Fault::kOverflow, "limit", [] { broadcast_layout(List{1}, List{1}, List{kTwo62, 2}); });
});

const Case reshaping("axes are not merged where an offset overflows", [] {
  // Wrapped, the second axis continues the first: 2 * kMost is -2.
  check(!reshape_layout(List{2, 2}, List{-2, kMost}, List{4}));
  expect(reshape_layout(List{2, 2}, List{6, 3}, List{4})->strides[0], 3);
});

const Case axes("negative axes count from the end", [] {
  for (int ndim = 1; ndim <= kMaxRank; ndim += 7) {
    for (int axis = 0; axis < ndim; ++axis) {
      expect(normalize_axis(axis, ndim), axis);
      expect(normalize_axis(axis - ndim, ndim), axis);
    }
    fails(Fault::kAxis, text("axis ", ndim), [&] { normalize_axis(ndim, ndim); });
    fails(Fault::kAxis, text("axis ", -ndim - 1), [&] { normalize_axis(-ndim - 1, ndim); });
  }
  fails(Fault::kAxis, "axis 0 is out of range for ndim 0", [] { normalize_axis(0, 0); });
  fails(Fault::kAxis, "axis 9223372036854775807", [] { normalize_axis(kMost, 3); });
  fails(Fault::kAxis, "axis -9223372036854775808", [] { normalize_axis(kLeast, 3); });
});

}  // namespace
