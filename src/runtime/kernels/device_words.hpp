// Aligned words of elements of 1 to 8 bytes, and pieces of 16 bytes: cut at any element,
// transposed, stored in part.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/memory.hpp"

namespace refarray::runtime::kernels {

template <int kBytes>
struct Words {
  using Word = std::conditional_t<(kBytes > 4), std::uint64_t, std::uint32_t>;
  using Element = CopyWord<kBytes>;
  using Piece __attribute__((vector_size(16))) = Word;  // what one load or store moves
  static constexpr std::uint32_t kPerWord = sizeof(Word) / kBytes;
  static constexpr std::uint32_t kPerPiece = sizeof(Piece) / kBytes;
  static constexpr std::uint32_t kWords = sizeof(Piece) / sizeof(Word);  // of a piece

  /// The word that starts `first` elements after word `low`.
  static Word cut(Word low, Word high, std::uint32_t first) noexcept {
    const std::uint32_t shift = first * kBytes * 8;
    if (shift == 0) return low;
    return static_cast<Word>(low >> shift | high << (sizeof(Word) * 8 - shift));
  }

  /// The piece at `address`, a multiple of its size.
  static void load_piece(std::uint64_t address, Word* words) noexcept {
    const Piece piece = load<Piece>(address);
    for (std::uint32_t i = 0; i < kWords; ++i) words[i] = piece[i];
  }

  /// The kWords + 1 words around the piece at `address`; the last two may be one.
  static void load_around(std::uint64_t address, Word* words) noexcept {
    const std::uint64_t first = address - address % sizeof(Word);
    const std::uint64_t last = address + (sizeof(Piece) - kBytes);
    for (std::uint32_t i = 0; i < kWords; ++i) words[i] = load<Word>(first + i * sizeof(Word));
    words[kWords] = load<Word>(last - last % sizeof(Word));
  }

  /// Cuts the piece at `address` out of the words around it.
  static void cut_piece(std::uint64_t address, Word* words) noexcept {
    const std::uint32_t first = static_cast<std::uint32_t>(address % sizeof(Word)) / kBytes;
    for (std::uint32_t i = 0; i < kWords; ++i) words[i] = cut(words[i], words[i + 1], first);
  }

  /// The first `count` elements at `address`, at most a word.
  static Word load_part(std::uint64_t address, std::uint32_t count) noexcept {
    Word word = 0;
#if defined(__clang__)
#pragma clang loop unroll(full)
#endif
    for (std::uint32_t element = 0; element < kPerWord; ++element) {
      if (element < count)
        word |= static_cast<Word>(load<Element>(address + element * kBytes))
                << (element * kBytes * 8);
    }
    return word;
  }

  /// Element j of word i becomes element i of word j.
  static void transpose(Word* words) noexcept {
    for (std::uint32_t step = kPerWord / 2; step > 0; step /= 2) {
      const std::uint32_t shift = step * kBytes * 8;
      const Word low = static_cast<Word>(~Word{0} / ((Word{1} << shift) + 1));
      for (std::uint32_t i = 0; i < kPerWord; ++i) {
        if ((i & step) != 0) continue;
        const Word upper = words[i];
        const Word lower = words[i + step];
        words[i] = static_cast<Word>((upper & low) | (lower & low) << shift);
        words[i + step] = static_cast<Word>((upper >> shift & low) | (lower & ~low));
      }
    }
  }

  /// The word that starts at element `first` of `words`.
  static Word word_at(const Word* words, std::uint32_t first) noexcept {
    return cut(words[first / kPerWord], words[(first + kPerWord - 1) / kPerWord], first % kPerWord);
  }

  /// Stores elements [first, first + kPerWord) of a column that are in [begin, end); `address` is
  /// the first one's. All count from the first element of `words`.
  static void store_part(std::uint64_t address, const Word* words, std::int32_t first,
                         std::int32_t begin, std::int32_t end) noexcept {
    constexpr auto kElements = static_cast<std::int32_t>(kPerWord);
    if (first >= begin && first + kElements <= end)
      return store(address, word_at(words, static_cast<std::uint32_t>(first)));
    for (std::int32_t at = first; at < first + kElements; ++at, address += kBytes) {
      if (at < begin || at >= end) continue;
      const auto element = static_cast<std::uint32_t>(at);
      store(address,
            static_cast<Element>(words[element / kPerWord] >> (element % kPerWord * kBytes * 8)));
    }
  }

  /// Like store_part() of a piece; `address` is a multiple of its size.
  static void store_piece(std::uint64_t address, const Word* words, std::int32_t first,
                          std::int32_t begin, std::int32_t end) noexcept {
    constexpr auto kElements = static_cast<std::int32_t>(kPerPiece);
    if (first < begin || first + kElements > end) {
      for (std::uint32_t i = 0; i < kWords; ++i)
        store_part(address + i * sizeof(Word), words,
                   first + static_cast<std::int32_t>(i * kPerWord), begin, end);
      return;
    }
    Piece piece = {};
    for (std::uint32_t i = 0; i < kWords; ++i)
      piece[i] = word_at(words, static_cast<std::uint32_t>(first) + i * kPerWord);
    store(address, piece);
  }
};

}  // namespace refarray::runtime::kernels
