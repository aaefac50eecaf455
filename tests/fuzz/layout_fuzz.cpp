// Fuzz target of the layout arithmetic: compares small shapes with the list of all addresses, and
// huge ones with 128-bit arithmetic.
#include <algorithm>
#include <numeric>
#include <optional>

#include "../cpp/placement.hpp"
#include "core/array.hpp"
#include "core/error.hpp"
#include "core/layout.hpp"
#include "input.hpp"

namespace refarray::fuzz {
namespace {

using check::addresses;
using check::List;
using Wide = __int128;

bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

core::DType dtype_from(Input& input) {
  const core::ScalarInfo& row = core::kScalars[static_cast<std::size_t>(input.below(27))];
  core::DType out{row.kind, row.bits, static_cast<std::uint16_t>(1 + input.below(3)), false};
  out.padded = out.is_sub_byte() && input.one_in(2);
  return out;
}

/// A result, or the fault of the exception that was thrown.
template <class F>
auto attempt(F f, core::Fault& fault) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const core::Error& error) {
    fault = error.fault();
    return std::nullopt;
  }
}

/// Any numbers: sizes and address ranges are exact, or rejected.
void check_huge(Input& input) {
  const core::DType dtype = dtype_from(input);
  List shape(static_cast<std::size_t>(input.below(5))), strides(shape.size());
  Wide size = 1, low = 0, high = 0;
  bool negative = false, empty = false, sound = true, in_range = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] = input.one_in(2) ? input.below(5) - 1 : input.take<std::int64_t>() >> input.below(64);
    strides[i] =
        input.one_in(2) ? input.below(9) - 4 : input.take<std::int64_t>() >> input.below(64);
    negative |= shape[i] < 0;
    empty |= shape[i] == 0;
    if (shape[i] != 0 && sound) size *= shape[i];
    sound &= fits(size);
    const Wide reach = (Wide{shape[i]} - 1) * strides[i];
    if (in_range) (reach < 0 ? low : high) += reach;
    in_range &= fits(reach) && fits(low) && fits(high);
  }
  core::Fault fault{};
  const auto counted = attempt([&] { return core::checked_size(shape); }, fault);
  require(counted.has_value() == (sound && !negative),
          [&] { return "checked_size " + core::shape_text(shape); });
  require(counted || fault == (negative ? core::Fault::kValue : core::Fault::kOverflow), "fault");
  if (!counted) return;
  require(Wide{*counted} == (empty ? Wide{0} : size), "number of elements");
  const Wide bits = Wide{*counted} * dtype.stored_bits();
  const auto bytes = attempt([&] { return core::checked_nbytes(*counted, dtype); }, fault);
  require(!bytes || Wide{*bytes} == (bits + 7) / 8, "bytes");
  require(bytes.has_value() == fits(bits), "checked_nbytes");
  const auto range = core::bit_range(shape, strides, dtype);
  if (!in_range) low = high = 0;  // out of range already; keeps the products below within 128 bits
  const Wide begin = low * dtype.stored_bits(), end = (high + 1) * dtype.stored_bits();
  if (empty) {
    require(range && range->begin == 0 && range->end == 0, "range of an empty array");
    return;
  }
  require(range.has_value() == (in_range && fits(begin) && fits(end) && fits(high + 1)),
          "bit_range");
  require(!range || (range->begin == begin && range->end == end), "range");
}

List small_shape(Input& input, int most) {
  List shape(static_cast<std::size_t>(input.below(most)));
  for (std::int64_t& extent : shape) extent = input.one_in(9) ? 0 : 1 + input.below(5);
  return shape;
}
List small_strides(Input& input, const List& shape) {
  List strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::uint8_t choice = input.byte();
    strides[i] = choice < 160 ? step : choice < 200 ? -step : choice % 16 - 8;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  if (shape.size() > 1 && input.one_in(3)) std::swap(strides[0], strides[1]);
  return strides;
}

void check_contiguity(const List& shape, const List& strides) {
  List counting(addresses(shape, strides).size());
  std::iota(counting.begin(), counting.end(), 0);
  const auto what = [&] { return check::show(shape, strides); };
  require(core::is_c_contiguous(shape, strides) == (addresses(shape, strides) == counting),
          [&] { return "is_c_contiguous " + what(); });
  require(core::is_f_contiguous(shape, strides) == (addresses(shape, strides, false) == counting),
          [&] { return "is_f_contiguous " + what(); });
  require(addresses(core::c_layout(shape)) == counting, [&] { return "c_layout " + what(); });
}

void check_range(const List& shape, const List& strides, const core::DType& dtype) {
  const List all = addresses(shape, strides);
  const core::BitRange range = core::checked_bit_range(shape, strides, dtype);
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  const std::int64_t bits = dtype.stored_bits();
  const bool right = all.empty() ? range.begin == 0 && range.end == 0
                                 : range.begin == *low * bits && range.end == (*high + 1) * bits;
  require(right, [&] { return "bit_range " + check::show(shape, strides); });
}

