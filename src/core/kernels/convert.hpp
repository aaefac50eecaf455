// Conversion of one element to another type, shared by the kernels of the CPU and of the devices.
#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/element.hpp"

namespace refarray::core::kernels {
namespace {

template <class T>
struct ComplexPart {};
template <class T>
struct ComplexPart<std::complex<T>> {
  using type = T;
};
template <>
struct ComplexPart<Complex32> {
  using type = Float16;
};
template <class T>
concept Complex = requires { typename ComplexPart<T>::type; };
template <class T>
concept WideComplex = Complex<T> && !std::is_same_v<T, Complex32>;
template <class T>
concept Small = requires {
  { T::from(0.0F).code } -> std::convertible_to<unsigned>;
};
template <class T>
constexpr bool is_bool = std::is_same_v<T, Bool>;

/// Truncates toward zero, saturates, and maps NaN to 0. The cast itself is always in range, hence
/// defined.
template <class I, class F>
constexpr I saturate(F value) noexcept {
  constexpr F kEnd = static_cast<F>(std::uint64_t{1} << (std::numeric_limits<I>::digits - 1)) * 2;
  constexpr F kBegin = static_cast<F>(std::numeric_limits<I>::min());
  const F inside = value >= kBegin && value < kEnd ? value : F{0};
  I out = static_cast<I>(inside);
  out = value >= kEnd ? std::numeric_limits<I>::max() : out;
  return value < kBegin ? std::numeric_limits<I>::min() : out;
}

/// The values of all 256 codes of a type of one byte. Bits above a narrower value are ignored.
template <Small S>
constexpr auto kValues = [] {
  std::array<float, 256> values{};
  for (unsigned code = 0; code < values.size(); ++code)
    values[code] = S{static_cast<std::uint8_t>(code)}.value();
  return values;
}();

/// Integers that float32 may not hold exactly, and the small floats whose range has such values.
template <class I>
constexpr bool is_wide_integer = std::is_integral_v<I> && sizeof(I) >= 4;
template <class F>
constexpr bool has_wide_range = std::is_same_v<F, BFloat16> || std::is_same_v<F, Float8_e8m0fnu>;

/// A double that rounds to the same small float as the integer: exact below 2^53, and above without
/// the last eleven bits, whose presence a twelfth records ("round to odd").
template <class I>
constexpr double rounding_alike(I value) noexcept {
  bool is_negative = false;
  if constexpr (std::is_signed_v<I>) is_negative = value < 0;
  const std::uint64_t bits = static_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = is_negative ? std::uint64_t{0} - bits : bits;
  const std::uint64_t rest = magnitude & 0x7FFU;
  const std::uint64_t odd = (magnitude ^ rest) | (rest != 0 ? 0x800U : 0U);
  const bool is_exact = magnitude < std::uint64_t{1} << 53;
  const auto real = static_cast<double>(is_exact ? magnitude : odd);
  return is_negative ? -real : real;
}

template <class D, class S>
constexpr D convert(S value) noexcept {
  if constexpr (is_bool<D>) {
    return Bool{static_cast<std::uint8_t>(value != S{})};
  } else if constexpr (is_bool<S>) {
    return convert<D>(static_cast<std::uint8_t>(value.byte != 0));
  } else if constexpr (Small<S>) {
    if constexpr (sizeof(S) == 1)
      return kValues<S>[value.code];
    else
      return value.value();
  } else if constexpr (Small<D> && is_wide_integer<S>) {
    return D::from(rounding_alike(value));
  } else if constexpr (Small<D>) {
    return D::from(value);
  } else if constexpr (Complex<D>) {
    using Part = typename ComplexPart<D>::type;
    return {convert<Part>(value), Part{}};
  } else if constexpr (std::is_integral_v<D> && std::is_floating_point_v<S>) {
    return saturate<D>(value);
  } else {
    return static_cast<D>(value);  // between integers: modulo 2^n
  }
}

}  // namespace
}  // namespace refarray::core::kernels
