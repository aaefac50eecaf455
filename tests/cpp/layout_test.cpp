// Owns the tests of refarray/core/layout.hpp: tables of edges, and a seeded comparison with the
// naive model.
#include "refarray/core/layout.hpp"

#include <algorithm>
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

bool same(Extents a, Extents b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::string show(Extents shape, Extents strides) {
  return shape_text(shape) + " strides " + shape_text(strides);
}

const Case copies("a Layout copies the axes that it has", [] {
  Layout a(List{2, 3}, List{3, 1});
  Layout b(a);
  check(b.ndim == 2 && same(b.extents(), a.extents()) && same(b.stride_span(), a.stride_span()));
  Layout c(List{9, 9, 9}, List{81, 9, 1});
  c = a;
  check(c.ndim == 2 && same(c.extents(), a.extents()) &&
        c.shape[2] == 9);  // the third entry was not touched
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

const Case text_of_shapes("shapes are written as Python writes tuples", [] {
  equal(shape_text({}), "()");
  equal(shape_text(List{7}), "(7,)");
  equal(shape_text(List{-1, 0, kLeast}), "(-1, 0, -9223372036854775808)");
});

const Case size_table("checked_size at the edges", [] {
  equal(checked_size({}), 1);
  equal(checked_size(List{0}), 0);
  equal(checked_size(List{kMost}), kMost);
  equal(checked_size(List{kMost, 1, 1}), kMost);
  equal(checked_size(List{kMost, 0}), 0);
  equal(checked_size(List{0, kTwo62, 1}), 0);
  equal(checked_size(List{kTwo31, kTwo31 - 1}), kTwo31 * (kTwo31 - 1));
  equal(checked_size(List{7, 73, 127, 337, 92737, 649657}),
        kMost);  // the prime factors of 2^63 - 1, all once but 7
});

const Case size_refused("checked_size refuses with the value", [] {
  fails(Fault::kValue, "axis 1 is -3", [] { checked_size(List{2, -3}); });
  fails(Fault::kValue, "axis 0 is -9223372036854775808", [] { checked_size(List{kLeast}); });
  fails(Fault::kValue, "axis 1 is -1", [] { checked_size(List{0, -1}); });
  fails(Fault::kValue, "axis 2 is -1",
        [] { checked_size(List{kTwo62, kTwo62, -1}); });  // before the overflow
  fails(Fault::kValue, "axis 0 is -2", [] { checked_size(List{-2, -3}); });
  fails(Fault::kOverflow, "(4611686018427387904, 2)", [] { checked_size(List{kTwo62, 2}); });
  fails(Fault::kOverflow, "(4611686018427387904, 0, 2)", [] { checked_size(List{kTwo62, 0, 2}); });
  fails(Fault::kOverflow, "(0, ", [] { checked_size(List{0, kMost, kMost}); });
  // 2^32 four times wraps to 0, and 2^33 * 2^31 to 0: neither may pass.
  fails(Fault::kOverflow, "limit",
        [] { checked_size(List{kTwo31 * 2, kTwo31 * 2, kTwo31 * 2, kTwo31 * 2}); });
  fails(Fault::kOverflow, "limit", [] { checked_size(List{kTwo31 * 4, kTwo31}); });
});

const Case nbytes_table("bytes: packed types are rounded once, padded ones per element", [] {
  equal(checked_nbytes(0, kDouble), 0);
  equal(checked_nbytes(3, kDouble), 24);
  equal(checked_nbytes(3, kFour), 2);
  equal(checked_nbytes(1, kFour), 1);
  equal(checked_nbytes(4, kSix), 3);
  equal(checked_nbytes(5, kSix), 4);
  equal(checked_nbytes(5, DType{Kind::kFloat6_e2m3fn, 6, 1, true}), 5);
  equal(checked_nbytes(3, DType{Kind::kFloat4_e2m1fn, 4, 3, false}), 5);
  equal(checked_nbytes(3, DType{Kind::kFloat4_e2m1fn, 4, 3, true}), 6);
  equal(checked_nbytes(1, kWidest), 1048560);
  equal(checked_nbytes(kTwo60 - 1, kByte), kTwo60 - 1);
  equal(checked_nbytes(kMost / 4, kFour), kMost / 8 + 1);
  equal(checked_nbytes(0, kWidest), 0);
  fails(Fault::kOverflow, "1152921504606846976 elements of uint8",
        [] { checked_nbytes(kTwo60, kByte); });
  fails(Fault::kOverflow, "complex128x65535", [] { checked_nbytes(kTwo60, kWidest); });
  fails(Fault::kOverflow, "limit", [] { checked_nbytes(kMost, kFour); });
  for (const DType& dtype : kTypes) {
    for (std::int64_t size = 0; size < 40; ++size)
      equal(nbytes_of(size, dtype), checked_nbytes(size, dtype), name(dtype));
  }
});

const Case c_layout_table("row-major layouts", [] {
  check(same(c_layout(List{2, 3, 4}).stride_span(), List{12, 4, 1}));
  check(same(c_layout(List{2, 0, 4}).stride_span(), List{4, 4, 1}));  // a zero counts as 1
  check(same(c_layout(List{1, 5, 1}).stride_span(), List{5, 1, 1}));
  check(c_layout({}).ndim == 0);
  check(same(c_layout(List{kTwo62, 0}).stride_span(), List{1, 1}));
  equal(c_layout(List(kMaxRank, 1)).ndim, kMaxRank);
  fails(Fault::kValue, "ndim is 65; the limit is 64", [] { c_layout(List(kMaxRank + 1, 1)); });
  fails(Fault::kValue, "axis 0 is -1", [] { c_layout(List{-1}); });
  fails(Fault::kOverflow, "(4611686018427387904, 0, 2)", [] { c_layout(List{kTwo62, 0, 2}); });
});

void check_range(const List& shape, const List& strides, const DType& dtype, std::int64_t begin,
                 std::int64_t end) {
  const BitRange range = checked_bit_range(shape, strides, dtype);
  equal(range.begin, begin, show(shape, strides));
  equal(range.end, end, show(shape, strides));
}

const Case range_table("bit ranges at the edges of int64", [] {
  constexpr DType kBit{Kind::kUInt, 1, 1,
                       false};  // names no type of ours, but reaches the last bit
  check_range({}, {}, kDouble, 0, 64);
  check_range({0}, {kLeast}, kWidest, 0, 0);
  check_range({kMost, 0}, {kLeast, 1}, kWidest, 0,
              0);  // empty, though the axis before would overflow
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

const Case range_refused("bit ranges that do not fit", [] {
  fails(Fault::kOverflow, "(2,) with strides (-9223372036854775808,)",
        [] { checked_bit_range(List{2}, List{kLeast}, kFour); });
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{3}, List{kLeast}, kFour); });
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{kMost}, List{kLeast}, kWidest); });
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{kMost}, List{kMost}, kWidest); });
  fails(Fault::kOverflow, "bits",
        [] { checked_bit_range(List{kTwo60}, List{1}, kByte); });  // only the end does not fit
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{2}, List{-kTwo60 - 1}, kByte); });
  fails(Fault::kOverflow, "bits",
        [] { checked_bit_range(List{2, 2, 2}, List{kTwo62, kTwo62, kTwo62}, kFour); });
  fails(Fault::kOverflow, "bits",
        [] { checked_bit_range(List{2, 2, 2}, List{kLeast, kLeast, 1}, kFour); });
  fails(Fault::kOverflow, "bits", [] { checked_bit_range(List{kTwo60}, List{1}, kWidest); });
  check(!bit_range(List{2}, List{kLeast}, kFour).has_value());
  check(bit_range(List{2}, List{-1}, kFour).has_value());
});

