// The registry of elementwise functions: one row for each, from which the kernels' table, the
// Python functions, their signatures and documentation are made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "compute/ops/elementwise_operation.hpp"
#include "core/promotion.hpp"

namespace refarray::core {

/// A year of the standard, as in "2022.12".
using Since = std::uint16_t;

struct ElementwiseRow {
  Elementwise operation;
  const char* name;
  std::uint8_t inputs;  // 1 or 2
  DtypeSet accepts;
  Result result;
  Since since;
  const char* text;  // what it computes, for help()
};

inline constexpr auto kElementwiseRows = [] {
  using namespace dtype_sets;
  using enum Elementwise;
  using enum Result;
  return std::to_array<ElementwiseRow>({
      {kAbs, "abs", 1, kNumeric, kRealDtype, 2021,
       "The absolute value; of complex numbers the magnitude. The smallest integer of a signed\n"
       "dtype stays as it is."},
      {kAcos, "acos", 1, kFloating, kSameDtype, 2021, "The inverse cosine, in radians."},
      {kAcosh, "acosh", 1, kFloating, kSameDtype, 2021, "The inverse hyperbolic cosine."},
      {kAdd, "add", 2, kNumeric, kSameDtype, 2021, "The sum x1 + x2. Integers wrap around."},
      {kAsin, "asin", 1, kFloating, kSameDtype, 2021, "The inverse sine, in radians."},
      {kAsinh, "asinh", 1, kFloating, kSameDtype, 2021, "The inverse hyperbolic sine."},
      {kAtan, "atan", 1, kFloating, kSameDtype, 2021, "The inverse tangent, in radians."},
      {kAtan2, "atan2", 2, kRealFloating, kSameDtype, 2021,
       "The angle of the point (x2, x1) in radians, in [-pi, pi]."},
      {kAtanh, "atanh", 1, kFloating, kSameDtype, 2021, "The inverse hyperbolic tangent."},
      {kBitwiseAnd, "bitwise_and", 2, kIntegerOrBool, kSameDtype, 2021,
       "The bits set in x1 and in x2."},
      {kBitwiseInvert, "bitwise_invert", 1, kIntegerOrBool, kSameDtype, 2021,
       "All bits inverted; of bool the logical negation."},
      {kBitwiseLeftShift, "bitwise_left_shift", 2, kInteger, kSameDtype, 2021,
       "The bits of x1 shifted left by x2. A shift by a negative number, or by the width of the\n"
       "dtype or more, gives 0."},
      {kBitwiseOr, "bitwise_or", 2, kIntegerOrBool, kSameDtype, 2021,
       "The bits set in x1 or in x2."},
      {kBitwiseRightShift, "bitwise_right_shift", 2, kInteger, kSameDtype, 2021,
       "The bits of x1 shifted right by x2, with copies of the sign bit. A shift by a negative\n"
       "number, or by the width of the dtype or more, gives 0, or -1 for negative x1."},
      {kBitwiseXor, "bitwise_xor", 2, kIntegerOrBool, kSameDtype, 2021,
       "The bits set in one of x1 and x2."},
      {kCeil, "ceil", 1, kRealValued, kSameDtype, 2021,
       "The smallest integer that is not less than x."},
      {kConj, "conj", 1, kNumeric, kSameDtype, 2022,
       "The complex conjugate; real numbers stay as they are."},
      {kCopysign, "copysign", 2, kRealFloating, kSameDtype, 2023,
       "The magnitude of x1 with the sign of x2."},
      {kCos, "cos", 1, kFloating, kSameDtype, 2021, "The cosine of x in radians."},
      {kCosh, "cosh", 1, kFloating, kSameDtype, 2021, "The hyperbolic cosine."},
      {kDivide, "divide", 2, kFloating, kSameDtype, 2021,
       "The quotient x1 / x2. Integers are refused: their quotient has no dtype in the standard."},
      {kEqual, "equal", 2, kAll, kBoolDtype, 2021, "Whether x1 == x2."},
      {kExp, "exp", 1, kFloating, kSameDtype, 2021, "e to the power of x."},
      {kExpm1, "expm1", 1, kFloating, kSameDtype, 2021, "exp(x) - 1, accurate near 0."},
      {kFloor, "floor", 1, kRealValued, kSameDtype, 2021,
       "The largest integer that is not greater than x."},
      {kFloorDivide, "floor_divide", 2, kRealValued, kSameDtype, 2021,
       "The quotient x1 / x2, rounded toward minus infinity. An integer divided by 0 gives 0."},
      {kGreater, "greater", 2, kRealValued, kBoolDtype, 2021, "Whether x1 > x2."},
      {kGreaterEqual, "greater_equal", 2, kRealValued, kBoolDtype, 2021, "Whether x1 >= x2."},
      {kHypot, "hypot", 2, kRealFloating, kSameDtype, 2023,
       "The square root of x1**2 + x2**2, without intermediate overflow."},
      {kImag, "imag", 1, kComplex, kRealDtype, 2022, "The imaginary part."},
      {kIsfinite, "isfinite", 1, kNumeric, kBoolDtype, 2021,
       "Whether x is neither infinite nor NaN."},
      {kIsinf, "isinf", 1, kNumeric, kBoolDtype, 2021, "Whether x, or a part of it, is infinite."},
      {kIsnan, "isnan", 1, kNumeric, kBoolDtype, 2021, "Whether x, or a part of it, is NaN."},
      {kLess, "less", 2, kRealValued, kBoolDtype, 2021, "Whether x1 < x2."},
      {kLessEqual, "less_equal", 2, kRealValued, kBoolDtype, 2021, "Whether x1 <= x2."},
      {kLog, "log", 1, kFloating, kSameDtype, 2021, "The natural logarithm."},
      {kLog10, "log10", 1, kFloating, kSameDtype, 2021, "The logarithm to base 10."},
      {kLog1p, "log1p", 1, kFloating, kSameDtype, 2021, "log(1 + x), accurate near 0."},
      {kLog2, "log2", 1, kFloating, kSameDtype, 2021, "The logarithm to base 2."},
      {kLogaddexp, "logaddexp", 2, kRealFloating, kSameDtype, 2021,
       "log(exp(x1) + exp(x2)), without intermediate overflow."},
      {kLogicalAnd, "logical_and", 2, kBool, kBoolDtype, 2021, "x1 and x2."},
      {kLogicalNot, "logical_not", 1, kBool, kBoolDtype, 2021, "not x."},
      {kLogicalOr, "logical_or", 2, kBool, kBoolDtype, 2021, "x1 or x2."},
      {kLogicalXor, "logical_xor", 2, kBool, kBoolDtype, 2021, "Whether one of x1 and x2 is True."},
      {kMaximum, "maximum", 2, kRealValued, kSameDtype, 2023,
       "The greater of x1 and x2; NaN if one is NaN."},
      {kMinimum, "minimum", 2, kRealValued, kSameDtype, 2023,
       "The lesser of x1 and x2; NaN if one is NaN."},
      {kMultiply, "multiply", 2, kNumeric, kSameDtype, 2021,
       "The product x1 * x2. Integers wrap around."},
      {kNegative, "negative", 1, kNumeric, kSameDtype, 2021, "-x. Integers wrap around."},
      {kNextafter, "nextafter", 2, kRealFloating, kSameDtype, 2024,
       "The next representable number after x1 toward x2."},
      {kNotEqual, "not_equal", 2, kAll, kBoolDtype, 2021, "Whether x1 != x2."},
      {kPositive, "positive", 1, kNumeric, kSameDtype, 2021, "A copy of x."},
      {kPow, "pow", 2, kNumeric, kSameDtype, 2021,
       "x1 to the power of x2. Integers wrap around; to a negative power they are rounded toward\n"
       "0, and 0 gives 0."},
      {kReal, "real", 1, kNumeric, kRealDtype, 2022, "The real part."},
      {kReciprocal, "reciprocal", 1, kFloating, kSameDtype, 2024, "1 / x."},
      {kRemainder, "remainder", 2, kRealValued, kSameDtype, 2021,
       "The remainder of x1 / x2 with the sign of x2. An integer divided by 0 gives 0."},
      {kRound, "round", 1, kNumeric, kSameDtype, 2021,
       "The nearest integer; halves go to the even one. Complex numbers are rounded by parts."},
      {kSign, "sign", 1, kNumeric, kSameDtype, 2021,
       "-1, 0 or 1; of complex numbers x / abs(x), or 0. NaN gives NaN."},
      {kSignbit, "signbit", 1, kRealFloating, kBoolDtype, 2023,
       "Whether the sign bit is set, as in -0.0."},
      {kSin, "sin", 1, kFloating, kSameDtype, 2021, "The sine of x in radians."},
      {kSinh, "sinh", 1, kFloating, kSameDtype, 2021, "The hyperbolic sine."},
      {kSqrt, "sqrt", 1, kFloating, kSameDtype, 2021, "The square root, correctly rounded."},
      {kSquare, "square", 1, kNumeric, kSameDtype, 2021, "x * x. Integers wrap around."},
      {kSubtract, "subtract", 2, kNumeric, kSameDtype, 2021,
       "The difference x1 - x2. Integers wrap around."},
      {kTan, "tan", 1, kFloating, kSameDtype, 2021, "The tangent of x in radians."},
      {kTanh, "tanh", 1, kFloating, kSameDtype, 2021, "The hyperbolic tangent."},
      {kTrunc, "trunc", 1, kRealValued, kSameDtype, 2021, "The integer part: x rounded toward 0."},
  });
}();

static_assert(kElementwiseRows.size() == static_cast<std::size_t>(Elementwise::kCount));
static_assert([] {
  for (std::size_t i = 0; i < kElementwiseRows.size(); ++i) {
    if (static_cast<std::size_t>(kElementwiseRows[i].operation) != i) return false;
  }
  return true;
}());

constexpr const ElementwiseRow& row_of(Elementwise operation) noexcept {
  return kElementwiseRows[static_cast<std::size_t>(operation)];
}

}  // namespace refarray::core
