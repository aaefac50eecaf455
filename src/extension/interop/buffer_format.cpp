// PEP 3118 format codes ↔ dtypes.
#include <array>
#include <bit>

#include "extension/interop/buffer.hpp"

namespace refarray::extension {
namespace {

using core::DType;
using core::Kind;

/// NumPy keeps `long` and `long long` apart even where both have 64 bits, and its int64 is `long`
/// there. Libraries that look NumPy's types up by identity know only that one.
constexpr bool kLongIs64 = sizeof(long) == 8;

/// The exported code of each dtype: one that memoryview can read, without the default prefix '@'.
/// complex32 has none: NumPy reads PEP 3118's Ze as a type of another size and raises RuntimeError.
struct ExportedFormat {
  DType dtype;
  const char* format;
};
constexpr std::array<ExportedFormat, 14> kExported{{
    {{Kind::kBool, 8}, "?"},
    {{Kind::kInt, 8}, "b"},
    {{Kind::kUInt, 8}, "B"},
    {{Kind::kInt, 16}, "h"},
    {{Kind::kUInt, 16}, "H"},
    {{Kind::kInt, 32}, "i"},
    {{Kind::kUInt, 32}, "I"},
    {{Kind::kInt, 64}, kLongIs64 ? "l" : "q"},
    {{Kind::kUInt, 64}, kLongIs64 ? "L" : "Q"},
    {{Kind::kFloat, 16}, "e"},
    {{Kind::kFloat, 32}, "f"},
    {{Kind::kFloat, 64}, "d"},
    {{Kind::kComplex, 64}, "Zf"},
    {{Kind::kComplex, 128}, "Zd"},
}};
static_assert(sizeof(short) == 2 && sizeof(int) == 4 && sizeof(long long) == 8);

constexpr std::uint8_t bits_of(std::size_t bytes) noexcept {
  return static_cast<std::uint8_t>(bytes * 8);
}

/// Accepted aliases, with the same size in native and standard mode: 'c', `long long`, and the
/// complex codes of struct and ctypes in CPython 3.14. PEP 3118, NumPy and CPython 3.15 use Zf, Zd.
std::optional<DType> alias(char code) noexcept {
  switch (code) {
    case 'c':
      return DType{Kind::kUInt, 8};
    case 'q':
      return DType{Kind::kInt, 64};
    case 'Q':
      return DType{Kind::kUInt, 64};
    case 'F':
      return DType{Kind::kComplex, 64};
    case 'D':
      return DType{Kind::kComplex, 128};
    default:
      return std::nullopt;
  }
}

/// Codes whose size differs in native mode ('@', or '^' without padding), or that exist only there
/// (n, N).
std::optional<DType> native_mode(char code) noexcept {
  switch (code) {
    case 'l':
      return DType{Kind::kInt, bits_of(sizeof(long))};
    case 'L':
      return DType{Kind::kUInt, bits_of(sizeof(long))};
    case 'n':
      return DType{Kind::kInt, bits_of(sizeof(Py_ssize_t))};
    case 'N':
      return DType{Kind::kUInt, bits_of(sizeof(std::size_t))};
    default:
      return std::nullopt;
  }
}

/// Without a repeat count of 1, which means the same as none.
std::string_view without_count(std::string_view format) noexcept {
  const std::size_t zeros = format.find_first_not_of('0');
  if (zeros == std::string_view::npos || format[zeros] != '1') return format;
  const std::string_view rest = format.substr(zeros + 1);
  return !rest.empty() && rest[0] >= '0' && rest[0] <= '9' ? format : rest;
}

}  // namespace

const char* buffer_format(const DType& dtype) noexcept {
  for (const ExportedFormat& row : kExported) {
    if (row.dtype == dtype) return row.format;
  }
  return nullptr;
}

std::optional<DType> dtype_of_format(std::string_view format) noexcept {
  constexpr char kOther = std::endian::native == std::endian::little ? '>' : '<';
  bool standard_sizes = false;
  if (!format.empty() && std::string_view("@^=<>!").find(format[0]) != std::string_view::npos) {
    const bool swapped = format[0] == kOther || (format[0] == '!' && kOther == '>');
    standard_sizes = format[0] != '@' && format[0] != '^';
    format = without_count(format.substr(1));
    if (swapped && !(format.size() == 1 &&
                     std::string_view("?bBc").find(format[0]) != std::string_view::npos)) {
      return std::nullopt;  // single bytes have no order
    }
  } else {
    format = without_count(format);
  }
  if (format == "l" && standard_sizes) return DType{Kind::kInt, 32};
  if (format == "L" && standard_sizes) return DType{Kind::kUInt, 32};
  for (const ExportedFormat& row : kExported) {
    if (format == row.format) return row.dtype;
  }
  if (format == "Ze") return DType{Kind::kComplex, 32};
  if (format.size() != 1) return std::nullopt;
  if (const auto dtype = alias(format[0])) return dtype;
  return standard_sizes ? std::nullopt : native_mode(format[0]);
}

}  // namespace refarray::extension