const Case model("ranges, sizes and contiguity agree with the naive model", [] {
  Random random(20260101);
  for (int round = 0; round < 20000; ++round) {
    const auto rank = static_cast<std::size_t>(random.between(0, 4));
    const List shape = random.list(rank, round % 5 == 0 ? 0 : 1, 4);
    List strides = random.list(rank, -6, 6);
    if (round % 2 == 0) {  // near a contiguous one, which random strides seldom are
      const Layout near = c_layout(shape);
      strides.assign(near.strides, near.strides + rank);
      if (round % 4 == 0) std::reverse(strides.begin(), strides.end());
      if (rank > 0 && round % 3 == 0)
        strides[static_cast<std::size_t>(random.between(0, 9)) % rank] = random.between(-6, 6);
    }
    const std::string note = show(shape, strides);
    const List all = addresses(shape, strides);
    List sorted = all;
    std::sort(sorted.begin(), sorted.end());
    equal(checked_size(shape), static_cast<std::int64_t>(all.size()), note);
    equal(size_of(shape), static_cast<std::int64_t>(all.size()), note);
    const DType& dtype = kTypes[static_cast<std::size_t>(round) % std::size(kTypes)];
    const BitRange range = checked_bit_range(shape, strides, dtype);
    const std::int64_t bits = dtype.stored_bits();
    equal(range.begin, all.empty() ? 0 : sorted.front() * bits, note);
    equal(range.end, all.empty() ? 0 : (sorted.back() + 1) * bits, note);
    List counting(all.size());
    for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<std::int64_t>(i);
    equal(is_c_contiguous(shape, strides), all == counting, note);
    equal(is_f_contiguous(shape, strides), addresses(shape, strides, false) == counting, note);
    if (surely_distinct(shape, strides))
      check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), note);
  }
});

