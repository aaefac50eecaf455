// Kernel for contiguous rows at unaligned addresses: 16-byte pieces, aligned in dst.
#pragma once

#include <cstdint>

#include "runtime/kernels/device_strided.hpp"

namespace refarray::runtime::kernels {

/// Bytes per piece.
inline constexpr std::uint32_t kPiece = 16;

/// Copies rows of `plane.columns` bytes. A piece lies between two multiples of 16 of dst's
/// addresses. `plane.row_tiles` pieces cover a row at any alignment; the first and the last may lie
/// partly or wholly outside of it.
struct Rows {
  using Shared = NoShared;
  static constexpr int kPhases = 1;

  static void move_bytes(std::uint64_t dst, std::uint64_t src, std::uint32_t count) noexcept {
    for (std::uint32_t byte = 0; byte < count; ++byte)
      store(dst + byte, load<std::uint8_t>(src + byte));
  }

  /// Assembles a whole piece from aligned words of src. Every word read contains a byte of the
  /// piece.
  static void move_piece(std::uint64_t dst, std::uint64_t src) noexcept {
    const auto shift = static_cast<std::uint32_t>(src & 3) * 8;
    const std::uint64_t base = src & ~std::uint64_t{3};
    std::uint32_t words[5];
    for (std::uint32_t word = 0; word < 4; ++word)
      words[word] = load<std::uint32_t>(base + 4 * word);
    words[4] = shift == 0 ? 0 : load<std::uint32_t>(base + 16);
    CopyWord<16> out = {};
    for (std::uint32_t word = 0; word < 4; ++word) {
      const std::uint64_t pair = std::uint64_t{words[word + 1]} << 32 | words[word];
      out[word] = static_cast<std::uint32_t>(pair >> shift);
    }
    store(dst, out);
  }

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    each_element(params, block, thread, [&](std::uint32_t index) {
      const Divisor& pieces = params.plane.row_tiles;
      const std::uint32_t row = pieces.divide(index);
      const std::uint32_t piece = index - row * pieces.value;
      const Offsets offsets = offsets_of(params, row);
      const std::uint64_t dst = params.dst + static_cast<std::uint64_t>(offsets.dst);
      const std::uint64_t src = params.src + static_cast<std::uint64_t>(offsets.src);
      const auto skew = static_cast<std::int64_t>(dst % kPiece);
      const std::int64_t length = params.plane.columns;
      const std::int64_t first = std::int64_t{piece} * kPiece - skew;
      const std::int64_t begin = first < 0 ? 0 : first;
      const std::int64_t end = first + kPiece < length ? first + kPiece : length;
      if (begin >= end) return;
      const auto to = dst + static_cast<std::uint64_t>(begin);
      const auto from = src + static_cast<std::uint64_t>(begin);
      // Only at the row's ends can the words around a piece lie outside the row.
      const bool is_inside = first >= 4 && first + kPiece + 4 <= length;
      if (end - begin == kPiece && (is_inside || from % 4 == 0))
        move_piece(to, from);
      else
        move_bytes(to, from, static_cast<std::uint32_t>(end - begin));
    });
  }
};

}  // namespace refarray::runtime::kernels
