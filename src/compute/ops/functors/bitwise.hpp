// Functors that change the bits of integers and of floating-point numbers, and those that round.
#pragma once

#include "compute/ops/functors/types.hpp"

namespace refarray::core::functors {
namespace {

/// Of bools the logical operation.
template <auto kOf>
struct Bitwise {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if constexpr (is_boolean<T>)
      return boolean(kOf(truth(x), truth(y)));
    else
      return static_cast<T>(kOf(x, y));
  }
};
using BitwiseAnd = Bitwise<[](auto x, auto y) { return x & y; }>;
using BitwiseOr = Bitwise<[](auto x, auto y) { return x | y; }>;
using BitwiseXor = Bitwise<[](auto x, auto y) { return x ^ y; }>;

struct BitwiseInvert {
  template <class T>
  static constexpr T apply(T x) noexcept {
    if constexpr (is_boolean<T>)
      return boolean(!truth(x));
    else
      return static_cast<T>(~x);
  }
};

/// Whether a shift has a result: C++ leaves others undefined.
template <class T>
constexpr bool is_shift(T count) noexcept {
  return static_cast<Bits<T>>(count) < sizeof(T) * 8;  // a negative count is a large number
}

struct LeftShift {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    const unsigned count = static_cast<unsigned>(y) & (sizeof(T) * 8 - 1);
    const auto shifted = static_cast<T>(static_cast<Bits<T>>(x) << count);
    return is_shift(y) ? shifted : T{0};
  }
};

struct RightShift {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    const unsigned count =
        is_shift(y) ? static_cast<unsigned>(y) : static_cast<unsigned>(sizeof(T) * 8 - 1);
    const auto shifted = static_cast<T>(x >> count);
    if constexpr (std::is_signed_v<T>)
      return shifted;  // by the width - 1: the sign
    else
      return is_shift(y) ? shifted : T{0};
  }
};

struct Copysign {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    return with_sign(x, y);
  }
};

/// Of float and double.
struct NextAfter {
  template <class T>
  static constexpr T apply(T x, T y) noexcept {
    if (is_nan(x) || is_nan(y)) return kNaN<T>;
    if (x == y) return y;
    if (x == 0) return with_sign(std::numeric_limits<T>::denorm_min(), y);
    const auto bits = std::bit_cast<Bits<T>>(x);
    const bool grows = (x < y) == (x > 0);  // in magnitude
    return std::bit_cast<T>(static_cast<Bits<T>>(grows ? bits + 1 : bits - 1));
  }
};

/// Of the codes of a 16-bit float, whose infinity has the code kInfinite.
template <std::uint16_t kInfinite>
struct NextAfterOfHalf {
  static constexpr std::uint16_t apply(std::uint16_t x, std::uint16_t y) noexcept {
    constexpr std::uint16_t kSign = 0x8000;
    const auto magnitude_x = static_cast<std::uint16_t>(x & ~kSign);
    const auto magnitude_y = static_cast<std::uint16_t>(y & ~kSign);
    if (magnitude_x > kInfinite || magnitude_y > kInfinite)
      return kInfinite | static_cast<std::uint16_t>(kInfinite == 0x7C00 ? 0x0200 : 0x0040);
    const int value_x = x == magnitude_x ? magnitude_x : -int{magnitude_x};  // in the same order
    const int value_y = y == magnitude_y ? magnitude_y : -int{magnitude_y};
    if (value_x == value_y) return y;
    if (value_x == 0) return static_cast<std::uint16_t>((y & kSign) | 1);
    const bool grows = (value_x < value_y) == (value_x > 0);  // in magnitude
    return static_cast<std::uint16_t>(grows ? x + 1 : x - 1);
  }
};

inline float ceil_of(float x) noexcept { return __builtin_ceilf(x); }
inline double ceil_of(double x) noexcept { return __builtin_ceil(x); }
inline float trunc_of(float x) noexcept { return __builtin_truncf(x); }
inline double trunc_of(double x) noexcept { return __builtin_trunc(x); }

/// The nearest integer, halves to even. Adding and subtracting 2^52 (2^23) rounds in the default
/// mode, which Python never changes; larger numbers are integers.
template <class T>
constexpr T round_of(T x) noexcept {
  constexpr T kLimit = sizeof(T) == 8 ? T(4503599627370496.0) : T(8388608.0);
  const T magnitude = absolute(x);
  const T rounded = (magnitude + kLimit) - kLimit;
  return magnitude < kLimit ? with_sign(rounded, x) : x;
}

/// Integers stay as they are.
template <auto kRound>
struct Rounding {
  template <class T>
  static constexpr T apply(T x) noexcept {
    if constexpr (is_real_floating<T>)
      return kRound(x);
    else
      return x;
  }
};
using Floor = Rounding<[](auto x) { return floor_of(x); }>;
using Ceil = Rounding<[](auto x) { return ceil_of(x); }>;
using Trunc = Rounding<[](auto x) { return trunc_of(x); }>;

struct Round {
  template <class T>
  static constexpr T apply(T x) noexcept {
    if constexpr (is_complex<T>)
      return {round_of(x.real), round_of(x.imag)};
    else if constexpr (is_real_floating<T>)
      return round_of(x);
    else
      return x;
  }
};

struct Conj {
  template <class T>
  static constexpr T apply(T x) noexcept {
    if constexpr (is_complex<T>)
      return {x.real, -x.imag};
    else
      return x;
  }
};

struct Real {
  template <class T>
  static constexpr auto apply(T x) noexcept {
    if constexpr (is_complex<T>)
      return x.real;
    else
      return x;
  }
};

struct Imag {
  template <class T>
  static constexpr auto apply(T x) noexcept {
    return x.imag;
  }
};

}  // namespace
}  // namespace refarray::core::functors
