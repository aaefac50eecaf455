// Owns the kernel for rows of units at equal distances: fills, reversals, every second to fourth
// unit taken or written, and any other step one unit at a time.
#pragma once

#include "core/kernels/interleave.hpp"
#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

template <int kUnit>
inline void move_units(std::byte* dst, const std::byte* src, std::int64_t dst_step,
                       std::int64_t src_step, std::int64_t count) noexcept {
  using T = typename UnitOf<kUnit>::type;
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const T a = load<T>(src);
    const T b = load<T>(src + src_step);
    const T c = load<T>(src + 2 * src_step);
    const T d = load<T>(src + 3 * src_step);
    store(dst, a);
    store(dst + dst_step, b);
    store(dst + 2 * dst_step, c);
    store(dst + 3 * dst_step, d);
    src += 4 * src_step;
    dst += 4 * dst_step;
  }
  for (; i < count; ++i, src += src_step, dst += dst_step) store(dst, load<T>(src));
}

/// Stores a contiguous row of at least one vector: `result(i)` is the vector that begins with unit
/// i, `last()` the one that ends the row. `result(i)` may read beyond unit i + kCount - 1, so it is
/// called only where at least one more unit follows.
template <int kUnit, class Result, class Last>
[[gnu::always_inline]] inline void write_row(std::byte* dst, std::int64_t count, bool streams,
                                             Result result, Last last) noexcept {
  constexpr std::int64_t kCount = kWidth / kUnit;
  std::int64_t at = 0;
  const std::int64_t head = to_line(dst);
  if (streams && head % kUnit == 0 && count > 4 * kCount) {
    // Ordinary stores up to the first cache line: up to four vectors where a vector is shorter than
    // a line. The last of them overlaps that line.
    for (; at * kUnit < head; at += kCount) store(dst + at * kUnit, result(at));
    for (at = head / kUnit; at + kCount < count; at += kCount) stream(dst + at * kUnit, result(at));
  }
#pragma GCC unroll 4
  for (; at + kCount < count; at += kCount) store(dst + at * kUnit, result(at));
  store(dst + (count - kCount) * kUnit, last());
}

template <int kUnit>
struct Backwards {
  static constexpr int at(int i) { return kWidth / kUnit - 1 - i; }
};

template <int kUnit>
inline void reverse_row(std::byte* dst, const std::byte* src, std::int64_t count,
                        bool streams) noexcept {
  using V = Vector<kUnit, kWidth>;
  constexpr std::int64_t kCount = kWidth / kUnit;
  const auto result = [src](std::int64_t at) {
    const V in = load<V>(src - (at + kCount - 1) * kUnit);
    return shuffle<kUnit, kWidth, Backwards<kUnit>>(in, in);
  };
  write_row<kUnit>(dst, count, streams, result, [&] { return result(count - kCount); });
}

/// Every kParts-th unit. A block reads kParts - 1 units beyond the last it needs, save the last
/// block, which reads as many before the first.
template <int kUnit, int kParts>
inline void pick_row(std::byte* dst, const std::byte* src, std::int64_t count,
                     bool streams) noexcept {
  using V = Vector<kUnit, kWidth>;
  constexpr std::int64_t kCount = kWidth / kUnit;
  const auto read = [](const std::byte* from, V* in) {
    for (int part = 0; part < kParts; ++part) in[part] = load<V>(from + part * kWidth);
  };
  const auto result = [&](std::int64_t at) {
    V in[kParts];
    read(src + at * kUnit * kParts, in);
    return Picked<kUnit, kWidth, kParts, 0>::of(in);
  };
  const auto last = [&] {
    V in[kParts];
    read(src + ((count - kCount) * kParts - (kParts - 1)) * kUnit, in);
    return Picked<kUnit, kWidth, kParts, kParts - 1>::of(in);
  };
  write_row<kUnit>(dst, count, streams, result, last);
}

