// Transpose kernel for tiles that fit the L1 cache: transposes blocks in registers and stores whole
// vectors of columns.
#pragma once

#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

/// A block of kRows x kColumns words. Each vector holds pieces of 16 bytes (or less, if the vector
/// is shorter) of several rows, kColumns rows apart. Shuffles then move words only within 16-byte
/// lanes, the fastest shuffles of every instruction set, and give whole vectors of columns.
template <int kWordSize, int kBytes>
struct Block {
  using V = Vector<kWordSize, kBytes>;
  static constexpr int kPiece = kBytes < 16 ? kBytes : 16;
  static constexpr int kColumns = kPiece / kWordSize;
  static constexpr int kRows = kBytes / kWordSize;

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
  [[gnu::always_inline]] static inline Vector<kWordSize, kWide> read(const std::byte* src,
                                                                     std::int64_t pitch) noexcept {
    if constexpr (kWide == kPiece) {
      return load<Vector<kWordSize, kWide>>(src);
    } else {
      constexpr int kBelow = kWide / 2 / kPiece * kColumns;
#if defined(__AVX2__)
      // g++ would load the upper half into a register, and insert it by another shuffle.
      if constexpr (kWide == 32) {
        const auto* const upper = reinterpret_cast<const __m128i*>(src + kBelow * pitch);
        const auto lower = (__m128i)read<16>(src, pitch);
        return (Vector<kWordSize, 32>)_mm256_inserti128_si256(_mm256_castsi128_si256(lower),
                                                              _mm_loadu_si128(upper), 1);
      }
#endif
      return join<kWordSize, kWide>(read<kWide / 2>(src, pitch),
                                    read<kWide / 2>(src + kBelow * pitch, pitch));
    }
  }

  /// The columns of the block at `src`.
  [[gnu::always_inline]] static inline void read_columns(V (&rows)[kColumns], const std::byte* src,
                                                         std::int64_t pitch) noexcept {
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) rows[i] = read<kBytes>(src + i * pitch, pitch);
    transpose_pieces(rows);
  }

  /// Word j of each piece of vector i becomes word i of that piece of vector j.
  [[gnu::always_inline]] static inline void transpose_pieces(V (&rows)[kColumns]) noexcept {
#pragma GCC unroll 4
    for (int width = 1; width < kColumns; width *= 2) {  // a perfect shuffle of all words
      V next[kColumns];
#pragma GCC unroll 8
      for (int i = 0; i < kColumns / 2; ++i) {
        next[2 * i] = shuffle<kWordSize, kBytes, Low>(rows[i], rows[i + kColumns / 2]);
        next[2 * i + 1] = shuffle<kWordSize, kBytes, High>(rows[i], rows[i + kColumns / 2]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kColumns; ++i) rows[i] = next[i];
    }
  }

  template <bool kStreams>
  [[gnu::always_inline]] static inline void run(std::byte* dst, const std::int64_t* dst_offsets,
                                                const std::byte* src, std::int64_t pitch) noexcept {
    V rows[kColumns];
    read_columns(rows, src, pitch);
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) write<kStreams>(dst + dst_offsets[i], rows[i]);
  }
};

template <int kWordSize, int kBytes>
void transpose_blocks(const Tile& tile) noexcept {
  using B = Block<kWordSize, kBytes>;
  const bool streams = tile.streams && kBytes >= 16;
  for (std::int64_t at = 0; at < tile.columns; at += B::kColumns) {
    const std::int64_t j = min(at, tile.columns - B::kColumns);  // the last one overlaps
    const std::int64_t* const offsets = tile.dst_offsets + j;
    const std::byte* const src = tile.src + j * kWordSize;
    std::int64_t i = 0;
    if (streams) {
      for (; i + B::kRows <= tile.rows; i += B::kRows)
        B::template run<true>(tile.dst + i * kWordSize, offsets, src + i * tile.src_pitch,
                              tile.src_pitch);
    }
    for (; i + B::kRows <= tile.rows; i += B::kRows)
      B::template run<false>(tile.dst + i * kWordSize, offsets, src + i * tile.src_pitch,
                             tile.src_pitch);
    if (i == tile.rows) continue;
    i = tile.rows - B::kRows;
    B::template run<false>(tile.dst + i * kWordSize, offsets, src + i * tile.src_pitch,
                           tile.src_pitch);
  }
}

template <int kWordSize>
void transpose_words(const Tile& tile) noexcept {
  using T = typename WordOf<kWordSize>::type;
  for (std::int64_t j = 0; j < tile.columns; ++j) {
    const std::byte* src = tile.src + j * kWordSize;
    std::byte* dst = tile.dst + tile.dst_offsets[j];
    for (std::int64_t i = 0; i < tile.rows; ++i, src += tile.src_pitch, dst += kWordSize)
      store(dst, load<T>(src));
  }
}

/// Uses the largest block that fits the tile.
template <int kWordSize>
void transpose(const Tile& tile) noexcept {
  if constexpr (!kPlain) {
    const std::int64_t row_bytes = tile.columns * kWordSize;
    const std::int64_t column_bytes = tile.rows * kWordSize;
    if (row_bytes >= 16 && column_bytes >= kWidth) return transpose_blocks<kWordSize, kWidth>(tile);
    if (row_bytes >= 16 && column_bytes >= 32 && kWidth > 32)
      return transpose_blocks<kWordSize, 32>(tile);
    if (row_bytes >= 16 && column_bytes >= 16) return transpose_blocks<kWordSize, 16>(tile);
    const std::int64_t shorter = min(row_bytes, column_bytes);
    if constexpr (kWordSize <= 4) {
      if (shorter >= 8) return transpose_blocks<kWordSize, 8>(tile);
    }
    if constexpr (kWordSize <= 2) {
      if (shorter >= 4) return transpose_blocks<kWordSize, 4>(tile);
    }
  }
  transpose_words<kWordSize>(tile);
}

}  // namespace
}  // namespace refarray::core::kernels
