// The element types of computations, as plain structs and arithmetic types that a device compiler
// takes too.
//
// Functors call no function of the C library, so that hosts and devices compute the same bits.
// Everything has internal linkage: see kernels/vector.hpp.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace refarray::core::functors {
namespace {

/// A boolean in memory. Any value except 0 is True; results are 0 or 1.
struct Boolean {
  std::uint8_t byte;
};

template <class T>
struct Complex {
  using Part = T;
  T real;
  T imag;
};

template <class T>
constexpr bool is_complex = false;
template <class T>
constexpr bool is_complex<Complex<T>> = true;
template <class T>
constexpr bool is_boolean = std::is_same_v<T, Boolean>;
template <class T>
constexpr bool is_integer = std::is_integral_v<T>;
template <class T>
constexpr bool is_real_floating = std::is_floating_point_v<T>;

template <class T>
constexpr bool truth(T value) noexcept {
  if constexpr (is_boolean<T>)
    return value.byte != 0;
  else
    return value != T{};
}
constexpr Boolean boolean(bool value) noexcept { return {static_cast<std::uint8_t>(value)}; }

/// The unsigned integer of the same size, in which arithmetic wraps around.
template <class T>
using Bits = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// Integers narrower than int are computed in unsigned int: products of two uint16 overflow int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < 4, std::uint32_t, Bits<T>>;

template <class T>
constexpr T kSignBit = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));

template <class T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

template <class T>
constexpr bool is_nan(T x) noexcept {
  return x != x;
}
template <class T>
constexpr T absolute(T x) noexcept {  // of a floating-point number
  return std::bit_cast<T>(static_cast<Bits<T>>(std::bit_cast<Bits<T>>(x) & ~kSignBit<Bits<T>>));
}
template <class T>
constexpr bool is_negative(T x) noexcept {  // -0.0 too
  return (std::bit_cast<Bits<T>>(x) & kSignBit<Bits<T>>) != 0;
}
template <class T>
constexpr T with_sign(T magnitude, T sign) noexcept {
  return std::bit_cast<T>(
      static_cast<Bits<T>>((std::bit_cast<Bits<T>>(magnitude) & ~kSignBit<Bits<T>>) |
                           (std::bit_cast<Bits<T>>(sign) & kSignBit<Bits<T>>)));
}
template <class T>
constexpr bool is_finite(T x) noexcept {
  return absolute(x) <= std::numeric_limits<T>::max();
}
template <class T>
constexpr bool is_infinite(T x) noexcept {
  return absolute(x) == kInfinity<T>;
}

inline float floor_of(float x) noexcept { return __builtin_floorf(x); }
inline double floor_of(double x) noexcept { return __builtin_floor(x); }

}  // namespace
}  // namespace refarray::core::functors
