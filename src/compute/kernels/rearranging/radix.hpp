// Radix sort of unsigned words, least significant digit first, and what finishes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/kernels/rearranging/sort_kernels.hpp"
#include "core/kernels/vector.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core::kernels {
namespace {

constexpr std::int64_t kFewWords = 24;  // up to here, insertion

// Functions of the standard library that are no built-ins of the compiler are not called here:
// their copies for this instruction set could be taken for others' (see kernels/vector.hpp).

inline int bit_width(std::uint64_t word) noexcept {
  return word == 0 ? 0 : 64 - __builtin_clzll(word);
}
template <class Word>
void copy_words(Word* to, const Word* from, std::int64_t count) noexcept {
  __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Word));
}
template <class Word>
void swap_buffers(Word*& a, Word*& b) noexcept {
  Word* const before = a;
  a = b;
  b = before;
}

/// Whether the work was interrupted. Reads the fields: an inline function of a header that other
/// files include would not be of this instruction set.
inline bool is_interrupted(const InterruptCheck& check) noexcept {
  return check.stops != nullptr && check.stops(check.context);
}

template <class Word, class Less>
void insert(Word* words, std::int64_t count, Less less) noexcept {
  for (std::int64_t i = 1; i < count; ++i) {
    const Word word = words[i];
    std::int64_t at = i;
    for (; at > 0 && less(word, words[at - 1]); --at) words[at] = words[at - 1];
    words[at] = word;
  }
}

/// Words between two checks for an interrupt.
constexpr std::int64_t kManyWords = std::int64_t{1} << 20;

/// Stable. Returns the one of both buffers that has the result; nullptr when interrupted.
template <class Word, class Less>
Word* merge_runs(Word* words, Word* other, std::int64_t count, Less less,
                 const SortCall& call) noexcept {
  std::int64_t since_check = 0;
  for (std::int64_t at = 0; at < count; at += kFewWords)
    insert(words + at, min(kFewWords, count - at), less);
  for (std::int64_t run = kFewWords; run < count; run *= 2) {
    for (std::int64_t at = 0; at < count; at += 2 * run) {
      const std::int64_t middle = min(at + run, count);
      const std::int64_t end = min(at + 2 * run, count);
      std::int64_t a = at, b = middle, to = at;
      while (a < middle && b < end) {
        const bool takes_b = less(words[b], words[a]);
        other[to++] = takes_b ? words[b] : words[a];
        b += takes_b;
        a += !takes_b;
      }
      copy_words(other + to, words + a, middle - a);
      copy_words(other + to + (middle - a), words + b, end - b);
      since_check += end - at;
      if (since_check < kManyWords) continue;
      if (is_interrupted(*call.interrupt)) return nullptr;
      since_check = 0;
    }
    swap_buffers(words, other);
  }
  return words;
}

/// Sorts by the bits [low, high), stably, and returns the buffer with the result; nullptr when
/// interrupted. Counts in the first radix_words() of the call's scratch memory.
template <class Word>
Word* radix_sort(Word* words, Word* other, std::int64_t count, int low, int high,
                 const SortCall& call) noexcept {
  const int digits = (high - low + 7) / 8;
  // The type tells the greatest number of digits: the loop over them is unrolled.
  using Counts = std::int64_t[sizeof(Word)][256];
  auto& __restrict counts = *reinterpret_cast<Counts*>(call.scratch);
  for (int digit = 0; digit < digits; ++digit)
    for (int i = 0; i < 256; ++i) counts[digit][i] = 0;
  for (std::int64_t begin = 0; begin < count; begin += kManyWords) {
    const std::int64_t end = min(begin + kManyWords, count);
    for (std::int64_t i = begin; i < end; ++i) {
      const Word word = words[i];
      for (int digit = 0; digit < digits; ++digit)
        ++counts[digit][word >> (low + 8 * digit) & 0xFF];
    }
    if (end < count && is_interrupted(*call.interrupt)) return nullptr;
  }
  // Bits beyond `high` do not matter, or do not vary.
  for (int digit = 0; digit < digits; ++digit) {
    const int shift = low + 8 * digit;
    if (counts[digit][words[0] >> shift & 0xFF] == count) continue;
    std::int64_t next[256];
    std::int64_t sum = 0;
    for (int i = 0; i < 256; ++i) {
      next[i] = sum;
      sum += counts[digit][i];
    }
    for (std::int64_t begin = 0; begin < count; begin += kManyWords) {
      const std::int64_t end = min(begin + kManyWords, count);
      for (std::int64_t i = begin; i < end; ++i) {
        const Word word = words[i];
        other[next[word >> shift & 0xFF]++] = word;
      }
      if (end < count && is_interrupted(*call.interrupt)) return nullptr;
    }
    swap_buffers(words, other);
  }
  return words;
}

/// How the words of a sequence differ.
struct Spread {
  int high;  // one past the highest bit that varies
  bool is_sorted;
};
template <class Word>
Spread spread_of(const Word* words, std::int64_t count) noexcept {
  Word any = words[0];
  Word all = words[0];
  bool is_sorted = true;
  for (std::int64_t i = 1; i < count; ++i) {
    any |= words[i];
    all &= words[i];
    is_sorted &= words[i - 1] <= words[i];
  }
  return {bit_width(any ^ all), is_sorted};
}

/// Digits that tell most of `count` random words apart, 8 bits each.
inline int useful_bits(std::int64_t count) noexcept {
  return (bit_width(static_cast<std::uint64_t>(count)) + 8 + 7) / 8 * 8;
}

/// Sorts and returns the buffer with the result; nullptr when interrupted.
template <class Word>
Word* sort_words(Word* words, Word* other, std::int64_t count, const SortCall& call) noexcept {
  const auto less = [](Word a, Word b) { return a < b; };
  if (count <= kFewWords) {
    insert(words, count, less);
    return words;
  }
  const Spread spread = spread_of(words, count);
  if (spread.is_sorted) return words;
  if (count < kRadixWords) return merge_runs(words, other, count, less, call);
  // The highest digits first bring nearly all words to their places.
  const int skipped = spread.high - useful_bits(count);
  const int low = sizeof(Word) == 8 && skipped > 0 ? skipped : 0;
  Word* const out = radix_sort(words, other, count, low, spread.high, call);
  if (out == nullptr || low == 0) return out;
  Word* const spare = out == words ? other : words;
  for (std::int64_t i = 0; i < count;) {
    std::int64_t end = i + 1;
    while (end < count && (out[end] >> low) == (out[i] >> low)) ++end;
    if (end - i > 1) {
      const Word* const run = sort_words(out + i, spare + i, end - i, call);
      if (run == nullptr) return nullptr;
      if (run != out + i) copy_words(out + i, run, end - i);
    }
    i = end;
  }
  return out;
}

}  // namespace
}  // namespace refarray::core::kernels
