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
/// Global memory is accessed by aligned pieces of 16 bytes, even for elements of 1 or 2 bytes at
/// any address. A thread takes a piece of each of kPerWord rows, and transposes blocks of kPerWord
/// rows and columns of it into a word of each column. Where a row starts inside a piece, each one
/// is cut out of the words around it; at the plane's edges elements are loaded one by one. Where a
/// column of dst starts inside a sector, the tile stores its sectors up to the last one that starts
/// in it, and the first one's elements of the tile above: rows above the tile are loaded too.
template <int kBytes>
struct Tiled {
  using Of = Words<kBytes>;
  using Word = typename Of::Word;
  static constexpr std::uint32_t kPerWord = Of::kPerWord;
  static constexpr std::uint32_t kPerPiece = Of::kPerPiece;
  static constexpr std::uint32_t kWords = Of::kWords;
  static constexpr std::uint32_t kRows = tile_shape(kBytes).rows;
  static constexpr std::uint32_t kColumns = tile_shape(kBytes).columns;
  static constexpr std::uint32_t kAcross = kColumns / kPerWord;  // words
  static constexpr std::uint32_t kPieces = kColumns / kPerPiece;
  static constexpr std::uint32_t kDown = kRows / kPerWord;
  static constexpr std::uint32_t kAlign = 32;  // the size of a sector: memory is accessed by them
  static constexpr std::uint32_t kAbove = kAlign / sizeof(Word);  // words above the tile
  static constexpr std::uint32_t kLead = kAbove * kPerWord;       // elements above the tile
  // words; odd, so that the lanes of a row hit 32 different banks
  static constexpr std::uint32_t kPitch = (kAbove + kDown) | 1;

  struct Shared {
    Word words[kColumns * kPitch];
  };
  static constexpr int kPhases = 2;

  /// A block's part of the plane. Rows are counted by blocks of kPerWord, kAbove of them above.
  struct Tile {
    std::uint64_t dst;  // of element (0, 0) of the plane
    std::uint64_t src;
    std::uint32_t row;     // i of the tile's first element
    std::uint32_t column;  // j of the tile's first element
    std::uint32_t begin;   // the first block of rows to load
    std::uint32_t end;
    bool is_last;  // in its columns
    bool shifts;   // some column of dst does not start at a multiple of kAlign
  };

  /// Neighbouring blocks continue each other's columns: what is stored about the same time is
  /// contiguous in dst.
  static Tile tile_of(const Params& params, std::uint32_t block) noexcept {
    const Plane& plane = params.plane;
    const std::uint32_t column_band = plane.row_tiles.divide(block);
    const std::uint32_t row_tile = block - column_band * plane.row_tiles.value;
    const std::uint32_t index = plane.column_tiles.divide(column_band);
    const std::uint32_t column_tile = column_band - index * plane.column_tiles.value;
    const Offsets offsets = offsets_of(params, index);
    Tile tile{params.dst + static_cast<std::uint64_t>(offsets.dst),
              params.src + static_cast<std::uint64_t>(offsets.src),
              row_tile * kRows,
              column_tile * kColumns,
              0,
              0,
              row_tile + 1 == plane.row_tiles.value,
              false};
    tile.shifts =
        (tile.dst | static_cast<std::uint64_t>(plane.dst_pitch | plane.dst_leap)) % kAlign != 0;
    const std::uint32_t rows = tile.is_last ? plane.rows - tile.row : kRows;
    tile.begin = tile.shifts && tile.row > 0 ? 0 : kAbove;
    tile.end = kAbove + (rows + kPerWord - 1) / kPerWord;
    return tile;
  }

  /// Has the common alignment of where rows start.
  static std::uint64_t starts_of_rows(const Plane& plane, const Tile& tile) noexcept {
    return tile.src | static_cast<std::uint64_t>(plane.src_pitch | plane.src_leap);
  }

  /// The pieces of the tile's rows that start in the plane: of those in [begin, end), all words
  /// around them contain elements of their row.
  struct Pieces {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t count;
  };

  static Pieces pieces_of(const Plane& plane, const Tile& tile) noexcept {
    const std::uint32_t rest = plane.columns - tile.column;
    const std::uint32_t count = rest < kColumns ? (rest + kPerPiece - 1) / kPerPiece : kPieces;
    const bool is_cut = starts_of_rows(plane, tile) % sizeof(Word) != 0;
    const std::uint32_t margin = is_cut ? kPerWord : 0;
    const std::uint32_t inside = rest < margin ? 0 : (rest - margin) / kPerPiece;
    return {is_cut && tile.column == 0 ? 1U : 0U, inside < kPieces ? inside : kPieces, count};
  }

  /// Where the tile's part of a row starts; below the plane, of its last row.
  template <bool kJoined>
  static std::uint64_t row_of(const Params& params, const Tile& tile, std::uint32_t down,
                              std::uint32_t i) noexcept {
    const Plane& plane = params.plane;
    const std::uint32_t any = tile.row + (down - kAbove) * kPerWord + i;
    const std::uint32_t row = any < plane.rows ? any : plane.rows - 1;
    return tile.src + std::uint64_t{tile.column} * kBytes +
           distance<kJoined>(plane.row_part, row, plane.src_pitch, plane.src_leap);
  }

  /// The place of a column in shared memory. First come all columns that are first in a word of
  /// src, then the second ones, … so that lanes with neighbouring words hit different banks.
  static std::uint32_t slot_of(std::uint32_t column) noexcept {
    return column % kPerWord * kAcross + column / kPerWord;
  }
  static std::uint32_t column_in(std::uint32_t slot) noexcept {
    return slot % kAcross * kPerWord + slot / kAcross;
  }

