// Aligned words of elements of 1 to 8 bytes: cut at any element, transposed, stored in part.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/memory.hpp"

namespace refarray::runtime::kernels {

template <int kBytes>
struct Words {
  using Word = std::conditional_t<(kBytes > 4), std::uint64_t, std::uint32_t>;
  using Element = CopyWord<kBytes>;
  static constexpr std::uint32_t kPerWord = sizeof(Word) / kBytes;

  /// The word that starts `first` elements after word `low`.
  static Word cut(Word low, Word high, std::uint32_t first) noexcept {
    const std::uint32_t shift = first * kBytes * 8;
    if (shift == 0) return low;
    return static_cast<Word>(low >> shift | high << (sizeof(Word) * 8 - shift));
  }

  /// Two words that contain the elements at `address`, which may be one.
  static Word load_cut(std::uint64_t address) noexcept {
    const std::uint64_t last = address + (sizeof(Word) - kBytes);
    return cut(load<Word>(address - address % sizeof(Word)), load<Word>(last - last % sizeof(Word)),
               static_cast<std::uint32_t>(address % sizeof(Word)) / kBytes);
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
};

}  // namespace refarray::runtime::kernels
