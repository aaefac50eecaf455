// Random placements of elements in a block of memory, for the tests of copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/array.hpp"

namespace refarray::core {

using Numbers = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

inline std::mt19937_64& generator() {
  static std::mt19937_64 engine(20261120);
  return engine;
}
inline std::int64_t random_below(std::int64_t limit) {
  return static_cast<std::int64_t>(generator()() % static_cast<std::uint64_t>(limit));
}
inline Bytes random_bytes(std::int64_t count) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::byte& each : bytes) each = static_cast<std::byte>(generator()());
  return bytes;
}

inline DType type(const char* text) { return dtype_from_name(text).value(); }

/// The 27 scalar types, and the padded form of the three sub-byte ones.
inline std::vector<DType> all_types() {
  std::vector<DType> types;
  for (const ScalarInfo& row : kScalars) {
    types.push_back(DType{row.kind, row.bits});
    if (types.back().is_sub_byte()) types.push_back(DType{row.kind, row.bits, 1, true});
  }
  return types;
}

/// A layout in a block of memory; `origin` is the bit offset of element (0,...,0).
struct Placement {
  DType dtype;
  Numbers shape;
  Numbers strides;
  std::int64_t origin = 0;
  std::int64_t nbytes = 0;  // size of the block

  ArrayView in(Bytes& memory) const {
    ArrayView view;
    view.data = memory.data() + origin / 8;
    view.bit = static_cast<std::uint8_t>(origin % 8);
    view.dtype = dtype;
    view.ndim = static_cast<int>(shape.size());
    view.shape = shape.data();
    view.strides = strides.data();
    return view;
  }
  std::int64_t size() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  /// The element at a row-major index, as an array of rank 0.
  ArrayView element(Bytes& memory, std::int64_t index) const {
    std::int64_t bit = origin;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      bit += index % shape[axis] * strides[axis] * dtype.stored_bits();
      index /= shape[axis];
    }
    ArrayView view;
    view.data = memory.data() + bit / 8;
    view.bit = static_cast<std::uint8_t>(bit % 8);
    view.dtype = dtype;
    return view;
  }
};

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
inline Placement random_placement(const DType& dtype, const Numbers& shape, bool broadcast) {
  Placement out{dtype, shape, Numbers(shape.size()), 0, 0};
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), generator());
  std::int64_t step = random_below(3) == 0 ? 1 + random_below(3) : 1;
  std::int64_t first = random_below(9);
  for (const std::size_t axis : order) {
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

inline Numbers random_shape() {
  Numbers shape(static_cast<std::size_t>(random_below(6)));
  for (std::int64_t& extent : shape)
    extent = random_below(12) == 0 ? 1 + random_below(40) : 1 + random_below(5);
  return shape;
}

inline std::string describe(const Placement& dst, const Placement& src) {
  std::string out = name(src.dtype) + " -> " + name(dst.dtype) + " shape " + shape_text(dst.shape);
  return out + " dst strides " + shape_text(dst.strides) + " src strides " +
         shape_text(src.strides);
}

inline Placement row_major(const DType& dtype, const Numbers& shape, std::int64_t first) {
  Placement out{dtype, shape, Numbers(shape.size(), 1), first * dtype.stored_bits(), 0};
  for (std::size_t axis = shape.size(); axis-- > 1;)
    out.strides[axis - 1] = out.strides[axis] * shape[axis];
  out.nbytes = tight_size(out);
  return out;
}

}  // namespace refarray::core