  /// `rows`: a word of each row of a block.
  static void put(Shared& shared, std::uint32_t column, std::uint32_t down, Word* rows) noexcept {
    Of::transpose(rows);
    for (std::uint32_t j = 0; j < kPerWord; ++j)
      shared.words[slot_of(column + j) * kPitch + down] = rows[j];
  }

  /// Loads the pieces in [begin, end): several of a thread at once, before it uses the first.
  template <bool kIsAligned, bool kJoined>
  static void load_pieces(const Params& params, const Tile& tile, const Pieces& pieces,
                          std::uint32_t thread, Shared& shared) noexcept {
    constexpr std::uint32_t kAtOnce = 6 / kPerWord;  // blocks; as measured
    for (std::uint32_t first = tile.begin * kPieces + thread; first < tile.end * kPieces;
         first += kAtOnce * kBlock) {
      Word words[kAtOnce][kPerWord][kWords + 1] = {};
      const auto each = [&](auto body) {
#if defined(__clang__)
#pragma clang loop unroll(full)
#endif
        for (std::uint32_t turn = 0; turn < kAtOnce; ++turn) {
          const std::uint32_t down = (first + turn * kBlock) / kPieces;
          const std::uint32_t piece = (first + turn * kBlock) % kPieces;
          if (down < tile.end && piece >= pieces.begin && piece < pieces.end)
            body(words[turn], down, piece * kPerPiece);
        }
      };
      each([&](auto& loaded, std::uint32_t down, std::uint32_t column) {
        for (std::uint32_t i = 0; i < kPerWord; ++i) {
          const std::uint64_t address = row_of<kJoined>(params, tile, down, i) + column * kBytes;
          if constexpr (kIsAligned)
            Of::load_piece(address, loaded[i]);
          else
            Of::load_around(address, loaded[i]);
        }
      });
      each([&](auto& loaded, std::uint32_t down, std::uint32_t column) {
        for (std::uint32_t i = 0; i < kPerWord && !kIsAligned; ++i)
          Of::cut_piece(row_of<kJoined>(params, tile, down, i), loaded[i]);
        for (std::uint32_t word = 0; word < kWords; ++word) {
          Word rows[kPerWord];
          for (std::uint32_t i = 0; i < kPerWord; ++i) rows[i] = loaded[i][word];
          put(shared, column + word * kPerWord, down, rows);
        }
      });
    }
  }

  /// Loads the other pieces element by element.
  static void load_edges(const Params& params, const Tile& tile, const Pieces& pieces,
                         std::uint32_t thread, Shared& shared) noexcept {
    const std::uint32_t columns = params.plane.columns - tile.column;
    for (std::uint32_t piece = 0; piece < pieces.count; ++piece) {
      if (piece >= pieces.begin && piece < pieces.end) continue;
      for (std::uint32_t word = tile.begin * kWords + thread; word < tile.end * kWords;
           word += kBlock) {
        const std::uint32_t down = word / kWords;
        const std::uint32_t column = piece * kPerPiece + word % kWords * kPerWord;
        if (column >= columns) continue;
        Word rows[kPerWord];
        for (std::uint32_t i = 0; i < kPerWord; ++i)
          rows[i] = Of::load_part(row_of<true>(params, tile, down, i) + column * kBytes,
                                  columns - column);
        put(shared, column, down, rows);
      }
    }
  }

  static void store_columns(const Params& params, const Tile& tile, std::uint32_t thread,
                            const Shared& shared) noexcept {
    const Plane& plane = params.plane;
    constexpr std::uint32_t kNear = 8;  // pieces of a column that neighbouring threads store
    static_assert(kRows / kPerPiece % kNear == 0);
    // the last tile also has the elements that others leave to the one below them
    const std::uint32_t most = kRows / kPerPiece + (tile.is_last && tile.shifts ? kNear : 0);
    for (std::uint32_t here = thread; here < most * kColumns; here += kBlock) {
      const std::uint32_t piece = here / (kNear * kColumns) * kNear + here % kNear;
      const std::uint32_t slot = here / kNear % kColumns;
      const std::uint32_t column = tile.column + column_in(slot);
      if (column >= plane.columns) continue;
      const std::uint64_t top =
          tile.dst + std::uint64_t{tile.row} * kBytes +
          distance<true>(plane.column_part, column, plane.dst_pitch, plane.dst_leap);
      const auto shift = static_cast<std::uint32_t>(top % kAlign) / kBytes;
      const std::uint32_t first = kLead - shift + piece * kPerPiece;
      const std::uint32_t begin = tile.row == 0 ? kLead : kLead - shift;
      const std::uint32_t end = kLead + (tile.is_last ? plane.rows - tile.row : kRows - shift);
      if (first >= end) continue;
      Of::store_piece(top - shift * kBytes + piece * (kPerPiece * kBytes),
                      shared.words + slot * kPitch, static_cast<std::int32_t>(first),
                      static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end));
    }
  }

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& shared) noexcept {
    const Plane& plane = params.plane;
    const Tile tile = tile_of(params, block);
    if constexpr (kPhase == 1) return store_columns(params, tile, thread, shared);
    const Pieces pieces = pieces_of(plane, tile);
    if (plane.row_part.value < plane.rows)
      load_pieces<false, true>(params, tile, pieces, thread, shared);
    else if (starts_of_rows(plane, tile) % (kPerPiece * kBytes) == 0)
      load_pieces<true, false>(params, tile, pieces, thread, shared);
    else
      load_pieces<false, false>(params, tile, pieces, thread, shared);
    if (pieces.begin > 0 || pieces.end < pieces.count)
      load_edges(params, tile, pieces, thread, shared);
  }
};

}  // namespace refarray::runtime::kernels
