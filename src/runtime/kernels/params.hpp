// Kernel parameters: one plain struct for all kernels; mapping an element's index to its offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace refarray::runtime::kernels {

/// Threads per block; grids and blocks are one-dimensional.
inline constexpr std::uint32_t kBlock = 256;
/// Elements per thread, except in tiled kernels.
inline constexpr std::uint32_t kPerThread = 4;
/// A copy with more axes is split into several launches.
inline constexpr int kMaxAxes = 16;
/// Element and block counts stay below this, so that 32-bit divisions suffice.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 31;

/// Divides n < 2^31 by a constant as (high half of n * magic, plus n) >> shift. A GPU has no
/// integer division instruction: dividing takes about thirty.
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

/// The alignment of elements, in the bit and conversion kernels.
enum class Access : std::uint8_t {
  kAligned,    // aligned to their size
  kUnaligned,  // at any byte
  kBits,       // packed: they share bytes
};

/// One axis; strides in the kernel's unit (see Params).
struct Axis {
  Divisor extent;
  std::uint32_t unused = 0;
  std::int64_t dst = 0;
  std::int64_t src = 0;
};

/// The plane of a tiled transpose, besides the other axes. Rows are contiguous in src, columns in
/// dst. Each dimension may join two axes, where the second continues the first in the other array:
/// row `i` starts `i % row_part * src_pitch + i / row_part * src_leap` bytes into src, column `j`
/// likewise in dst.
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

/// Where row or column `index` of a plane starts. Not kJoined: all are of one axis.
template <bool kJoined>
inline std::uint64_t distance(const Divisor& part, std::uint32_t index, std::int64_t pitch,
                              std::int64_t leap) noexcept {
  if constexpr (!kJoined) return static_cast<std::uint64_t>(index * pitch);
  const std::uint32_t leaps = part.divide(index);
  const std::uint32_t steps = index - leaps * part.value;
  return static_cast<std::uint64_t>(steps * pitch + leaps * leap);
}

/// Elements of a tile: 16 KiB, which several blocks of a multiprocessor have room for, at least
/// 128 bytes of every row and column.
struct TileShape {
  std::uint32_t rows;
  std::uint32_t columns;
};
constexpr TileShape tile_shape(std::int64_t word) noexcept {
  const std::uint32_t rows = word < 4 ? 128 : 64;
  return {rows, static_cast<std::uint32_t>(16384 / word) / rows};
}

/// The only parameter of every kernel, passed by value. An element is what a kernel processes at
/// once: a copy word, a piece of a row, or one packed or converted element. Axes run from slowest
/// to fastest; there is at least one. Strides are in bytes, in the bit and conversion kernels in
/// bits.
struct Params {
  // address of element (0,...,0); dst and src must stay the first two fields
  std::uint64_t dst = 0;
  std::uint64_t src = 0;
  std::uint32_t count = 0;  // elements; blocks in tiled kernels
  std::int32_t axes = 1;
  std::uint8_t dst_bit = 0;  // bit offset of the first element in its byte
  std::uint8_t src_bit = 0;
  std::uint8_t dst_type = 0;  // rows of core::Elements
  std::uint8_t src_type = 0;
  Access dst_access = Access::kAligned;
  Access src_access = Access::kAligned;
  std::uint16_t unused = 0;
  std::uint32_t dst_width = 0;  // bits written per element
  std::uint32_t src_width = 0;  // bits read per element
  std::uint64_t value[2] = {};  // fill value, the first byte lowest
  Plane plane;
  Axis axis[kMaxAxes];
};

static_assert(std::is_trivially_copyable_v<Params> && std::is_standard_layout_v<Params>);
static_assert(offsetof(Params, dst) == 0 && offsetof(Params, src) == 8);
static_assert(sizeof(Axis) == 32 && sizeof(Params) == 656);

/// Offsets of an element from element (0,...,0).
struct Offsets {
  std::int64_t dst = 0;
  std::int64_t src = 0;
};

inline Offsets offsets_of(const Params& params, std::uint32_t index) noexcept {
  Offsets out;
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
