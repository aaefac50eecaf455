// Type promotion of the array API standard: one table over the dtypes that take part in
// computations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// Computations are defined for the first 15 rows of kScalars: the 13 dtypes of the standard,
/// float16 and bfloat16.
inline constexpr int kComputable = 15;

/// Index into kScalars of a dtype that computations accept, or -1: for types of less than 16 bits
/// that are floats, for complex32, vectors and padded types.
constexpr int computable_index(const DType& dtype) noexcept {
  const int row = dtype.index();
  return row < kComputable && dtype.lanes == 1 && !dtype.padded ? row : -1;
}

/// Sets of dtypes, in the standard's words, as bits by index into kScalars.
using DtypeSet = std::uint16_t;
namespace dtype_sets {
inline constexpr DtypeSet kBool = 1;
inline constexpr DtypeSet kSigned = 0b1'1110;
inline constexpr DtypeSet kUnsigned = 0b1'1110'0000;
inline constexpr DtypeSet kRealFloating = 0b110'0110'0000'0000;  // bits 9, 10, 13, 14
inline constexpr DtypeSet kComplex = 0b1'1000'0000'0000;
inline constexpr DtypeSet kInteger = kSigned | kUnsigned;
inline constexpr DtypeSet kIntegerOrBool = kInteger | kBool;
inline constexpr DtypeSet kRealValued = kInteger | kRealFloating;
inline constexpr DtypeSet kFloating = kRealFloating | kComplex;
inline constexpr DtypeSet kNumeric = kRealValued | kComplex;
inline constexpr DtypeSet kAll = kNumeric | kBool;
}  // namespace dtype_sets

/// "bool", "integer", …: the set in the standard's words, for error messages and docstrings.
constexpr const char* name(DtypeSet set) noexcept {
  using namespace dtype_sets;
  switch (set) {
    case kBool:
      return "bool";
    case kInteger:
      return "integer";
    case kIntegerOrBool:
      return "integer or bool";
    case kRealValued:
      return "real-valued";
    case kRealFloating:
      return "real-valued floating-point";
    case kComplex:
      return "complex floating-point";
    case kFloating:
      return "floating-point";
    case kNumeric:
      return "numeric";
    default:
      return "bool or numeric";
  }
}

namespace detail {
constexpr int promoted_row(int a, int b) noexcept {
  const ScalarInfo& x = kScalars[static_cast<std::size_t>(a)];
  const ScalarInfo& y = kScalars[static_cast<std::size_t>(b)];
  const auto is_integer = [](Kind kind) { return kind == Kind::kInt || kind == Kind::kUInt; };
  const auto is_floating = [](Kind kind) {
    return kind == Kind::kFloat || kind == Kind::kBfloat || kind == Kind::kComplex;
  };
  const auto of = [](Kind kind, int bits) {
    return scalar_index(static_cast<unsigned>(kind), static_cast<unsigned>(bits));
  };
  const int wider = x.bits > y.bits ? x.bits : y.bits;
  if (a == b) return a;
  if (is_integer(x.kind) && is_integer(y.kind)) {
    if (x.kind == y.kind) return of(x.kind, wider);
    const int from_unsigned = 2 * (x.kind == Kind::kUInt ? x.bits : y.bits);
    const int of_signed = x.kind == Kind::kInt ? x.bits : y.bits;
    const int bits = from_unsigned > of_signed ? from_unsigned : of_signed;
    return bits > 64 ? -1 : of(Kind::kInt, bits);
  }
  if (!is_floating(x.kind) || !is_floating(y.kind)) return -1;
  if (x.kind == Kind::kComplex || y.kind == Kind::kComplex) {
    const int x_part = x.kind == Kind::kComplex ? x.bits / 2 : x.bits;
    const int y_part = y.kind == Kind::kComplex ? y.bits / 2 : y.bits;
    return of(Kind::kComplex, (x_part > 32 || y_part > 32) ? 128 : 64);
  }
  return wider == 16 ? -1 : of(Kind::kFloat, wider);  // float16 and bfloat16 have no common type
}

inline constexpr auto kPromotions = [] {
  std::array<std::array<std::int8_t, kComputable>, kComputable> out{};
  for (int a = 0; a < kComputable; ++a) {
    for (int b = 0; b < kComputable; ++b)
      out[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] =
          static_cast<std::int8_t>(promoted_row(a, b));
  }
  return out;
}();
}  // namespace detail

/// The dtype of an operation on two arrays, by index into kScalars (both below kComputable), or -1
/// where the standard leaves it undefined: bool with numbers, integers with floats, uint64 with
/// signed integers, float16 with bfloat16.
constexpr int promote(int a, int b) noexcept {
  return detail::kPromotions[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

/// The dtype of an operation on many arrays: every two of them must promote, so that the order does
/// not matter. -1 if two do not, or the set is empty.
constexpr int promote_all(DtypeSet set) noexcept {
  int out = -1;
  for (int a = 0; a < kComputable; ++a) {
    if ((set >> a & 1) == 0) continue;
    for (int b = 0; b < a; ++b)
      if ((set >> b & 1) != 0 && promote(a, b) < 0) return -1;
    out = out < 0 ? a : promote(out, a);
  }
  return out;
}

/// The scalar dtype of a row of kScalars.
constexpr DType scalar_dtype(int row) noexcept {
  const ScalarInfo& info = kScalars[static_cast<std::size_t>(row)];
  return {info.kind, info.bits, 1, false};
}

/// The same for dtypes. Empty where it is undefined, or a dtype takes part in no computation;
/// equal dtypes always promote to themselves.
constexpr std::optional<DType> promote(const DType& a, const DType& b) noexcept {
  if (a == b) return a;
  const int x = computable_index(a);
  const int y = computable_index(b);
  const int out = x < 0 || y < 0 ? -1 : promote(x, y);
  if (out < 0) return std::nullopt;
  return scalar_dtype(out);
}

}  // namespace refarray::core
