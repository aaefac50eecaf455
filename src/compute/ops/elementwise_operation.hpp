// The elementwise operations, by name. kElementwiseRows describes them.
#pragma once

#include <cstdint>

namespace refarray::core {

/// The elementwise functions of the array API standard, in the order of kElementwiseRows.
enum class Elementwise : std::uint8_t {
  kAbs,
  kAcos,
  kAcosh,
  kAdd,
  kAsin,
  kAsinh,
  kAtan,
  kAtan2,
  kAtanh,
  kBitwiseAnd,
  kBitwiseInvert,
  kBitwiseLeftShift,
  kBitwiseOr,
  kBitwiseRightShift,
  kBitwiseXor,
  kCeil,
  kConj,
  kCopysign,
  kCos,
  kCosh,
  kDivide,
  kEqual,
  kExp,
  kExpm1,
  kFloor,
  kFloorDivide,
  kGreater,
  kGreaterEqual,
  kHypot,
  kImag,
  kIsfinite,
  kIsinf,
  kIsnan,
  kLess,
  kLessEqual,
  kLog,
  kLog10,
  kLog1p,
  kLog2,
  kLogaddexp,
  kLogicalAnd,
  kLogicalNot,
  kLogicalOr,
  kLogicalXor,
  kMaximum,
  kMinimum,
  kMultiply,
  kNegative,
  kNextafter,
  kNotEqual,
  kPositive,
  kPow,
  kReal,
  kReciprocal,
  kRemainder,
  kRound,
  kSign,
  kSignbit,
  kSin,
  kSinh,
  kSqrt,
  kSquare,
  kSubtract,
  kTan,
  kTanh,
  kTrunc,
  kCount,
};

/// How the result's dtype follows from the promoted dtype of the inputs.
enum class Result : std::uint8_t {
  kSameDtype,
  kBoolDtype,
  kRealDtype,  // float32 for complex64, float64 for complex128, otherwise the same
};

}  // namespace refarray::core
