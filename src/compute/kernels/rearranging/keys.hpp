// Sort keys: unsigned integers in the order of the elements that they stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "refarray/core/dtype.hpp"

namespace refarray::core::kernels {
namespace {

enum class Numbers { kBool, kUnsigned, kSigned, kFloating };

/// A real dtype: its bits as `Bits`, and the bits of infinity if it has one.
template <class Bits, Numbers kOfNumbers, std::uint64_t kInfinity = 0>
struct Keys {
  using Word = Bits;
  static constexpr Numbers kNumbers = kOfNumbers;
  static constexpr Bits kInfinityBits = static_cast<Bits>(kInfinity);
  static constexpr Bits kTop = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  static constexpr bool kIsFloating = kNumbers == Numbers::kFloating;

  static Bits load(const std::byte* from) noexcept {
    Bits bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return bits;
  }

  static bool is_nan(Bits bits) noexcept {
    return kIsFloating && static_cast<Bits>(bits & ~kTop) > kInfinityBits;
  }

  /// Different for different bits, but for bools; negative NaNs come first, -0 before 0.
  static Bits of(Bits bits) noexcept {
    if constexpr (kNumbers == Numbers::kBool) return bits != 0;
    if constexpr (kNumbers == Numbers::kUnsigned) return bits;
    if constexpr (kNumbers == Numbers::kSigned) return static_cast<Bits>(bits ^ kTop);
    const auto sign = static_cast<Bits>(-static_cast<Bits>(bits >> (8 * sizeof(Bits) - 1)));
    return static_cast<Bits>(bits ^ (sign | kTop));
  }

  /// The inverse of of().
  static Bits bits(Bits key) noexcept {
    if constexpr (kNumbers == Numbers::kBool || kNumbers == Numbers::kUnsigned) return key;
    if constexpr (kNumbers == Numbers::kSigned) return static_cast<Bits>(key ^ kTop);
    const auto sign = static_cast<Bits>(-static_cast<Bits>(key >> (8 * sizeof(Bits) - 1)));
    return static_cast<Bits>(key ^ (static_cast<Bits>(~sign) | kTop));
  }

  /// Equal for equal values: both zeros, and all NaNs, which come last.
  static Bits by_value(Bits bits) noexcept {
    if constexpr (kIsFloating) {
      if (is_nan(bits)) return static_cast<Bits>(~Bits{0});
      if (bits == kTop) bits = 0;
    }
    return of(bits);
  }
};

/// Calls f.operator()<Keys>() for a computable dtype that is not complex.
template <class F>
auto with_keys(ScalarType dtype, F f) noexcept {
  switch (dtype) {
    case ScalarType::kBool:
      return f.template operator()<Keys<std::uint8_t, Numbers::kBool>>();
    case ScalarType::kInt8:
      return f.template operator()<Keys<std::uint8_t, Numbers::kSigned>>();
    case ScalarType::kInt16:
      return f.template operator()<Keys<std::uint16_t, Numbers::kSigned>>();
    case ScalarType::kInt32:
      return f.template operator()<Keys<std::uint32_t, Numbers::kSigned>>();
    case ScalarType::kInt64:
      return f.template operator()<Keys<std::uint64_t, Numbers::kSigned>>();
    case ScalarType::kUInt8:
      return f.template operator()<Keys<std::uint8_t, Numbers::kUnsigned>>();
    case ScalarType::kUInt16:
      return f.template operator()<Keys<std::uint16_t, Numbers::kUnsigned>>();
    case ScalarType::kUInt32:
      return f.template operator()<Keys<std::uint32_t, Numbers::kUnsigned>>();
    case ScalarType::kUInt64:
      return f.template operator()<Keys<std::uint64_t, Numbers::kUnsigned>>();
    case ScalarType::kFloat32:
      return f.template operator()<Keys<std::uint32_t, Numbers::kFloating, 0x7F80'0000U>>();
    case ScalarType::kFloat16:
      return f.template operator()<Keys<std::uint16_t, Numbers::kFloating, 0x7C00U>>();
    case ScalarType::kBfloat16:
      return f.template operator()<Keys<std::uint16_t, Numbers::kFloating, 0x7F80U>>();
    default:
      return f
          .template operator()<Keys<std::uint64_t, Numbers::kFloating, 0x7FF0'0000'0000'0000U>>();
  }
}

}  // namespace
}  // namespace refarray::core::kernels
