// Fuzz target of copy(): compares copies between random layouts and types, overlapping or not, with
// copying element by element, and conversions of single elements with the definitions of the types.
#include <algorithm>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "input.hpp"
#include "naive_cast.hpp"
#include "placement.hpp"

namespace refarray::fuzz {
namespace {

using check::describe;

core::DType dtype_from(Input& input) {
  const core::ScalarInfo& row = core::kScalars[static_cast<std::size_t>(input.below(27))];
  core::DType out{row.kind, row.bits};
  const int variant = input.below(8);
  if (variant == 7) out.lanes = static_cast<std::uint16_t>(1 + input.below(8));
  if (out.is_sub_byte() && variant % 2 == 1) out.padded = true;
  return out;
}

Bits bits_of(const core::ArrayView& element) {
  Bits out;
  const int bits = element.dtype.bits;
  if (bits < 8) {
    out.low = core::read_bits(element.data, element.bit, bits);
  } else if (element.dtype.is_complex()) {
    const auto half = static_cast<std::size_t>(bits / 16);
    const std::uint64_t imag = read_number(element.data + half, half);
    out.low = read_number(element.data, half);
    bits == 128 ? out.high = imag : out.low |= imag << (bits / 2);
  } else {
    out.low = read_number(element.data, static_cast<std::size_t>(bits / 8));
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

/// Copies with kernels selected by the input.
void copy_at_once(const core::ArrayView& dst, const core::ArrayView& src, unsigned choice) {
  choose_kernels(choice);
  require(core::copy(dst, src), "an uninterrupted copy returns true");
}

/// Copies element by element; `source` is a snapshot.
void copy_slowly(const Placement& dst, Bytes& target, const Placement& src, Bytes& source) {
  core::kernels::use("plain");
  check::copy_elements(dst, target, src, source);
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

}  // namespace

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

}  // namespace refarray::fuzz
