// Operands of targets: random layouts in blocks of memory that have no byte to spare, their
// contents, and the comparison of those.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>

#include "../cpp/operands.hpp"
#include "../cpp/placement.hpp"
#include "core/copy/copy.hpp"
#include "core/kernels/table.hpp"
#include "core/promotion.hpp"
#include "input.hpp"

namespace refarray::fuzz {

using check::Bytes;
using check::List;
using check::Placement;
constexpr std::int64_t kMaxElements = 600;

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
  Placement out{dtype, shape, List(shape.size())};
  List order(shape.size());
  std::iota(order.begin(), order.end(), 0);
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

/// An operand of any layout, with its contents.
struct Operand {
  Placement place;
  Bytes memory;
  Bytes before;

  Operand(Input& input, const core::DType& dtype, const List& shape, unsigned salt)
      : place(placement_from(input, dtype, shape, true)),
        memory(content_from(input, place.nbytes, salt)),
        before(memory) {}
  core::ArrayView view() { return place.in(memory); }
  core::ArrayView at(std::int64_t address) { return place.at(memory, address); }
  void require_unchanged() const { require(memory == before, "an input was modified"); }
};

/// An element converted to T, whose dtype is given.
template <class T>
T number_at(const core::ArrayView& element, const core::DType& dtype) {
  T out{};
  core::copy(check::view_at(reinterpret_cast<std::byte*>(&out), dtype), element);
  return out;
}
template <class T>
void put(const core::ArrayView& element, T number, const core::DType& dtype) {
  core::copy(element, check::view_at(reinterpret_cast<std::byte*>(&number), dtype));
}

inline core::ScalarType any_type(Input& input) {
  return static_cast<core::ScalarType>(input.below(core::kComputable));
}

/// Uses the kernels that the input chooses among those that the processor supports.
inline void choose_kernels(unsigned choice) {
  static const core::kernels::Choices all = core::kernels::choices();
  core::kernels::use(all.tables[choice % static_cast<unsigned>(all.count)]->name);
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
