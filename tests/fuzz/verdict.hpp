// judge(): an independent implementation of the rules for imported tensors (docs/exchange.md), in
// 128-bit arithmetic.
#pragma once

#include <optional>

#include "tensor.hpp"

namespace refarray::fuzz {

using Wide = __int128;

/// The expected import of an accepted tensor.
struct Verdict {
  bool empty = false;
  Wide low_bit = 0;   // of the elements, relative to element (0, ..., 0)
  Wide high_bit = 0;  // one past the last
  std::int64_t strides[64] = {};
};

inline bool is_element_type(const DLDataType& dtype) {
  struct Row {
    unsigned code, bits;
  };
  static constexpr Row kRows[] = {{0, 8},   {0, 16}, {0, 32}, {0, 64}, {1, 8},  {1, 16}, {1, 32},
                                  {1, 64},  {2, 16}, {2, 32}, {2, 64}, {4, 16}, {5, 32}, {5, 64},
                                  {5, 128}, {6, 8},  {7, 8},  {8, 8},  {9, 8},  {10, 8}, {11, 8},
                                  {12, 8},  {13, 8}, {14, 8}, {15, 6}, {16, 6}, {17, 4}};
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return row.code == dtype.code && row.bits == dtype.bits;
  });
}

inline Wide stored_bits(const DLDataType& dtype, bool padded) {
  const Wide bits = Wide{dtype.bits} * dtype.lanes;
  return padded ? (bits + 7) / 8 * 8 : bits;
}

inline bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

/// Checks the fields that come before shape.
inline bool header_is_sound(const Fields& fields, bool versioned) {
  if (versioned && fields.version.major != 1) return false;
  const std::uint64_t flags = versioned ? fields.flags : 0;
  const unsigned minor = versioned ? fields.version.minor : 0;
  std::int32_t type = 0;
  std::memcpy(&type, &fields.device.device_type, sizeof type);
  if (type != 1 && type != 3 && type != 11) return false;
  const bool is_narrow = fields.dtype.bits < 8;
  if ((flags & ~std::uint64_t{7}) != 0 && (is_narrow || minor > 3)) return false;
  if (!is_element_type(fields.dtype) || fields.dtype.lanes == 0) return false;
  if ((flags & 4) != 0 && !is_narrow) return false;
  if (fields.ndim < 0 || fields.ndim > 64) return false;
  return fields.ndim == 0 || fields.has_shape;
}

/// Row-major strides if strides are missing or meaningless; rejects overflowing products.
inline void write_strides(const Fields& fields, Verdict& out) {
  Wide step = 1;
  for (std::size_t axis = fields.entries(); axis-- > 0;) {
    const bool given = fields.has_strides && !out.empty;
    out.strides[axis] = given ? fields.strides[axis] : static_cast<std::int64_t>(step);
    if (fields.shape[axis] != 0) step *= fields.shape[axis];
  }
}

/// Empty if the tensor must be rejected.
inline std::optional<Verdict> judge(const Fields& fields, bool versioned) {
  if (!header_is_sound(fields, versioned)) return std::nullopt;
  const Wide bits = stored_bits(fields.dtype, versioned && (fields.flags & 4) != 0);
  Verdict out;
  Wide size = 1;
  for (std::size_t axis = 0; axis < fields.entries(); ++axis) {
    if (fields.shape[axis] < 0) return std::nullopt;
    out.empty |= fields.shape[axis] == 0;
    if (fields.shape[axis] != 0) size *= fields.shape[axis];
    if (!fits(size)) return std::nullopt;
  }
  if (!fits(size * bits)) return std::nullopt;
  write_strides(fields, out);
  if (out.empty) return out;
  Wide low = 0, high = 0;
  for (std::size_t axis = 0; axis < fields.entries(); ++axis) {
    const Wide reach = (Wide{fields.shape[axis]} - 1) * out.strides[axis];
    (reach < 0 ? low : high) += reach;
    if (!fits(reach) || !fits(low) || !fits(high)) return std::nullopt;
  }
  out.low_bit = low * bits;
  out.high_bit = (high + 1) * bits;
  if (!fits(out.low_bit) || !fits(out.high_bit) || !fits(high + 1)) return std::nullopt;
  const Wide first = Wide{fields.data} + fields.byte_offset;
  const Wide end = first + (out.high_bit + 7) / 8;
  const Wide begin =
      first + (out.low_bit - 7) / 8;         // truncation rounds outwards, because it is <= 0
  const bool inside = begin >= 32 * 1024 &&  // nothing is mapped below
                      end <= Wide{UINTPTR_MAX} && first <= Wide{UINTPTR_MAX};
  if (fields.data == 0 || fields.byte_offset > INT64_MAX || !inside) return std::nullopt;
  return out;
}

}  // namespace refarray::fuzz
