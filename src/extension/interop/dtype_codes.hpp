// The codes of the dtypes in the array interface, in PEP 3118 and in Arrow.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// Null-terminated; nullptr where a protocol has none.
struct DTypeCodes {
  core::DType dtype;
  const char* typestr;  // without the byte order
  const char* buffer;   // exported: memoryview can read it; without the default prefix '@'
  const char* arrow;    // Arrow's bool is a bit, ours a byte
};

/// NumPy keeps `long` and `long long` apart even where both have 64 bits, and its int64 is `long`
/// there. Libraries that look NumPy's types up by identity know only that one.
inline constexpr bool kLongIs64 = sizeof(long) == 8;
static_assert(sizeof(short) == 2 && sizeof(int) == 4 && sizeof(long long) == 8);

/// complex32 has none: NumPy reads PEP 3118's Ze as a type of another size and raises RuntimeError.
inline constexpr std::array<DTypeCodes, 14> kDTypeCodes{{
    {{core::Kind::kBool, 8}, "b1", "?", "b"},
    {{core::Kind::kInt, 8}, "i1", "b", "c"},
    {{core::Kind::kUInt, 8}, "u1", "B", "C"},
    {{core::Kind::kInt, 16}, "i2", "h", "s"},
    {{core::Kind::kUInt, 16}, "u2", "H", "S"},
    {{core::Kind::kInt, 32}, "i4", "i", "i"},
    {{core::Kind::kUInt, 32}, "u4", "I", "I"},
    {{core::Kind::kInt, 64}, "i8", kLongIs64 ? "l" : "q", "l"},
    {{core::Kind::kUInt, 64}, "u8", kLongIs64 ? "L" : "Q", "L"},
    {{core::Kind::kFloat, 16}, "f2", "e", "e"},
    {{core::Kind::kFloat, 32}, "f4", "f", "f"},
    {{core::Kind::kFloat, 64}, "f8", "d", "g"},
    {{core::Kind::kComplex, 64}, "c8", "Zf", nullptr},
    {{core::Kind::kComplex, 128}, "c16", "Zd", nullptr},
}};

using Protocol = const char* DTypeCodes::*;

/// The code of a dtype, or nullptr if the protocol has none.
inline const char* code_of(Protocol protocol, const core::DType& dtype) noexcept {
  for (const DTypeCodes& row : kDTypeCodes) {
    if (row.dtype == dtype) return row.*protocol;
  }
  return nullptr;
}

/// The dtype of a code. Nothing if the protocol has no such code for a dtype of ours.
inline std::optional<core::DType> dtype_of_code(Protocol protocol, std::string_view code) noexcept {
  for (const DTypeCodes& row : kDTypeCodes) {
    if (row.*protocol != nullptr && code == row.*protocol) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace refarray::extension
