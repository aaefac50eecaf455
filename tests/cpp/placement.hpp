// Placements of elements in a block of memory, for the tests of copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/copy/copy.hpp"
#include "naive.hpp"

namespace refarray::check {

using core::ArrayView;
using core::DType;
using Bytes = std::vector<std::byte>;

/// A view of memory; `strides` has as many numbers as `shape`.
inline ArrayView view_at(std::byte* data, const DType& dtype, core::Extents shape = {},
                         const std::int64_t* strides = nullptr) {
  ArrayView out;
  out.data = data;
  out.dtype = dtype;
  out.ndim = static_cast<int>(shape.size());
  out.shape = shape.data();
  out.strides = strides;
  return out;
}

/// A layout in a block of memory; `origin` is the bit offset of element (0,...,0).
struct Placement {
  DType dtype;
  List shape;
  List strides;
  std::int64_t origin = 0;
  std::int64_t nbytes = 0;  // of the smallest block that contains it

  ArrayView in(Bytes& memory) const {
    ArrayView view = view_at(memory.data() + origin / 8, dtype, shape, strides.data());
    view.bit = static_cast<std::uint8_t>(origin % 8);
    return view;
  }
  /// The element at an offset in elements, as an array of rank 0.
  ArrayView at(Bytes& memory, std::int64_t address) const {
    return Placement{dtype, {}, {}, origin + address * dtype.stored_bits()}.in(memory);
  }
  List addresses() const { return check::addresses(shape, strides); }
};

/// What copy() must be equal to.
inline void copy_elements(const Placement& dst, Bytes& to, const Placement& src, Bytes& from) {
  const List targets = dst.addresses(), sources = src.addresses();
  for (std::size_t i = 0; i < targets.size(); ++i)
    core::copy(dst.at(to, targets[i]), src.at(from, sources[i]));
}

inline std::string describe(const Placement& dst, const Placement& src) {
  return core::name(src.dtype) + " " + show(src.shape, src.strides) + " -> " +
         core::name(dst.dtype) + " " + show(dst.shape, dst.strides);
}

inline DType type(const char* text) { return core::dtype_from_name(text).value(); }

/// The 27 scalar types, and the padded form of the three sub-byte ones.
inline std::vector<DType> all_types() {
  std::vector<DType> types;
  for (const core::ScalarInfo& row : core::kScalars) {
    types.push_back(DType{row.kind, row.bits});
    if (types.back().is_sub_byte()) types.push_back(DType{row.kind, row.bits, 1, true});
  }
  return types;
}

// --- random ones

inline Random& generator() {
  static Random random(20261120);
  return random;
}
inline std::int64_t random_below(std::int64_t limit) { return generator().between(0, limit - 1); }
inline Bytes random_bytes(std::int64_t count) {
  Bytes bytes(static_cast<std::size_t>(count));
  generator().fill(bytes.data(), count);
  return bytes;
}

/// Size of the smallest block, so that sanitizers detect any access beyond the last element.
inline std::int64_t tight_size(const Placement& place) {
  std::int64_t last = place.origin + place.dtype.stored_bits();
  for (std::size_t axis = 0; axis < place.shape.size(); ++axis) {
    if (place.shape[axis] > 1 && place.strides[axis] > 0) {
      last += (place.shape[axis] - 1) * place.strides[axis] * place.dtype.stored_bits();
    }
  }
  return (last + 7) / 8;
}

/// A random placement: axis order, gaps, directions and origin. With `broadcast`, some strides are
/// zero; otherwise no two elements share memory.
inline Placement random_placement(const DType& dtype, const List& shape, bool broadcast) {
  Placement out{dtype, shape, List(shape.size())};
  std::int64_t step = random_below(3) == 0 ? 1 + random_below(3) : 1;
  std::int64_t first = random_below(9);
  for (const std::int64_t each : generator().permutation(shape.size())) {
    const auto axis = static_cast<std::size_t>(each);
    const bool is_zero = broadcast && random_below(3) == 0;
    const bool is_reversed = random_below(3) == 0;
    out.strides[axis] = is_zero ? 0 : is_reversed ? -step : step;
    if (is_reversed && !is_zero) first += step * std::max<std::int64_t>(shape[axis] - 1, 0);
    const bool has_gap = shape[axis] > 1 && random_below(3) == 0;
    if (!is_zero) step *= std::max<std::int64_t>(shape[axis], 1) + (has_gap ? 1 : 0);
    if (shape[axis] == 1)
      out.strides[axis] = random_below(2) == 0 ? out.strides[axis] : std::int64_t{1} << 61;
  }
  out.origin = first * dtype.stored_bits() + 8 * random_below(8);
  out.nbytes = tight_size(out);
  return out;
}

inline List random_shape() {
  List shape(static_cast<std::size_t>(random_below(6)));
  for (std::int64_t& extent : shape)
    extent = random_below(12) == 0 ? 1 + random_below(40) : 1 + random_below(5);
  return shape;
}

inline Placement row_major(const DType& dtype, const List& shape, std::int64_t first) {
  const core::Layout layout = core::c_layout(shape);
  Placement out{dtype, shape, List(layout.strides, layout.strides + layout.ndim),
                first * dtype.stored_bits()};
  out.nbytes = tight_size(out);
  return out;
}

}  // namespace refarray::check
