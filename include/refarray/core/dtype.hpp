// DType: the element type of an array, the 27 named scalar types, and their size in memory.
// Header-only and free of Python and of dlpack.h; it is shipped in the wheel.
#pragma once

#if __cplusplus <= 201703L
#error "refarray's C++ headers need C++20; compile with -std=c++20 or newer"
#endif

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace refarray::core {

/// Type code of a scalar. The values are DLPack's (checked in dlpack/wire.hpp).
enum class Kind : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8_e3m4 = 7,
  kFloat8_e4m3 = 8,
  kFloat8_e4m3b11fnuz = 9,
  kFloat8_e4m3fn = 10,
  kFloat8_e4m3fnuz = 11,
  kFloat8_e5m2 = 12,
  kFloat8_e5m2fnuz = 13,
  kFloat8_e8m0fnu = 14,
  kFloat6_e2m3fn = 15,
  kFloat6_e3m2fn = 16,
  kFloat4_e2m1fn = 17,
};

/// The named scalar types, in the order of kScalars.
enum class ScalarType : std::int8_t {
  kNone = -1,  // another type
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kFloat16,
  kBfloat16,
  kComplex32,
  kFloat8_e3m4,
  kFloat8_e4m3,
  kFloat8_e4m3b11fnuz,
  kFloat8_e4m3fn,
  kFloat8_e4m3fnuz,
  kFloat8_e5m2,
  kFloat8_e5m2fnuz,
  kFloat8_e8m0fnu,
  kFloat6_e2m3fn,
  kFloat6_e3m2fn,
  kFloat4_e2m1fn,
};

/// A named scalar type. Names follow the array API standard, and ml_dtypes for types outside it.
struct ScalarInfo {
  Kind kind;
  std::uint8_t bits;
  std::string_view name;
};

inline constexpr std::array<ScalarInfo, 27> kScalars{{
    {Kind::kBool, 8, "bool"},
    {Kind::kInt, 8, "int8"},
    {Kind::kInt, 16, "int16"},
    {Kind::kInt, 32, "int32"},
    {Kind::kInt, 64, "int64"},
    {Kind::kUInt, 8, "uint8"},
    {Kind::kUInt, 16, "uint16"},
    {Kind::kUInt, 32, "uint32"},
    {Kind::kUInt, 64, "uint64"},
    {Kind::kFloat, 32, "float32"},
    {Kind::kFloat, 64, "float64"},
    {Kind::kComplex, 64, "complex64"},
    {Kind::kComplex, 128, "complex128"},
    {Kind::kFloat, 16, "float16"},
    {Kind::kBfloat, 16, "bfloat16"},
    {Kind::kComplex, 32, "complex32"},
    {Kind::kFloat8_e3m4, 8, "float8_e3m4"},
    {Kind::kFloat8_e4m3, 8, "float8_e4m3"},
    {Kind::kFloat8_e4m3b11fnuz, 8, "float8_e4m3b11fnuz"},
    {Kind::kFloat8_e4m3fn, 8, "float8_e4m3fn"},
    {Kind::kFloat8_e4m3fnuz, 8, "float8_e4m3fnuz"},
    {Kind::kFloat8_e5m2, 8, "float8_e5m2"},
    {Kind::kFloat8_e5m2fnuz, 8, "float8_e5m2fnuz"},
    {Kind::kFloat8_e8m0fnu, 8, "float8_e8m0fnu"},
    {Kind::kFloat6_e2m3fn, 6, "float6_e2m3fn"},
    {Kind::kFloat6_e3m2fn, 6, "float6_e3m2fn"},
    {Kind::kFloat4_e2m1fn, 4, "float4_e2m1fn"},
}};

constexpr const ScalarInfo& info_of(ScalarType scalar) noexcept {
  return kScalars[static_cast<std::size_t>(scalar)];
}

namespace detail {
/// The scalar of a type code and bits. A lookup table, because every import uses it.
inline constexpr auto kScalarRows = [] {
  std::array<std::array<ScalarType, 129>, 18> rows{};
  for (auto& of_kind : rows) of_kind.fill(ScalarType::kNone);
  for (std::size_t i = 0; i < kScalars.size(); ++i) {
    rows[static_cast<std::size_t>(kScalars[i].kind)][kScalars[i].bits] = static_cast<ScalarType>(i);
  }
  return rows;
}();
}  // namespace detail

