// Owns what an element is between its old type and its new one, on a device: with the host's rules
// and bits (core/kernels/convert.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/kernels/convert.hpp"

namespace refarray::runtime::kernels {

/// What an element is on its way: the narrowest of four types that holds every value of its own. So
/// there are loads and stores for each type instead of one kernel for each pair.
enum class Form : std::uint8_t { kSigned, kUnsigned, kFloat32, kFloat64 };

/// The bits of one int64, uint64, float32 or float64, and of the imaginary part: +0 unless there is
/// one.
struct Parts {
  std::uint64_t real = 0;
  std::uint64_t imag = 0;
};

/// Up to 16 bytes of one element as they lie in memory.
struct Raw {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// The host's processor keeps sign and payload of a NaN when it narrows or widens it, and makes it
// quiet; NVIDIA's devices give one NaN for all. So NaNs are converted as integers.

inline double widened(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value == value) return static_cast<double>(value);
  return std::bit_cast<double>((std::uint64_t{bits >> 31} << 63) | 0x7FF8000000000000U |
                               (std::uint64_t{bits & 0x3FFFFFU} << 29));
}

inline float narrowed(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (value == value) return static_cast<float>(value);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 63 << 31) | 0x7FC00000U |
                              static_cast<std::uint32_t>(bits >> 29 & 0x3FFFFFU));
}

inline std::uint64_t bits_of(float value) noexcept { return std::bit_cast<std::uint32_t>(value); }
inline float float32_of(std::uint64_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

template <core::kernels::Small T>
inline std::uint64_t small_value(std::uint64_t bits) noexcept {
  return bits_of(T{static_cast<typename T::Code>(bits)}.value());
}

template <class T>
constexpr Form form_of() noexcept {
  if constexpr (core::kernels::is_bool<T>)
    return Form::kUnsigned;
  else if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? Form::kSigned : Form::kUnsigned;
  else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>)
    return Form::kFloat64;
  else
    return Form::kFloat32;
}

/// One element of type T in its form.
template <class T>
inline Parts decode(const Raw& raw) noexcept {
  if constexpr (core::kernels::is_bool<T>) {
    return {(raw.low & 0xFF) != 0 ? 1U : 0U, 0};
  } else if constexpr (std::is_integral_v<T>) {
    return {static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<T>(raw.low))), 0};
  } else if constexpr (std::is_same_v<T, float>) {
    return {raw.low & 0xFFFFFFFFU, 0};
  } else if constexpr (std::is_same_v<T, double>) {
    return {raw.low, 0};
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {raw.low & 0xFFFFFFFFU, raw.low >> 32};
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return {raw.low, raw.high};
  } else if constexpr (std::is_same_v<T, core::Complex32>) {
    return {small_value<core::Float16>(raw.low), small_value<core::Float16>(raw.low >> 16)};
  } else {
    return {small_value<T>(raw.low), 0};
  }
}

inline float to_float32(Form form, std::uint64_t part) noexcept {
  switch (form) {
    case Form::kSigned:
      return static_cast<float>(static_cast<std::int64_t>(part));
    case Form::kUnsigned:
      return static_cast<float>(part);
    case Form::kFloat32:
      return float32_of(part);
    case Form::kFloat64:
      break;
  }
  return narrowed(std::bit_cast<double>(part));
}

inline double to_float64(Form form, std::uint64_t part) noexcept {
  switch (form) {
    case Form::kSigned:
      return static_cast<double>(static_cast<std::int64_t>(part));
    case Form::kUnsigned:
      return static_cast<double>(part);
    case Form::kFloat32:
      return widened(float32_of(part));
    case Form::kFloat64:
      break;
  }
  return std::bit_cast<double>(part);
}

/// What encode<T> takes elements of `form` in: integers and bool take integers as they are and
/// floats as float64, which holds them all; float16 takes float64 at once, as on the host; every
/// other small type by way of float32.
template <class T>
constexpr Form wanted_form(Form form) noexcept {
  constexpr bool kIsWhole = std::is_integral_v<T> || core::kernels::is_bool<T>;
  if (kIsWhole && form == Form::kFloat32) return Form::kFloat64;
  if (kIsWhole || (std::is_same_v<T, core::Float16> && form == Form::kFloat64)) return form;
  return form_of<T>();
}

inline std::uint64_t in_form(Form wanted, Form form, std::uint64_t part) noexcept {
  if (wanted == form) return part;
  if (wanted == Form::kFloat32) return bits_of(to_float32(form, part));
  return std::bit_cast<std::uint64_t>(to_float64(form, part));
}

/// What wanted_form asked for as one element of type T; bits above the element mean nothing.
template <class T>
inline Raw encode(Form form, const Parts& parts) noexcept {
  const bool is_wide = form == Form::kFloat64;
  const auto wide = std::bit_cast<double>(parts.real);
  if constexpr (core::kernels::is_bool<T>) {
    if (!is_wide) return {parts.real != 0 ? 1U : 0U, 0};
    return {wide != 0 || std::bit_cast<double>(parts.imag) != 0 ? 1U : 0U, 0};
  } else if constexpr (std::is_integral_v<T>) {
    if (!is_wide) return {parts.real, 0};  // modulo 2^n: the bits above are not stored
    return {static_cast<std::uint64_t>(core::kernels::saturate<T>(wide)), 0};
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                       std::is_same_v<T, std::complex<double>>) {
    return {parts.real, parts.imag};
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {parts.real | parts.imag << 32, 0};
  } else if constexpr (std::is_same_v<T, core::Complex32>) {
    const std::uint64_t imag = core::Float16::from(float32_of(parts.imag)).code;
    return {core::Float16::from(float32_of(parts.real)).code | imag << 16, 0};
  } else {
    if constexpr (std::is_same_v<T, core::Float16>) {
      if (is_wide) return {T::from(wide).code, 0};
    }
    return {T::from(float32_of(parts.real)).code, 0};
  }
}

}  // namespace refarray::runtime::kernels
