// Decoding and encoding of one element on a device, bit for bit as on the host
// (core/kernels/convert.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/kernels/convert.hpp"

namespace refarray::runtime::kernels {

/// The type an element has between decoding and encoding: the narrowest of four that holds all its
/// values. So N decoders and N encoders replace N² kernels.
enum class Intermediate : std::uint8_t { kSigned, kUnsigned, kFloat32, kFloat64 };

/// The bits of an Intermediate's real and imaginary part; the imaginary part of a real element is
/// +0.
struct Parts {
  std::uint64_t real = 0;
  std::uint64_t imag = 0;
};

/// The bytes of one element as in memory.
struct Raw {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// CPUs keep a NaN's sign and payload in float conversions and make it quiet; NVIDIA's GPUs return
// one canonical NaN. To match the host, NaNs are converted by integer operations.

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
constexpr Intermediate intermediate_of() noexcept {
  if constexpr (core::kernels::is_bool<T>)
    return Intermediate::kUnsigned;
  else if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? Intermediate::kSigned : Intermediate::kUnsigned;
  else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>)
    return Intermediate::kFloat64;
  else
    return Intermediate::kFloat32;
}

/// Decodes one element of type T.
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

inline float to_float32(Intermediate type, std::uint64_t part) noexcept {
  switch (type) {
    case Intermediate::kSigned:
      return static_cast<float>(static_cast<std::int64_t>(part));
    case Intermediate::kUnsigned:
      return static_cast<float>(part);
    case Intermediate::kFloat32:
      return float32_of(part);
    case Intermediate::kFloat64:
      break;
  }
  return narrowed(std::bit_cast<double>(part));
}

inline double to_float64(Intermediate type, std::uint64_t part) noexcept {
  switch (type) {
    case Intermediate::kSigned:
      return static_cast<double>(static_cast<std::int64_t>(part));
    case Intermediate::kUnsigned:
      return static_cast<double>(part);
    case Intermediate::kFloat32:
      return widened(float32_of(part));
    case Intermediate::kFloat64:
      break;
  }
  return std::bit_cast<double>(part);
}

template <class T>
constexpr bool is_small = core::kernels::Small<T> || std::is_same_v<T, core::Complex32>;

/// The type in which encode<T> takes an element decoded as `type`. Integers and bool take integers
/// unchanged and floats as float64, which holds them all. Small types take float64 directly, and
/// those of a wide range integers too, so that they are rounded once; otherwise they take float32.
template <class T>
constexpr Intermediate encoder_type(Intermediate type) noexcept {
  constexpr bool kIsWhole = std::is_integral_v<T> || core::kernels::is_bool<T>;
  if (kIsWhole && type == Intermediate::kFloat32) return Intermediate::kFloat64;
  if (kIsWhole || core::kernels::has_wide_range<T>) return type;
  if (is_small<T> && type == Intermediate::kFloat64) return type;
  return intermediate_of<T>();
}

inline std::uint64_t converted(Intermediate target, Intermediate type,
                               std::uint64_t part) noexcept {
  if (target == type) return part;
  if (target == Intermediate::kFloat32) return bits_of(to_float32(type, part));
  return std::bit_cast<std::uint64_t>(to_float64(type, part));
}

/// The code of a small float from an intermediate of encoder_type<T>().
template <core::kernels::Small T>
inline std::uint64_t small_code(Intermediate type, std::uint64_t part) noexcept {
  if (type == Intermediate::kFloat64) return T::from(std::bit_cast<double>(part)).code;
  if constexpr (core::kernels::has_wide_range<T>) {
    if (type == Intermediate::kSigned)
      return T::from(core::kernels::rounding_alike(static_cast<std::int64_t>(part))).code;
    if (type == Intermediate::kUnsigned) return T::from(core::kernels::rounding_alike(part)).code;
  }
  return T::from(float32_of(part)).code;
}

/// Encodes one element of type T from an intermediate of encoder_type<T>(). Bits above the
/// element's size are unspecified.
template <class T>
inline Raw encode(Intermediate type, const Parts& parts) noexcept {
  const bool is_wide = type == Intermediate::kFloat64;
  const auto wide = std::bit_cast<double>(parts.real);
  if constexpr (core::kernels::is_bool<T>) {
    if (!is_wide) return {parts.real != 0 ? 1U : 0U, 0};
    return {wide != 0 || std::bit_cast<double>(parts.imag) != 0 ? 1U : 0U, 0};
  } else if constexpr (std::is_integral_v<T>) {
    if (!is_wide) return {parts.real, 0};  // modulo 2^n: only the low bits are stored
    return {static_cast<std::uint64_t>(core::kernels::saturate<T>(wide)), 0};
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                       std::is_same_v<T, std::complex<double>>) {
    return {parts.real, parts.imag};
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {parts.real | parts.imag << 32, 0};
  } else if constexpr (std::is_same_v<T, core::Complex32>) {
    return {small_code<core::Float16>(type, parts.real) |
                small_code<core::Float16>(type, parts.imag) << 16,
            0};
  } else {
    return {small_code<T>(type, parts.real), 0};
  }
}

}  // namespace refarray::runtime::kernels
