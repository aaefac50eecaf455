// Blocked transpose: load a tile along src's rows, transpose in shared memory, store along dst's
// columns.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/memory.hpp"
#include "runtime/kernels/params.hpp"

namespace refarray::runtime::kernels {

/// Transposes elements of kBytes that are contiguous along j in src and along i in dst (see Plane).
///
/// Global memory is accessed by aligned words of at least 4 bytes, even for single bytes at odd
/// addresses. A tile row is therefore kept in shared memory as in its aligned words; its skew, the
/// number of elements before it in the first word, is added when it is read.
template <int kBytes>
struct Tiled {
  using Word = std::conditional_t<(kBytes > 4), std::uint64_t, std::uint32_t>;
  static constexpr std::uint32_t kLanes = 32;  // threads per row
  static constexpr std::uint32_t kGroups = kBlock / kLanes;
  static constexpr std::uint32_t kPerWord = sizeof(Word) / kBytes;
  // a row is 128 bytes of src, or 256 with 8-byte words
  static constexpr std::uint32_t kColumns = kLanes * kPerWord;
  static constexpr std::uint32_t kRows = 512 / sizeof(Word);
  static constexpr std::uint32_t kWordsDown = kRows / kPerWord;
  // words; odd, so that the lanes of a column hit 32 different banks
  static constexpr std::uint32_t kPitch = kLanes + 1;

  struct Shared {
    Word words[kRows * kPitch];
  };
  static constexpr int kPhases = 2;

  /// A block's part of the plane.
  struct Tile {
    std::uint64_t dst;  // of element (0, 0) of the plane
    std::uint64_t src;
    std::uint32_t row;     // i of the tile's first element
    std::uint32_t column;  // j of the tile's first element
    std::uint32_t rows;
    std::uint32_t columns;
  };

  static Tile tile_of(const Params& params, std::uint32_t block) noexcept {
    const Plane& plane = params.plane;
    const std::uint32_t row_band = plane.column_tiles.divide(block);
    const std::uint32_t column_tile = block - row_band * plane.column_tiles.value;
    const std::uint32_t index = plane.row_tiles.divide(row_band);
    const std::uint32_t row_tile = row_band - index * plane.row_tiles.value;
    const Offsets offsets = offsets_of(params, index);
    Tile tile{params.dst + static_cast<std::uint64_t>(offsets.dst),
              params.src + static_cast<std::uint64_t>(offsets.src),
              row_tile * kRows,
              column_tile * kColumns,
              0,
              0};
    tile.rows = plane.rows - tile.row < kRows ? plane.rows - tile.row : kRows;
    tile.columns = plane.columns - tile.column < kColumns ? plane.columns - tile.column : kColumns;
    return tile;
  }

  /// The shared-memory row of a tile row. Rows are ordered by their position in a word of dst:
  /// first all rows whose elements come first in a word, then the second ones, … so that lanes
  /// gathering words hit 32 different banks.
  static std::uint32_t slot_of(std::uint32_t row) noexcept {
    return row % kPerWord * kWordsDown + row / kPerWord;
  }

  static std::uint64_t distance(const Divisor& part, std::uint32_t index, std::int64_t pitch,
                                std::int64_t leap) noexcept {
    const std::uint32_t leaps = part.divide(index);
    const std::uint32_t steps = index - leaps * part.value;
    return static_cast<std::uint64_t>(steps * pitch + leaps * leap);
  }
  static std::uint64_t row_address(const Params& params, const Tile& tile,
                                   std::uint32_t row) noexcept {
    const Plane& plane = params.plane;
    return tile.src + distance(plane.row_part, tile.row + row, plane.src_pitch, plane.src_leap) +
           std::uint64_t{tile.column} * kBytes;
  }
  static std::uint64_t column_address(const Params& params, const Tile& tile,
                                      std::uint32_t column) noexcept {
    const Plane& plane = params.plane;
    return tile.dst + std::uint64_t{tile.row} * kBytes +
           distance(plane.column_part, tile.column + column, plane.dst_pitch, plane.dst_leap);
  }
  static std::uint32_t skew_of(std::uint64_t address) noexcept {
    return static_cast<std::uint32_t>(address % sizeof(Word)) / kBytes;
  }
  static Word shifted(CopyWord<kBytes> element, std::uint32_t position) noexcept {
    return static_cast<Word>(static_cast<Word>(element) << (position * kBytes * 8));
  }