const Case contiguous_table("contiguity ignores strides that carry no meaning", [] {
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

const Case distinct_table("distinct elements", [] {
  check(surely_distinct({}, {}));
  check(surely_distinct(List{1, 0, 5}, List{0, 0, 0}));
  check(surely_distinct(List{1, 1}, List{0, 0}));
  check(!surely_distinct(List{2}, List{0}) && surely_distinct(List{2}, List{kLeast}));
  check(!surely_distinct(List{3, 3}, List{1, 1}) && !surely_distinct(List{2, 3}, List{2, 1}));
  check(surely_distinct(List{3, 2}, List{1, -3}) && surely_distinct(List{kMost}, List{kMost}));
  check(!surely_distinct(List{kMost, 2}, List{kMost, kMost}));
  check(!surely_distinct(List{4, 4}, List{kTwo62, kLeast}));
  check(surely_distinct(List(kMaxRank, 1), List(kMaxRank, 0)));
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    const Layout view = random_view(random, static_cast<std::size_t>(random.between(0, 4)));
    const bool stretched =
        std::any_of(view.strides, view.strides + view.ndim, [](std::int64_t s) { return s == 0; });
    if (!stretched)
      check(surely_distinct(view.extents(), view.stride_span()),
            show(view.extents(), view.stride_span()));
  }
});

const Case axes("axes count from either end", [] {
  for (int ndim = 1; ndim <= kMaxRank; ndim += 7) {
    for (int axis = 0; axis < ndim; ++axis) {
      equal(normalize_axis(axis, ndim), axis);
      equal(normalize_axis(axis - ndim, ndim), axis);
    }
    fails(Fault::kIndex, text("axis ", ndim), [&] { normalize_axis(ndim, ndim); });
    fails(Fault::kIndex, text("axis ", -ndim - 1), [&] { normalize_axis(-ndim - 1, ndim); });
  }
  fails(Fault::kIndex, "axis 0 is out of range for ndim 0", [] { normalize_axis(0, 0); });
  fails(Fault::kIndex, "axis 9223372036854775807", [] { normalize_axis(kMost, 3); });
  fails(Fault::kIndex, "axis -9223372036854775808", [] { normalize_axis(kLeast, 3); });
});

/// The only strides that could read `all`, if `all` can be read through strides at all.
std::optional<List> naive_strides(const List& all, const List& to_shape) {
  List strides(to_shape.size(), 0);
  std::size_t step = 1;
  for (std::size_t i = to_shape.size(); i-- > 0;) {
    if (to_shape[i] > 1) strides[i] = all[step] - all[0];
    step *= static_cast<std::size_t>(to_shape[i]);
  }
  return addresses(to_shape, strides) == all ? std::optional(strides) : std::nullopt;
}

/// A shape of `size` elements with some axes of 1 thrown in.
List random_shape_of(Random& random, std::int64_t size) {
  List out;
  while (size > 1) {
    std::int64_t extent = random.between(2, size);
    while (size % extent != 0) ++extent;
    out.push_back(extent);
    size /= extent;
  }
  while (random.between(0, 2) == 0) {
    out.insert(out.begin() + random.between(0, static_cast<std::int64_t>(out.size())), 1);
  }
  return out;
}

const Case reshape_model("reshape finds strides exactly when there are some", [] {
  Random random(42);
  int possible = 0;
  int impossible = 0;
  for (int round = 0; round < 30000; ++round) {
    const Layout from = random_view(random, static_cast<std::size_t>(random.between(0, 4)));
    const List all = addresses(from);
    const bool empty = all.empty();
    const List to_shape =
        empty ? List{3, 0, 2} : random_shape_of(random, static_cast<std::int64_t>(all.size()));
    const std::string note =
        show(from.extents(), from.stride_span()) + " to " + shape_text(to_shape);
    const std::optional<Layout> to = reshape_layout(from.extents(), from.stride_span(), to_shape);
    const bool exists = empty || naive_strides(all, to_shape).has_value();
    equal(to.has_value(), exists, note);
    if (to) check(same(to->extents(), to_shape) && addresses(*to) == all, note);
    (exists ? possible : impossible) += 1;
  }
  check(possible > 3000 && impossible > 3000,
        text(possible, " possible, ", impossible, " impossible"));
});

const Case reshape_table("reshape of edges", [] {
  const auto strides_of = [](const List& shape, const List& strides, const List& to) {
    const std::optional<Layout> out = reshape_layout(shape, strides, to);
    return out ? shape_text(out->stride_span()) : std::string("none");
  };
  equal(strides_of({}, {}, {}), "()");
  equal(strides_of({}, {}, {1, 1}), "(1, 1)");
  equal(strides_of({1}, {kLeast}, {}), "()");
  equal(strides_of({6}, {1}, {2, 3}), "(3, 1)");
  equal(strides_of({6}, {-2}, {2, 1, 3}), "(-6, -6, -2)");
  equal(strides_of({6}, {0}, {3, 2}), "(0, 0)");
  equal(strides_of({2, 3}, {1, 2}, {6}), "none");
  equal(strides_of({2, 3}, {1, 2}, {2, 3, 1}), "(1, 2, 2)");
  equal(strides_of({2, 1, 3}, {3, 777, 1}, {6}), "(1,)");
  equal(strides_of({0, 5}, {7, 7}, {5, 0, 2}), "(2, 2, 1)");
  equal(strides_of({2, 2}, {kTwo62, 1}, {2, 2, 1}), "(4611686018427387904, 1, 1)");
  fails(Fault::kValue, "(6,) into (4,): 6 elements and 4",
        [] { reshape_layout(List{6}, List{1}, List{4}); });
  fails(Fault::kValue, "into (0,)", [] { reshape_layout(List{6}, List{1}, List{0}); });
  fails(Fault::kValue, "(0,) into ()", [] { reshape_layout(List{0}, List{1}, {}); });
  fails(Fault::kValue, "axis 0 is -1", [] { reshape_layout(List{6}, List{1}, List{-1, 6}); });
  fails(Fault::kOverflow, "limit", [] { reshape_layout(List{0}, List{1}, List{kMost, 0, 2}); });
  fails(Fault::kValue, "ndim is 65",
        [] { reshape_layout(List{1}, List{1}, List(kMaxRank + 1, 1)); });
});

/// Random, and often one that `shape` broadcasts to.
List random_target(Random& random, Extents shape) {
  List out = random.list(static_cast<std::size_t>(random.between(0, 2)), 0, 3);
  for (const std::int64_t extent : shape) {
    out.push_back(random.between(0, 9) == 0 ? random.between(0, 3)
                  : extent == 1             ? random.between(0, 3)
                                            : extent);
  }
  return out;
}

const Case broadcast_model("broadcasting repeats elements as the naive model does", [] {
  Random random(99);
  int possible = 0;
  int impossible = 0;
  for (int round = 0; round < 10000; ++round) {
    const Layout from = random_view(random, static_cast<std::size_t>(random.between(0, 3)));
    const List to_shape = random_target(random, from.extents());
    const std::size_t added = to_shape.size() - static_cast<std::size_t>(from.ndim);
    bool exists = true;
    for (int i = 0; i < from.ndim; ++i) {
      exists &=
          from.shape[i] == 1 || from.shape[i] == to_shape[added + static_cast<std::size_t>(i)];
    }
    const std::string note = shape_text(from.extents()) + " to " + shape_text(to_shape);
    (exists ? possible : impossible) += 1;
    if (!exists) {
      fails(Fault::kValue, shape_text(to_shape),
            [&] { broadcast_layout(from.extents(), from.stride_span(), to_shape); });
      continue;
    }
    const Layout to = broadcast_layout(from.extents(), from.stride_span(), to_shape);
    List expected{
        0};  // the address of index (i, j, ...) is that of the index with stretched axes at 0
    for (std::size_t axis = 0; axis < to_shape.size(); ++axis) {
      List longer;
      for (const std::int64_t base : expected) {
        for (std::int64_t i = 0; i < to_shape[axis]; ++i) {
          const bool own = axis >= added && from.shape[axis - added] != 1;
          longer.push_back(base + (own ? i * from.strides[axis - added] : 0));
        }
      }
      expected = longer;
    }
    check(same(to.extents(), to_shape) && addresses(to) == expected, note);
  }
  check(possible > 1000 && impossible > 1000,
        text(possible, " possible, ", impossible, " impossible"));
});

const Case broadcast_table("broadcasting of edges", [] {
  equal(shape_text(broadcast_layout({}, {}, {}).stride_span()), "()");
  equal(shape_text(broadcast_layout(List{1}, List{9}, List{4}).stride_span()), "(0,)");
  equal(shape_text(broadcast_layout(List{1}, List{9}, List{0}).stride_span()), "(0,)");
  equal(shape_text(broadcast_layout(List{3}, List{-1}, List{2, 3}).stride_span()), "(0, -1)");
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

}  // namespace
