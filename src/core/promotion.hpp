// Type promotion of the array API standard: one table over the dtypes that take part in
// computations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "refarray/core/dtype.hpp"

namespace refarray::core {

/// Computations are defined for the first 15 scalars: the 13 dtypes of the standard, float16 and
/// bfloat16.
inline constexpr int kComputable = 15;
inline constexpr auto kComputableTypes = [] {
  std::array<ScalarType, kComputable> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<ScalarType>(i);
  return out;
}();

/// The scalar of a dtype that computations accept, or kNone: for types of less than 16 bits that
/// are floats, for complex32, vectors and padded types.
constexpr ScalarType computable_scalar(const DType& dtype) noexcept {
  const ScalarType scalar = dtype.scalar();
  return scalar <= ScalarType::kBfloat16 && dtype.lanes == 1 && !dtype.padded ? scalar
                                                                              : ScalarType::kNone;
}

/// float16 or bfloat16: most functions compute them as float32 or float64.
constexpr bool is_half(ScalarType scalar) noexcept {
  return scalar == ScalarType::kFloat16 || scalar == ScalarType::kBfloat16;
}

/// Sets of computable dtypes, in the standard's words: a bit for each scalar.
using DtypeSet = std::uint16_t;
template <class... Scalars>
constexpr DtypeSet set_of(Scalars... scalars) noexcept {
  return static_cast<DtypeSet>(((1U << static_cast<unsigned>(scalars)) | ...));
}
namespace dtype_sets {
inline constexpr DtypeSet kBool = set_of(ScalarType::kBool);
inline constexpr DtypeSet kSigned =
    set_of(ScalarType::kInt8, ScalarType::kInt16, ScalarType::kInt32, ScalarType::kInt64);
inline constexpr DtypeSet kUnsigned =
    set_of(ScalarType::kUInt8, ScalarType::kUInt16, ScalarType::kUInt32, ScalarType::kUInt64);
inline constexpr DtypeSet kRealFloating =
    set_of(ScalarType::kFloat32, ScalarType::kFloat64, ScalarType::kFloat16, ScalarType::kBfloat16);
inline constexpr DtypeSet kComplex = set_of(ScalarType::kComplex64, ScalarType::kComplex128);
inline constexpr DtypeSet kInteger = kSigned | kUnsigned;
inline constexpr DtypeSet kIntegerOrBool = kInteger | kBool;
inline constexpr DtypeSet kRealValued = kInteger | kRealFloating;
inline constexpr DtypeSet kFloating = kRealFloating | kComplex;
inline constexpr DtypeSet kNumeric = kRealValued | kComplex;
inline constexpr DtypeSet kAll = kNumeric | kBool;
}  // namespace dtype_sets

constexpr bool contains(DtypeSet set, ScalarType scalar) noexcept {
  return (set & set_of(scalar)) != 0;
}

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
constexpr ScalarType promoted(ScalarType a, ScalarType b) noexcept {
  const ScalarInfo& x = info_of(a);
  const ScalarInfo& y = info_of(b);
  const auto is_integer = [](Kind kind) { return kind == Kind::kInt || kind == Kind::kUInt; };
  const auto is_floating = [](Kind kind) {
    return kind == Kind::kFloat || kind == Kind::kBfloat || kind == Kind::kComplex;
  };
  const auto of = [](Kind kind, int bits) {
    return find_scalar(static_cast<unsigned>(kind), static_cast<unsigned>(bits));
  };
  const int wider = x.bits > y.bits ? x.bits : y.bits;
  if (a == b) return a;
  if (is_integer(x.kind) && is_integer(y.kind)) {
    if (x.kind == y.kind) return of(x.kind, wider);
    const int from_unsigned = 2 * (x.kind == Kind::kUInt ? x.bits : y.bits);
    const int of_signed = x.kind == Kind::kInt ? x.bits : y.bits;
    const int bits = from_unsigned > of_signed ? from_unsigned : of_signed;
    return bits > 64 ? ScalarType::kNone : of(Kind::kInt, bits);
  }
  if (!is_floating(x.kind) || !is_floating(y.kind)) return ScalarType::kNone;
  if (x.kind == Kind::kComplex || y.kind == Kind::kComplex) {
    const int x_part = x.kind == Kind::kComplex ? x.bits / 2 : x.bits;
    const int y_part = y.kind == Kind::kComplex ? y.bits / 2 : y.bits;
    return of(Kind::kComplex, (x_part > 32 || y_part > 32) ? 128 : 64);
  }
  if (wider == 16) return ScalarType::kNone;  // float16 and bfloat16 have no common type
  return of(Kind::kFloat, wider);
}

inline constexpr auto kPromotions = [] {
  std::array<std::array<ScalarType, kComputable>, kComputable> out{};
  for (const ScalarType a : kComputableTypes) {
    for (const ScalarType b : kComputableTypes)
      out[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = promoted(a, b);
  }
  return out;
}();
}  // namespace detail

/// The dtype of an operation on two arrays of computable dtypes, or kNone where the standard leaves
/// it undefined: bool with numbers, integers with floats, uint64 with
/// signed integers, float16 with bfloat16.
constexpr ScalarType promote(ScalarType a, ScalarType b) noexcept {
  return detail::kPromotions[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

/// The dtype of an operation on many arrays: every two of them must promote, so that the order does
/// not matter. kNone if two do not, or the set is empty.
constexpr ScalarType promote_all(DtypeSet set) noexcept {
  ScalarType out = ScalarType::kNone;
  for (const ScalarType a : kComputableTypes) {
    if (!contains(set, a)) continue;
    for (const ScalarType b : kComputableTypes)
      if (contains(set, b) && promote(a, b) == ScalarType::kNone) return ScalarType::kNone;
    out = out == ScalarType::kNone ? a : promote(out, a);
  }
  return out;
}

/// The dtype of single elements of a scalar type.
constexpr DType scalar_dtype(ScalarType scalar) noexcept {
  const ScalarInfo& info = info_of(scalar);
  return {info.kind, info.bits, 1, false};
}

/// The same for dtypes. Empty where it is undefined, or a dtype takes part in no computation;
/// equal dtypes always promote to themselves.
constexpr std::optional<DType> promote(const DType& a, const DType& b) noexcept {
  if (a == b) return a;
  const ScalarType x = computable_scalar(a);
  const ScalarType y = computable_scalar(b);
  if (x == ScalarType::kNone || y == ScalarType::kNone) return std::nullopt;
  const ScalarType out = promote(x, y);
  if (out == ScalarType::kNone) return std::nullopt;
  return scalar_dtype(out);
}

}  // namespace refarray::core
