// Placement: a random layout in a block of memory that has no byte to spare; its contents, and the
// comparison of those.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "../cpp/naive.hpp"
#include "../cpp/operands.hpp"
#include "core/array.hpp"
#include "core/copy/copy.hpp"
#include "input.hpp"

namespace refarray::fuzz {

using check::List;
using Bytes = std::vector<std::byte>;
constexpr std::int64_t kMaxElements = 600;

/// A layout in a block of memory; `origin` is the bit offset of element (0,...,0).
struct Placement {
  core::DType dtype;
  List shape;
  List strides;
  std::int64_t origin = 0;
  std::int64_t nbytes = 0;  // of the smallest block that contains it

  core::ArrayView in(Bytes& memory) const {
    core::ArrayView view = at(memory, 0);
    view.ndim = static_cast<int>(shape.size());
    view.shape = shape.data();
    view.strides = strides.data();
    return view;
  }
  /// The element at an offset in elements, as an array of rank 0.
  core::ArrayView at(Bytes& memory, std::int64_t address) const {
    const std::int64_t bit = origin + address * dtype.stored_bits();
    core::ArrayView view;
    view.data = memory.data() + bit / 8;
    view.bit = static_cast<std::uint8_t>(bit % 8);
    view.dtype = dtype;
    return view;
  }
  List addresses() const { return check::addresses(shape, strides); }
};

/// Up to five axes with at most `limit` elements; an extent is at most 255 * longest.
inline List shape_from(Input& input, std::int64_t limit = kMaxElements, int longest = 1) {
  List shape(static_cast<std::size_t>(input.below(6)));
  std::int64_t size = 1;
  for (std::int64_t& extent : shape) {
    const std::int64_t wanted =
        input.one_in(8) ? input.byte() * (1 + input.below(longest)) : input.below(6);
    extent = size * wanted <= limit ? wanted : 1;
    size *= std::max<std::int64_t>(extent, 1);
  }
  return shape;
}

/// Any axis order, gaps and directions. `may_share` allows elements to share memory.
inline Placement placement_from(Input& input, const core::DType& dtype, const List& shape,
                                bool may_share) {
  Placement out{dtype, shape, List(shape.size()), 0, 0};
  List order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(input.below(static_cast<int>(i)))]);
  std::int64_t step = 1 + input.below(3) / 2;
  std::int64_t low = 0, high = 0;
  for (const std::int64_t position : order) {
    const auto axis = static_cast<std::size_t>(position);
    const std::uint8_t choice = input.byte();
    std::int64_t stride = (choice & 1) != 0 ? -step : step;
    if (may_share && (choice & 6) == 6) stride = 0;
    if (may_share && (choice & 0x78) == 0x78) stride = input.below(5) - 2;
    if (shape[axis] == 1 && (choice & 0x80) != 0) stride = input.take<std::int64_t>();
    out.strides[axis] = stride;
    const std::int64_t steps = std::max<std::int64_t>(shape[axis] - 1, 0);
    if (steps > 0) (stride < 0 ? low : high) += stride * steps;
    step *= (steps + 1) + ((choice & 0x18) == 0x18 ? 1 : 0);
  }
  const std::int64_t bits = dtype.stored_bits();
  const std::int64_t spare = input.below(4) == 3 ? input.below(9) : 0;
  out.origin = (spare - low) * bits + (dtype.is_packed() ? 0 : 8 * input.below(4));
  out.nbytes = (out.origin + (high + 1) * bits + 7) / 8;
  return out;
}

inline Placement axes_without(const Placement& place, std::size_t axis) {
  Placement out = place;
  out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  out.strides.erase(out.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  return out;
}

/// Repeats the last bytes of the input, modified in each repetition.
inline Bytes content_from(const Input& input, std::int64_t nbytes, unsigned salt) {
  Bytes out(static_cast<std::size_t>(nbytes));
  const std::span<const std::uint8_t> seeds = input.rest();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const unsigned seed = seeds.empty() ? 0 : seeds[i % seeds.size()];
    const std::size_t lap = seeds.empty() ? i : i / seeds.size();
    out[i] = static_cast<std::byte>(seed + salt + lap * 89);
  }
  return out;
}

/// Equal bits or both NaN in each element, and equal bytes beside the elements.
inline void compare(const Placement& out, Bytes& seen, Bytes& expected, const std::string& what) {
  for (const std::int64_t address : out.addresses()) {
    const core::ArrayView a = out.at(seen, address), b = out.at(expected, address);
    require(check::same(out.dtype, a.data, b.data, 1), [&] {
      return what + ", element at " + std::to_string(address) + " of " +
             check::show(out.shape, out.strides);
    });
    core::copy(a, b);
  }
  require(seen == expected, [&] { return what + " wrote beside its output"; });
}

}  // namespace refarray::fuzz
