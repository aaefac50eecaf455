// Arrow's format strings: the table of the dtypes that Arrow has.
#include "extension/arrow/format.hpp"

#include <array>

namespace refarray::extension {
namespace {

using core::DType;
using core::Kind;

struct ArrowFormat {
  DType dtype;
  const char* text;
};
constexpr std::array<ArrowFormat, 12> kFormats{{
    {{Kind::kBool, 8}, "b"},
    {{Kind::kInt, 8}, "c"},
    {{Kind::kUInt, 8}, "C"},
    {{Kind::kInt, 16}, "s"},
    {{Kind::kUInt, 16}, "S"},
    {{Kind::kInt, 32}, "i"},
    {{Kind::kUInt, 32}, "I"},
    {{Kind::kInt, 64}, "l"},
    {{Kind::kUInt, 64}, "L"},
    {{Kind::kFloat, 16}, "e"},
    {{Kind::kFloat, 32}, "f"},
    {{Kind::kFloat, 64}, "g"},
}};

/// The integers up to 2 to this power are exact in a float of so many bits.
constexpr int exact_bits(int float_bits) noexcept {
  return float_bits == 16 ? 11 : float_bits == 32 ? 24 : 53;
}

}  // namespace

const char* arrow_format(const DType& dtype) noexcept {
  for (const ArrowFormat& row : kFormats) {
    if (row.dtype == dtype) return row.text;
  }
  return nullptr;
}

std::optional<DType> dtype_of_arrow_format(std::string_view format) noexcept {
  for (const ArrowFormat& row : kFormats) {
    if (format == row.text) return row.dtype;
  }
  return std::nullopt;
}

bool keeps_values(const DType& from, const DType& to) noexcept {
  if (from.kind == Kind::kBool || to.kind == Kind::kBool) return false;
  if (from.kind == to.kind) return to.bits >= from.bits;
  if (to.kind == Kind::kFloat) return exact_bits(to.bits) >= from.bits;
  return from.kind == Kind::kUInt && to.kind == Kind::kInt && to.bits > from.bits;
}

}  // namespace refarray::extension