template <int kUnit>
inline void fill_row(std::byte* dst, const std::byte* src, std::int64_t count,
                     bool streams) noexcept {
  using V = Vector<kUnit, kWidth>;
  std::byte bytes[kWidth];
  for (int i = 0; i < kWidth; i += kUnit) __builtin_memcpy(bytes + i, src, kUnit);
  const V value = load<V>(bytes);
  write_row<kUnit>(
      dst, count, streams, [value](std::int64_t) { return value; }, [value] { return value; });
}

#if defined(__AVX512VBMI__)
template <int kUnit>
[[gnu::always_inline]] inline void store_masked(std::byte* dst, std::uint64_t units,
                                                Vector<kUnit, 64> value) noexcept {
  const auto bits = __builtin_bit_cast(__m512i, value);
  if constexpr (kUnit == 1) _mm512_mask_storeu_epi8(dst, units, bits);
  if constexpr (kUnit == 2) _mm512_mask_storeu_epi16(dst, static_cast<__mmask32>(units), bits);
  if constexpr (kUnit == 4) _mm512_mask_storeu_epi32(dst, static_cast<__mmask16>(units), bits);
  if constexpr (kUnit == 8) _mm512_mask_storeu_epi64(dst, static_cast<__mmask8>(units), bits);
}

/// Into every second unit. What lies between belongs to somebody else and is not written, not even
/// with the value it has.
template <int kUnit>
inline void spread_row(std::byte* dst, const std::byte* src, std::int64_t count) noexcept {
  using V = Vector<kUnit, 64>;
  constexpr std::int64_t kCount = 64 / kUnit;
  constexpr std::uint64_t kEven = 0x5555'5555'5555'5555U;
  std::int64_t at = 0;
  for (; at + kCount <= count; at += kCount) {
    const V value = load<V>(src + at * kUnit);
    const V twice[2] = {value, value};
    std::byte* const to = dst + 2 * at * kUnit;
    store_masked<kUnit>(to, kEven, Mixed<kUnit, 64, 2, 0>::of(twice));
    store_masked<kUnit>(to + 64, kEven, Mixed<kUnit, 64, 2, 1>::of(twice));
  }
  move_units<kUnit>(dst + 2 * at * kUnit, src + at * kUnit, 2 * kUnit, kUnit, count - at);
}
#endif

/// `row(dst, src)` for every row.
template <class Row>
[[gnu::always_inline]] inline void each_row(const Plane& plane, Row row) noexcept {
  for (std::int64_t i = 0; i < plane.rows; ++i)
    row(plane.dst + i * plane.dst_pitch, plane.src + i * plane.src_pitch);
}

/// Whether a kernel of whole vectors took the plane.
template <int kUnit>
bool move_vectors(const Plane& plane) noexcept {
  const std::int64_t count = plane.count;
  const bool streams = plane.streams;
  if (count <= kWidth / kUnit) return false;
#if defined(__AVX512VBMI__)
  if (kUnit <= 8 && plane.src_step == kUnit && plane.dst_step == 2 * kUnit) {
    each_row(plane,
             [=](std::byte* dst, const std::byte* src) { spread_row<kUnit>(dst, src, count); });
    return true;
  }
#endif
  if (plane.dst_step != kUnit) return false;
  const auto run = [&plane, count, streams](auto row) {
    each_row(plane, [=](std::byte* dst, const std::byte* src) { row(dst, src, count, streams); });
    return true;
  };
  if (plane.src_step == 0) return run(&fill_row<kUnit>);
  if (plane.src_step == -kUnit) return run(&reverse_row<kUnit>);
  if (plane.src_step == 2 * kUnit) return run(&pick_row<kUnit, 2>);
  if (plane.src_step == 3 * kUnit) return run(&pick_row<kUnit, 3>);
  if (plane.src_step == 4 * kUnit) return run(&pick_row<kUnit, 4>);
  return false;
}

template <int kUnit>
void move_strided(const Plane& plane) noexcept {
  if constexpr (!kPlain) {
    if (move_vectors<kUnit>(plane)) return;
  }
  each_row(plane, [&plane](std::byte* dst, const std::byte* src) {
    move_units<kUnit>(dst, src, plane.dst_step, plane.src_step, plane.count);
  });
}

}  // namespace
}  // namespace refarray::core::kernels
