// Owns what the device kernels are called with: one structure of plain numbers for all of them, and
// the arithmetic by which a number of a unit becomes its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace refarray::runtime::kernels {

/// Threads of every block; blocks lie along x.
inline constexpr std::uint32_t kBlock = 256;
/// Units that a thread moves, in kernels that are not about tiles.
inline constexpr std::uint32_t kPerThread = 4;
/// More axes than that become several launches.
inline constexpr int kMaxAxes = 16;
/// Numbers of units and of blocks stay below this, so that dividing them needs 32 bits.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 31;

/// Divides numbers below 2^31 by a constant: (high half of n * magic, plus n) >> shift. A division
/// would take a device some thirty instructions.
struct Divisor {
  std::uint32_t value = 1;
  std::uint32_t magic = 1;
  std::uint32_t shift = 0;

  constexpr Divisor() noexcept = default;
  /// 1 <= by < 2^31.
  constexpr explicit Divisor(std::uint32_t by) noexcept : value(by) {
    while ((std::uint64_t{1} << shift) < by) ++shift;
    const std::uint64_t over = (std::uint64_t{1} << shift) - by;
    magic = static_cast<std::uint32_t>((over << 32) / by + 1);
  }
  constexpr std::uint32_t divide(std::uint32_t n) const noexcept {
    return (static_cast<std::uint32_t>((std::uint64_t{n} * magic) >> 32) + n) >> shift;
  }
};

/// How elements lie, in the kernels of bits and of conversions.
enum class Access : std::uint8_t {
  kWhole,  // on multiples of their size
  kLoose,  // on bytes
  kBits,   // inside of bytes that they share with others
};

/// One axis of units; distances as the kernel counts them.
struct Axis {
  Divisor extent;
  std::uint32_t unused = 0;
  std::int64_t dst = 0;
  std::int64_t src = 0;
};

/// What the tiles of a transpose need beside their axes. Rows are gapless runs of units in src,
/// columns in dst. Both may be two axes in one, of which the second continues the first where it is
/// gapless: row `i` begins `i % row_part * src_pitch + i / row_part * src_leap` bytes into src.
struct Plane {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  Divisor row_tiles;
  Divisor column_tiles;
  Divisor row_part;
  Divisor column_part;
  std::int64_t src_pitch = 0;  // bytes
  std::int64_t src_leap = 0;
  std::int64_t dst_pitch = 0;
  std::int64_t dst_leap = 0;
};

/// The only parameter of every kernel, by value. Axes go from the slowest to the fastest; there is
/// at least one. Distances are bytes, in the kernels of bits and of conversions bits.
struct Params {
  std::uint64_t dst = 0;  // address of unit (0,...,0); must stay the first two fields
  std::uint64_t src = 0;
  std::uint32_t count = 0;  // units; blocks where there are tiles
  std::int32_t axes = 1;
  std::uint8_t dst_bit = 0;  // where in its byte the first unit begins
  std::uint8_t src_bit = 0;
  std::uint8_t dst_type = 0;  // rows of kScalars
  std::uint8_t src_type = 0;
  Access dst_access = Access::kWhole;
  Access src_access = Access::kWhole;
  std::uint16_t unused = 0;
  std::uint32_t dst_width = 0;  // bits of an element that are written
  std::uint32_t src_width = 0;  // bits of an element that are read
  std::uint64_t value[2] = {};  // what a fill fills with, the first byte lowest
  Plane plane;
  Axis axis[kMaxAxes];
};

static_assert(std::is_trivially_copyable_v<Params> && std::is_standard_layout_v<Params>);
static_assert(offsetof(Params, dst) == 0 && offsetof(Params, src) == 8);
static_assert(sizeof(Axis) == 32 && sizeof(Params) == 656);

/// Distances of one unit from unit (0,...,0).
struct Place {
  std::int64_t dst = 0;
  std::int64_t src = 0;
};

inline Place place_of(const Params& params, std::uint32_t index) noexcept {
  Place out;
  for (int a = params.axes - 1; a > 0; --a) {
    const Axis& axis = params.axis[a];
    const std::uint32_t next = axis.extent.divide(index);
    const std::uint32_t here = index - next * axis.extent.value;
    out.dst += here * axis.dst;
    out.src += here * axis.src;
    index = next;
  }
  out.dst += index * params.axis[0].dst;
  out.src += index * params.axis[0].src;
  return out;
}

}  // namespace refarray::runtime::kernels
