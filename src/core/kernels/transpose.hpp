// Owns the kernel for transposes that fit the nearest cache: whole vectors of columns, made in
// registers from 16 bytes of each row.
#pragma once

#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

/// kRows x kColumns units. A vector holds one piece of 16 bytes (fewer in vectors shorter than
/// that) of several rows, kColumns rows apart; units then change places within the pieces alone,
/// which is what every instruction set does best, and come out as whole vectors of columns.
template <int kUnit, int kBytes>
struct Block {
  using V = Vector<kUnit, kBytes>;
  static constexpr int kPiece = kBytes < 16 ? kBytes : 16;
  static constexpr int kColumns = kPiece / kUnit;
  static constexpr int kRows = kBytes / kUnit;

  struct Low {
    static constexpr int at(int i) {
      const int piece = i / kColumns * kColumns;
      return piece + i % kColumns / 2 + i % 2 * kRows;
    }
  };
  struct High {
    static constexpr int at(int i) { return Low::at(i) + kColumns / 2; }
  };

  /// Row `row`, and those kColumns, 2 * kColumns ... below it.
  template <int kWide>
  [[gnu::always_inline]] static inline Vector<kUnit, kWide> read(const std::byte* src,
                                                                 std::int64_t pitch) noexcept {
    if constexpr (kWide == kPiece) {
      return load<Vector<kUnit, kWide>>(src);
    } else {
      constexpr int kBelow = kWide / 2 / kPiece * kColumns;
      return join<kUnit, kWide>(read<kWide / 2>(src, pitch),
                                read<kWide / 2>(src + kBelow * pitch, pitch));
    }
  }

  template <bool kStreams>
  [[gnu::always_inline]] static inline void run(std::byte* dst, const std::int64_t* dst_offsets,
                                                const std::byte* src, std::int64_t pitch) noexcept {
    V rows[kColumns];
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) rows[i] = read<kBytes>(src + i * pitch, pitch);
#pragma GCC unroll 4
    for (int width = 1; width < kColumns; width *= 2) {  // a perfect shuffle of all units
      V next[kColumns];
#pragma GCC unroll 8
      for (int i = 0; i < kColumns / 2; ++i) {
        next[2 * i] = shuffle<kUnit, kBytes, Low>(rows[i], rows[i + kColumns / 2]);
        next[2 * i + 1] = shuffle<kUnit, kBytes, High>(rows[i], rows[i + kColumns / 2]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kColumns; ++i) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) put<kStreams>(dst + dst_offsets[i], rows[i]);
  }
};

template <int kUnit, int kBytes>
void transpose_blocks(const Tile& tile) noexcept {
  using B = Block<kUnit, kBytes>;
  const bool streams = tile.streams && kBytes >= 16;
  for (std::int64_t at = 0; at < tile.columns; at += B::kColumns) {
    const std::int64_t j = least(at, tile.columns - B::kColumns);  // the last one overlaps
    const std::int64_t* const offsets = tile.dst_offsets + j;
    const std::byte* const src = tile.src + j * kUnit;
    std::int64_t i = 0;
    if (streams) {
      for (; i + B::kRows <= tile.rows; i += B::kRows)
        B::template run<true>(tile.dst + i * kUnit, offsets, src + i * tile.src_pitch,
                              tile.src_pitch);
    }
    for (; i + B::kRows <= tile.rows; i += B::kRows)
      B::template run<false>(tile.dst + i * kUnit, offsets, src + i * tile.src_pitch,
                             tile.src_pitch);
    if (i == tile.rows) continue;
    i = tile.rows - B::kRows;
    B::template run<false>(tile.dst + i * kUnit, offsets, src + i * tile.src_pitch, tile.src_pitch);
  }
}

template <int kUnit>
void transpose_units(const Tile& tile) noexcept {
  using T = typename UnitOf<kUnit>::type;
  for (std::int64_t j = 0; j < tile.columns; ++j) {
    const std::byte* src = tile.src + j * kUnit;
    std::byte* dst = tile.dst + tile.dst_offsets[j];
    for (std::int64_t i = 0; i < tile.rows; ++i, src += tile.src_pitch, dst += kUnit)
      store(dst, load<T>(src));
  }
}

/// With the widest blocks that fit both ways.
template <int kUnit>
void transpose(const Tile& tile) noexcept {
  if constexpr (!kPlain) {
    const std::int64_t row_bytes = tile.columns * kUnit;
    const std::int64_t column_bytes = tile.rows * kUnit;
    if (row_bytes >= 16 && column_bytes >= kWidth) return transpose_blocks<kUnit, kWidth>(tile);
    if (row_bytes >= 16 && column_bytes >= 32 && kWidth > 32)
      return transpose_blocks<kUnit, 32>(tile);
    if (row_bytes >= 16 && column_bytes >= 16) return transpose_blocks<kUnit, 16>(tile);
    const std::int64_t shorter = least(row_bytes, column_bytes);
    if constexpr (kUnit <= 4) {
      if (shorter >= 8) return transpose_blocks<kUnit, 8>(tile);
    }
    if constexpr (kUnit <= 2) {
      if (shorter >= 4) return transpose_blocks<kUnit, 4>(tile);
    }
  }
  transpose_units<kUnit>(tile);
}

}  // namespace
}  // namespace refarray::core::kernels
