// Blocked transpose: load a tile along src's rows, transpose in shared memory, store along dst's
// columns.
#pragma once

#include <cstdint>

#include "runtime/kernels/device_words.hpp"
#include "runtime/kernels/memory.hpp"
#include "runtime/kernels/params.hpp"

namespace refarray::runtime::kernels {

/// Transposes elements of kBytes that are contiguous along j in src and along i in dst (see Plane).
///
/// Global memory is accessed by aligned words of at least 4 bytes, even for elements of 1 or 2
/// bytes at any address. A thread takes a block of kPerWord rows and columns, a word of each row,
/// and transposes it into a word of each column. Where a row starts inside a word, each word of the
/// block is cut out of two of src. Where a column of dst does, the tile stores its words up to the
/// last one that starts in it, and the first one's elements of the tile above: rows above the tile
/// are loaded too.
template <int kBytes>
struct Tiled {
  using Of = Words<kBytes>;
  using Word = typename Of::Word;
  static constexpr std::uint32_t kPerWord = Of::kPerWord;
  static constexpr std::uint32_t kRows = tile_shape(kBytes).rows;
  static constexpr std::uint32_t kColumns = tile_shape(kBytes).columns;
  static constexpr std::uint32_t kAcross = kColumns / kPerWord;  // words
  static constexpr std::uint32_t kDown = kRows / kPerWord;
  static constexpr std::uint32_t kAlign = 32;  // memory is read and written by such sectors
  static constexpr std::uint32_t kAbove = kAlign / sizeof(Word);  // words above the tile
  // words; odd, so that the lanes of a row hit 32 different banks
  static constexpr std::uint32_t kPitch = (kAbove + kDown) | 1;
  static constexpr std::uint32_t kLanes = 32;  // threads per column
  static constexpr std::uint32_t kGroups = kBlock / kLanes;

  struct Shared {
    Word words[kColumns * kPitch];
  };
  static constexpr int kPhases = 2;

  /// A block's part of the plane.
  struct Tile {
    std::uint64_t dst;  // of element (0, 0) of the plane
    std::uint64_t src;
    std::uint32_t row;     // i of the tile's first element
    std::uint32_t column;  // j of the tile's first element
    bool shifts;           // some column of dst does not start at a multiple of kAlign
  };

  static Tile tile_of(const Params& params, std::uint32_t block) noexcept {
    const Plane& plane = params.plane;
    const std::uint32_t row_band = plane.column_tiles.divide(block);
    const std::uint32_t column_tile = block - row_band * plane.column_tiles.value;
    const std::uint32_t index = plane.row_tiles.divide(row_band);
    const std::uint32_t row_tile = row_band - index * plane.row_tiles.value;
    const Offsets offsets = offsets_of(params, index);
    Tile tile{params.dst + static_cast<std::uint64_t>(offsets.dst),
              params.src + static_cast<std::uint64_t>(offsets.src), row_tile * kRows,
              column_tile * kColumns, false};
    tile.shifts =
        (tile.dst | static_cast<std::uint64_t>(plane.dst_pitch | plane.dst_leap)) % kAlign != 0;
    return tile;
  }

  /// The place of a column in shared memory. First come all columns that are first in a word of
  /// src, then the second ones, … so that the lanes that store a word hit 32 different banks.
  static std::uint32_t slot_of(std::uint32_t column) noexcept {
    return (column % kPerWord * kAcross + column / kPerWord) * kPitch;
  }

  /// The rows of a tile: all in the plane and aligned to words; all in the plane, with elements
  /// before and behind; or any.
  enum class From { kAligned, kInside, kAny };

  static From from(const Params& params, const Tile& tile) noexcept {
    const Plane& plane = params.plane;
    if (plane.row_part.value < plane.rows || tile.row + kRows > plane.rows ||
        tile.column + kColumns > plane.columns)
      return From::kAny;
    if ((tile.src | static_cast<std::uint64_t>(plane.src_pitch)) % sizeof(Word) == 0)
      return From::kAligned;
    const bool is_inside = tile.column > 0 && tile.column + kColumns + kPerWord <= plane.columns;
    return is_inside ? From::kInside : From::kAny;
  }

  /// Elements of row `row` from `column` on; zeros outside of the plane.
  template <From kFrom>
  static Word load_word(const Params& params, const Tile& tile, std::uint32_t row,
                        std::uint32_t column) noexcept {
    const Plane& plane = params.plane;
    if (kFrom == From::kAny && (row >= plane.rows || column >= plane.columns)) return 0;
    const std::uint64_t address =
        tile.src + std::uint64_t{column} * kBytes +
        distance<kFrom == From::kAny>(plane.row_part, row, plane.src_pitch, plane.src_leap);
    if constexpr (kFrom == From::kAligned) return load<Word>(address);
    if constexpr (kFrom == From::kInside) return Of::load_cut(address);
    if (column + kPerWord <= plane.columns && address % sizeof(Word) == 0)
      return load<Word>(address);
    if (column >= kPerWord && column + 2 * kPerWord <= plane.columns) return Of::load_cut(address);
    return Of::load_part(address, plane.columns - column);
  }