/// The scalar of a type code and a number of bits; kNone for an unsupported pair.
constexpr ScalarType find_scalar(unsigned code, unsigned bits) noexcept {
  return code < detail::kScalarRows.size() && bits <= 128 ? detail::kScalarRows[code][bits]
                                                          : ScalarType::kNone;
}
/// The same as an index into kScalars, or -1.
constexpr int scalar_index(unsigned code, unsigned bits) noexcept {
  return static_cast<int>(find_scalar(code, bits));
}

/// The type of one element: `lanes` scalars of `bits` bits each. Elements smaller than a byte are
/// packed, least significant bits first. With `padded`, each starts on a byte of its own instead
/// and its value is in the low bits.
///
/// Eight aligned bytes, so that it is loaded and stored as one word. Storing the fields one by one
/// and loading the word right after defeats store forwarding, which costs an exchange more than all
/// its checks.
struct alignas(8) DType {
  Kind kind = Kind::kFloat;
  std::uint8_t bits = 64;
  std::uint16_t lanes = 1;
  bool padded = false;

  friend constexpr bool operator==(const DType&, const DType&) = default;

  constexpr bool is_complex() const noexcept { return kind == Kind::kComplex; }
  constexpr bool is_sub_byte() const noexcept { return bits < 8; }

  /// Bits from one element to the next when they are contiguous.
  constexpr int stored_bits() const noexcept {
    const int bits_used = int{bits} * int{lanes};
    return padded ? (bits_used + 7) / 8 * 8 : bits_used;
  }
  /// Elements may begin inside a byte, so they have bit addresses.
  constexpr bool is_packed() const noexcept { return stored_bits() % 8 != 0; }
  /// Bytes of one element, rounded up: 1 for packed scalars, as in ml_dtypes.
  constexpr int itemsize() const noexcept { return (stored_bits() + 7) / 8; }
  /// The scalar type of each lane.
  constexpr ScalarType scalar() const noexcept {
    return find_scalar(static_cast<unsigned>(kind), bits);
  }
  /// The same as an index into kScalars, or -1.
  constexpr int index() const noexcept { return static_cast<int>(scalar()); }
};

static_assert(sizeof(DType) == 8);

/// Sets all four fields with one store (see DType).
inline void set_dtype(DType& out, std::uint8_t code, std::uint8_t bits, std::uint16_t lanes,
                      bool padded) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    const std::uint64_t word = std::uint64_t{code} | std::uint64_t{bits} << 8 |
                               std::uint64_t{lanes} << 16 | std::uint64_t{padded} << 32;
    std::memcpy(static_cast<void*>(&out), &word, sizeof out);
  } else {
    out = {static_cast<Kind>(code), bits, lanes, padded};
  }
}

/// "float32", "float32x4" (lanes), "float4_e2m1fn_padded".
inline std::string name(const DType& dtype) {
  const ScalarType scalar = dtype.scalar();
  std::string out = scalar == ScalarType::kNone ? "unknown" : std::string(info_of(scalar).name);
  if (dtype.lanes != 1) out += "x" + std::to_string(dtype.lanes);
  if (dtype.padded) out += "_padded";
  return out;
}

/// The inverse of name(); empty when the text names no type.
inline std::optional<DType> dtype_from_name(std::string_view text) {
  DType out;
  constexpr std::string_view kPadded = "_padded";
  if (text.ends_with(kPadded)) {
    out.padded = true;
    text.remove_suffix(kPadded.size());
  }
  for (const ScalarInfo& row : kScalars) {
    if (!text.starts_with(row.name)) continue;
    std::string_view rest = text.substr(row.name.size());
    std::uint32_t lanes = 1;
    if (!rest.empty()) {
      if (rest.size() < 2 || rest.size() > 6 || rest[0] != 'x' || rest[1] == '0') continue;
      lanes = 0;
      for (char c : rest.substr(1))
        lanes = c < '0' || c > '9' ? 0x10000U : lanes * 10 + static_cast<unsigned>(c - '0');
      if (lanes > 0xFFFFU || lanes == 1) continue;
    }
    out.kind = row.kind;
    out.bits = row.bits;
    out.lanes = static_cast<std::uint16_t>(lanes);
    if (out.padded && !out.is_sub_byte()) return std::nullopt;
    return out;
  }
  return std::nullopt;
}

}  // namespace refarray::core