  /// A word of which only elements [begin, end) belong to the row.
  static Word load_part(std::uint64_t address, std::uint32_t begin, std::uint32_t end) noexcept {
    Word word = 0;
    for (std::uint32_t element = 0; element < kPerWord; ++element) {
      if (element >= begin && element < end)
        word |= shifted(load<CopyWord<kBytes>>(address + element * kBytes), element);
    }
    return word;
  }

  /// Word `index` of a row, up to the row's end.
  static Word load_word(std::uint64_t begin, std::uint32_t skew, std::uint32_t columns,
                        std::uint32_t index) noexcept {
    const std::uint32_t first = index * kPerWord;  // relative to the first word, including the skew
    const std::uint64_t address = begin + first * kBytes;
    const std::uint32_t end = skew + columns;
    if (first >= end) return 0;
    if (first >= skew && first + kPerWord <= end) return load<Word>(address);
    return load_part(address, first < skew ? skew - first : 0, end - first);
  }

  static void load_rows(const Params& params, const Tile& tile, std::uint32_t thread,
                        Shared& shared) noexcept {
    const std::uint32_t lane = thread % kLanes;
    constexpr std::uint32_t kTurns = kRows / kGroups;
    Word words[kTurns] = {};
#if defined(__clang__)
#pragma clang loop unroll(full)
#endif
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
      const std::uint32_t row = thread / kLanes + turn * kGroups;
      if (row >= tile.rows) continue;
      const std::uint64_t address = row_address(params, tile, row);
      const std::uint32_t skew = skew_of(address);
      const std::uint64_t begin = address - skew * kBytes;
      words[turn] = load_word(begin, skew, tile.columns, lane);
      // The skew moves a row's end into one more word.
      if (skew > 0 && lane == 0) {
        shared.words[slot_of(row) * kPitch + kLanes] = load_word(begin, skew, tile.columns, kLanes);
      }
    }
#if defined(__clang__)
#pragma clang loop unroll(full)
#endif
    for (std::uint32_t turn = 0; turn < kTurns; ++turn)
      shared.words[slot_of(thread / kLanes + turn * kGroups) * kPitch + lane] = words[turn];
  }

  static CopyWord<kBytes> element_at(const Params& params, const Tile& tile, std::uint32_t row,
                                     std::uint32_t column, const Shared& shared) noexcept {
    std::uint32_t at = column;
    if constexpr (kPerWord > 1) at += skew_of(row_address(params, tile, row));
    const Word word = shared.words[slot_of(row) * kPitch + at / kPerWord];
    return static_cast<CopyWord<kBytes>>(word >> (at % kPerWord * kBytes * 8));
  }

  /// Stores the word of a dst column whose first element is row `first`, which may precede the
  /// tile.
  static void store_word(const Params& params, const Tile& tile, std::uint64_t address,
                         std::int32_t first, std::uint32_t column, const Shared& shared) noexcept {
    const auto rows = static_cast<std::int32_t>(tile.rows);
    constexpr auto kElements = static_cast<std::int32_t>(kPerWord);
    const bool is_whole = first >= 0 && first + kElements <= rows;
    Word word = 0;
    for (std::int32_t element = 0; element < kElements; ++element) {
      const std::int32_t row = first + element;
      if (row < 0 || row >= rows) continue;
      const CopyWord<kBytes> value =
          element_at(params, tile, static_cast<std::uint32_t>(row), column, shared);
      if (is_whole)
        word |= shifted(value, static_cast<std::uint32_t>(element));
      else
        store(address + static_cast<std::uint64_t>(element) * kBytes, value);
    }
    if (is_whole) store(address, word);
  }

  static void store_columns(const Params& params, const Tile& tile, std::uint32_t thread,
                            const Shared& shared) noexcept {
    const std::uint32_t lane = thread % kLanes;
    for (std::uint32_t column = thread / kLanes; column < tile.columns; column += kGroups) {
      const std::uint64_t address = column_address(params, tile, column);
      const std::uint32_t skew = skew_of(address);
      const std::uint64_t begin = address - skew * kBytes;
      for (std::uint32_t word = lane; word * kPerWord < tile.rows + skew; word += kLanes) {
        const auto first = static_cast<std::int32_t>(word * kPerWord - skew);
        store_word(params, tile, begin + word * sizeof(Word), first, column, shared);
      }
    }
  }

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& shared) noexcept {
    const Tile tile = tile_of(params, block);
    if constexpr (kPhase == 0)
      load_rows(params, tile, thread, shared);
    else
      store_columns(params, tile, thread, shared);
  }
};

}  // namespace refarray::runtime::kernels
