// Tests of reshape_layout() and broadcast_layout().
#include <algorithm>
#include <limits>

#include "check.hpp"
#include "core/layout.hpp"
#include "naive.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kTwo62 = std::int64_t{1} << 62;

/// The strides of the list of addresses `all`, if it is strided at all.
std::optional<List> naive_strides(const List& all, const List& to_shape) {
  List strides(to_shape.size(), 0);
  std::size_t step = 1;
  for (std::size_t i = to_shape.size(); i-- > 0;) {
    if (to_shape[i] > 1) strides[i] = all[step] - all[0];
    step *= static_cast<std::size_t>(to_shape[i]);
  }
  return addresses(to_shape, strides) == all ? std::optional(strides) : std::nullopt;
}

/// A random shape of `size` elements, with some axes of extent 1.
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

const Case reshape_model("reshape_layout() finds strides if and only if they exist", [] {
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
    expect(to.has_value(), exists, note);
    if (to) check(same(to->extents(), to_shape) && addresses(*to) == all, note);
    (exists ? possible : impossible) += 1;
  }
  check(possible > 3000 && impossible > 3000,
        text(possible, " possible, ", impossible, " impossible"));
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

/// A random shape; `shape` often broadcasts to it.
List random_target(Random& random, Extents shape) {
  List out = random.list(static_cast<std::size_t>(random.between(0, 2)), 0, 3);
  for (const std::int64_t extent : shape) {
    out.push_back(random.between(0, 9) == 0 ? random.between(0, 3)
                  : extent == 1             ? random.between(0, 3)
                                            : extent);
  }
  return out;
}

const Case broadcast_model("broadcast_layout() agrees with the naive model", [] {
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
    List expected{0};  // the address of an index is that with 0 for the broadcast axes
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
  check(possible > 1000 && impossible > 500,
        text(possible, " possible, ", impossible, " impossible"));
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

}  // namespace