/// The strides implied by the address of index 1 of each axis, if they give every address.
bool has_strides(const List& all, const List& to) {
  const core::Layout rows = core::c_layout(to);
  List strides(to.size());
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    if (to[axis] > 1) strides[axis] = all[static_cast<std::size_t>(rows.strides[axis])] - all[0];
  }
  return addresses(to, strides) == all;
}

void check_reshape(Input& input, const List& shape, const List& strides) {
  List to;
  std::int64_t rest = core::size_of(shape);
  while (to.size() < 7 && (rest > 1 || input.one_in(3))) {
    const std::int64_t wanted = 1 + input.below(6);
    to.push_back(rest > 0 && rest % wanted == 0 ? wanted : 1);
    if (rest > 0) rest /= to.back();
    if (input.one_in(4)) break;
  }
  if (rest != 1 && !input.one_in(16)) to.push_back(rest);
  const bool same_size = core::size_of(to) == core::size_of(shape);
  core::Fault fault{};
  const auto made = attempt([&] { return core::reshape_layout(shape, strides, to); }, fault);
  const auto what = [&] { return check::show(shape, strides) + " to " + core::shape_text(to); };
  require(made.has_value() == same_size, [&] { return "reshape of " + what(); });
  if (!made) return require(fault == core::Fault::kValue, [&] { return "fault of " + what(); });
  const List all = addresses(shape, strides);
  if (*made) require(check::same((*made)->extents(), to), [&] { return "shape of " + what(); });
  if (*made) require(addresses(**made) == all, [&] { return "addresses of " + what(); });
  if (!*made)
    require(all.empty() || !has_strides(all, to), [&] { return "no layout for " + what(); });
}

void check_broadcast(Input& input, const List& shape, const List& strides) {
  List to = small_shape(input, 3);
  bool fits_shape = true;
  for (const std::int64_t extent : shape) {
    const bool stretch = extent == 1 && input.one_in(2);
    const bool wrong = input.one_in(16);
    to.push_back(stretch || wrong ? input.below(6) : extent);
    fits_shape &= to.back() == extent || extent == 1;
  }
  core::Fault fault{};
  const auto made = attempt([&] { return core::broadcast_layout(shape, strides, to); }, fault);
  const auto what = [&] { return check::show(shape, strides) + " to " + core::shape_text(to); };
  require(made.has_value() == fits_shape, [&] { return "broadcast of " + what(); });
  if (!made) return require(fault == core::Fault::kValue, [&] { return "fault of " + what(); });
  List broadcast(to.size());
  const std::size_t added = to.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    broadcast[added + axis] = shape[axis] == 1 ? 0 : strides[axis];
  require(addresses(*made) == addresses(to, broadcast), [&] { return "addresses of " + what(); });
}

/// The expected result of may_overlap(), from the lists of addresses.
void check_overlap(Input& input, const List& shape, const List& strides, const core::DType& dtype) {
  alignas(16) static std::byte memory[16384];
  const List other = small_shape(input, 4);
  const core::Layout rows = core::c_layout(other);
  core::ArrayView a = check::view_at(&memory[8192], dtype, shape, strides.data());
  core::ArrayView b = check::view_at(a.data, dtype, rows.extents(), rows.strides);
  b.data += input.take<std::int16_t>() % (1 << input.below(13));
  if (dtype.is_packed()) a.bit = static_cast<std::uint8_t>(input.below(8));
  if (dtype.is_packed()) b.bit = static_cast<std::uint8_t>(input.below(8));
  const auto bytes = [&](const core::ArrayView& view) {
    const List all = addresses(view.extents(), view.stride_span());
    if (all.empty()) return std::pair<std::int64_t, std::int64_t>{0, 0};
    const auto [low, high] = std::minmax_element(all.begin(), all.end());
    const std::int64_t base = (view.data - memory) * 8 + view.bit;
    return std::pair{(base + *low * dtype.stored_bits()) >> 3,
                     (base + (*high + 1) * dtype.stored_bits() + 7) >> 3};
  };
  const auto of_a = bytes(a), of_b = bytes(b);
  const bool intersect = of_a.first < of_a.second && of_b.first < of_b.second &&
                         of_a.first < of_b.second && of_b.first < of_a.second;
  require(core::may_overlap(a, b) == intersect,
          [&] { return "may_overlap " + check::show(shape, strides); });
}

}  // namespace
void run(Input& input) {
  if (input.below(4) == 0) return check_huge(input);
  const core::DType dtype = dtype_from(input);
  const List shape = small_shape(input, 6);
  const List strides = small_strides(input, shape);
  check_contiguity(shape, strides);
  check_range(shape, strides, dtype);
  check_reshape(input, shape, strides);
  check_broadcast(input, shape, strides);
  check_overlap(input, shape, strides, dtype);
}

}  // namespace refarray::fuzz
