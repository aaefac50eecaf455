// Fuzz target of copy(): compares copies between random layouts and types, overlapping or not, with
// copying element by element, and conversions of single elements with the definitions of the types.
#include <algorithm>
#include <vector>

#include "../cpp/naive.hpp"
#include "core/bits.hpp"
#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "core/kernels/table.hpp"
#include "input.hpp"
#include "naive_cast.hpp"

namespace refarray::fuzz {
namespace {

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

core::DType dtype_from(Input& input) {
  const core::ScalarInfo& row = core::kScalars[static_cast<std::size_t>(input.below(27))];
  core::DType out{row.kind, row.bits};
  const int variant = input.below(8);
  if (variant == 7) out.lanes = static_cast<std::uint16_t>(1 + input.below(5));
  if (out.is_sub_byte() && variant % 2 == 1) out.padded = true;
  return out;
}

List shape_from(Input& input) {
  List shape(static_cast<std::size_t>(input.below(6)));
  std::int64_t size = 1;
  for (std::int64_t& extent : shape) {
    const std::int64_t wanted = input.one_in(8) ? input.byte() : input.below(6);
    extent = size * wanted <= kMaxElements ? wanted : 1;
    size *= std::max<std::int64_t>(extent, 1);
  }
  return shape;
}

/// Any axis order, gaps and directions. `may_share` allows elements to share memory.
Placement placement_from(Input& input, const core::DType& dtype, const List& shape,
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

/// Repeats the last bytes of the input, modified in each repetition.
Bytes content_from(const Input& input, std::int64_t nbytes, unsigned salt) {
  Bytes out(static_cast<std::size_t>(nbytes));
  const std::span<const std::uint8_t> seeds = input.rest();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const unsigned seed = seeds.empty() ? 0 : seeds[i % seeds.size()];
    const std::size_t lap = seeds.empty() ? i : i / seeds.size();
    out[i] = static_cast<std::byte>(seed + salt + lap * 89);
  }
  return out;
}

Bits bits_of(const core::ArrayView& element) {
  Bits out;
  const int bits = element.dtype.bits;
  if (bits < 8) {
    out.low = core::read_bits(element.data, element.bit, bits);
  } else {
    std::memcpy(&out, element.data, static_cast<std::size_t>(bits / 8));
  }
  return out;
}

void check_values(const Placement& dst, Bytes& to, const Placement& src, Bytes& from) {
  if (dst.dtype.lanes != 1 || dst.dtype.kind == src.dtype.kind) return;
  const List targets = dst.addresses();
  const List sources = src.addresses();
  for (std::size_t i = 0; i < std::min<std::size_t>(targets.size(), 16); ++i) {
    const Bits given = bits_of(src.at(from, sources[i]));
    const Bits seen = bits_of(dst.at(to, targets[i]));
    require(is_converted(dst.dtype, seen, src.dtype, given), [&] {
      return core::name(src.dtype) + " -> " + core::name(dst.dtype) + " of code " +
             std::to_string(given.low) + " became " + std::to_string(seen.low);
    });
  }
}

/// Copies with kernels selected by the input, among those that the processor supports.
void copy_at_once(const core::ArrayView& dst, const core::ArrayView& src, unsigned choice) {
  static const core::kernels::Choices all = core::kernels::choices();
  core::kernels::use(all.tables[choice % static_cast<unsigned>(all.count)]->name);
  require(core::copy(dst, src), "an uninterrupted copy returns true");
}

/// Copies element by element; `source` is a snapshot.
void copy_slowly(const Placement& dst, Bytes& target, const Placement& src, Bytes& source) {
  core::kernels::use("plain");
  const List targets = dst.addresses();
  const List sources = src.addresses();
  for (std::size_t i = 0; i < targets.size(); ++i)
    core::copy(dst.at(target, targets[i]), src.at(source, sources[i]));
}

std::string describe(const Placement& dst, const Placement& src) {
  return core::name(src.dtype) + " " + check::show(src.shape, src.strides) + " -> " +
         core::name(dst.dtype) + " " + check::show(dst.shape, dst.strides);
}

void copy_apart(const Input& input, const Placement& dst, const Placement& src, unsigned choice) {
  Bytes source = content_from(input, src.nbytes, 0);
  Bytes seen = content_from(input, dst.nbytes, 131);
  Bytes expected = seen;
  copy_slowly(dst, expected, src, source);
  const Bytes before = source;
  copy_at_once(dst.in(seen), src.in(source), choice);
  require(seen == expected, [&] { return "copy of " + describe(dst, src); });
  require(source == before, [&] { return "the source was modified: " + describe(dst, src); });
  check_values(dst, seen, src, source);
}

void copy_overlapping(const Input& input, const Placement& dst, const Placement& src,
                      unsigned choice) {
  Bytes seen = content_from(input, std::max(dst.nbytes, src.nbytes), 7);
  Bytes snapshot = seen;
  Bytes expected = seen;
  copy_slowly(dst, expected, src, snapshot);
  copy_at_once(dst.in(seen), src.in(seen), choice);
  require(seen == expected, [&] { return "overlapping copy of " + describe(dst, src); });
}

/// If elements of the target share memory, any of their values may remain. Bits of no element must
/// be preserved.
void copy_onto_shared(const Input& input, const Placement& dst, const Placement& src,
                      unsigned choice) {
  Bytes source = content_from(input, src.nbytes, 0);
  Bytes seen = content_from(input, dst.nbytes, 131);
  const Bytes before = seen;
  copy_at_once(dst.in(seen), src.in(source), choice);
  Bytes covered(seen.size());
  for (const std::int64_t address : dst.addresses()) {
    std::int64_t bit = dst.origin + address * dst.dtype.stored_bits();
    for (int i = 0; i < dst.dtype.stored_bits(); ++i, ++bit)
      covered[static_cast<std::size_t>(bit / 8)] |= std::byte{1} << (bit % 8);
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    require(((seen[i] ^ before[i]) & ~covered[i]) == std::byte{0},
            [&] { return "bits of no element were modified: " + describe(dst, src); });
}

void run(Input& input) {
  const std::uint8_t first = input.byte();
  const int mode = first % 8;
  const core::DType from = dtype_from(input);
  const core::DType to = input.one_in(3) ? from : dtype_from(input);
  const List shape = shape_from(input);
  const Placement src = placement_from(input, from, shape, true);
  const Placement dst = placement_from(input, to, shape, mode == 7);
  if (!core::can_convert(from, to)) {
    Bytes source(static_cast<std::size_t>(src.nbytes)),
        target(static_cast<std::size_t>(dst.nbytes));
    try {
      core::copy(dst.in(target), src.in(source));
      require(false, [&] { return "an invalid conversion was accepted: " + describe(dst, src); });
    } catch (const core::Error& error) {
      require(error.fault() == core::Fault::kType, error.what());
    }
    return;
  }
  if (mode == 7) return copy_onto_shared(input, dst, src, first / 8U);
  if (mode >= 5) return copy_overlapping(input, dst, src, first / 8U);
  copy_apart(input, dst, src, first / 8U);
}

}  // namespace
}  // namespace refarray::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  refarray::fuzz::Input input(data, size);
  refarray::fuzz::run(input);
  return 0;
}