  template <From kFrom>
  static void load_rows(const Params& params, const Tile& tile, std::uint32_t thread,
                        Shared& shared) noexcept {
    constexpr std::uint32_t kAtOnce = (kBytes == 4 ? 4 : 8) / kPerWord;  // blocks; as measured
    constexpr std::uint32_t kAll = (kAbove + kDown) * kAcross;
    const std::uint32_t begin = tile.shifts && tile.row > 0 ? 0 : kAbove * kAcross;
    for (std::uint32_t block = begin + thread; block < kAll; block += kAtOnce * kBlock) {
      Word words[kAtOnce][kPerWord] = {};
      const auto each = [&](auto body) {
#if defined(__clang__)
#pragma clang loop unroll(full)
#endif
        for (std::uint32_t turn = 0; turn < kAtOnce; ++turn) {
          const std::uint32_t here = block + turn * kBlock;
          if (here < kAll) body(words[turn], here % kAcross * kPerWord, here / kAcross);
        }
      };
      each([&](Word* loaded, std::uint32_t column, std::uint32_t down) {
        for (std::uint32_t i = 0; i < kPerWord; ++i)
          loaded[i] = load_word<kFrom>(params, tile, tile.row + (down - kAbove) * kPerWord + i,
                                       tile.column + column);
      });
      each([&](Word* loaded, std::uint32_t column, std::uint32_t down) {
        Of::transpose(loaded);
        for (std::uint32_t j = 0; j < kPerWord; ++j)
          shared.words[slot_of(column + j) + down] = loaded[j];
      });
    }
  }

  /// kWhole: every column of the tile consists of kDown words.
  template <bool kWhole>
  static void store_columns(const Params& params, const Tile& tile, std::uint32_t thread,
                            const Shared& shared) noexcept {
    const Plane& plane = params.plane;
    const std::uint32_t lane = thread % kLanes;
    const std::uint32_t rest = plane.columns - tile.column;
    const std::uint32_t columns = rest < kColumns ? rest : kColumns;
    constexpr std::uint32_t kLead = kAbove * kPerWord;  // elements
#if defined(__clang__)
#pragma clang loop unroll_count(4)
#endif
    for (std::uint32_t column = thread / kLanes; column < columns; column += kGroups) {
      const std::uint64_t top = tile.dst + std::uint64_t{tile.row} * kBytes +
                                distance<!kWhole>(plane.column_part, tile.column + column,
                                                  plane.dst_pitch, plane.dst_leap);
      const auto shift = static_cast<std::uint32_t>(top % kAlign) / kBytes;
      const Word* const words = shared.words + slot_of(column);
      if constexpr (kWhole) {
        const std::uint64_t begin = top - shift * kBytes;
        for (std::uint32_t word = lane; word < kDown; word += kLanes)
          store(begin + word * sizeof(Word), Of::word_at(words, kLead - shift + word * kPerWord));
        continue;
      }
      const bool is_last = tile.row + kRows >= plane.rows;
      const std::uint32_t begin = tile.row == 0 ? kLead : kLead - shift;
      const std::uint32_t end = kLead + (is_last ? plane.rows - tile.row : kRows - shift);
      const std::uint32_t skew = tile.row == 0 ? shift % kPerWord : 0;
      for (std::uint32_t first = begin - skew + lane * kPerWord; first < end;
           first += kLanes * kPerWord) {
        const auto from_top = std::int64_t{first} - std::int64_t{kLead};
        Of::store_part(top + static_cast<std::uint64_t>(from_top * kBytes), words,
                       static_cast<std::int32_t>(first), static_cast<std::int32_t>(begin),
                       static_cast<std::int32_t>(end));
      }
    }
  }

  static bool is_whole(const Params& params, const Tile& tile) noexcept {
    const Plane& plane = params.plane;
    if (plane.column_part.value < plane.columns) return false;
    const std::uint32_t end = tile.row + kRows;
    return tile.shifts ? tile.row > 0 && end < plane.rows : end <= plane.rows;
  }

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& shared) noexcept {
    const Tile tile = tile_of(params, block);
    if constexpr (kPhase == 0) {
      const From how = from(params, tile);
      if (how == From::kAligned)
        load_rows<From::kAligned>(params, tile, thread, shared);
      else if (how == From::kInside)
        load_rows<From::kInside>(params, tile, thread, shared);
      else
        load_rows<From::kAny>(params, tile, thread, shared);
    } else if (is_whole(params, tile)) {
      store_columns<true>(params, tile, thread, shared);
    } else {
      store_columns<false>(params, tile, thread, shared);
    }
  }
};

}  // namespace refarray::runtime::kernels
