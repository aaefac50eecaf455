// Kernels of sorting and searching, by dtype.
#include "compute/kernels/rearranging/sort_kernels.hpp"

#include "compute/kernels/rearranging/keys.hpp"
#include "compute/kernels/rearranging/radix.hpp"
#include "compute/kernels/rearranging/short_rows.hpp"

namespace refarray::core::kernels {
namespace {

// --- Values.

/// Floats: moves NaNs behind the other elements, all in their order, and counts the others. Then
/// the sign of zeros is looked at. `nans` has room for all elements.
template <class K>
struct Split {
  std::int64_t numbers = 0;
  bool has_negative_zero = false;
  bool has_positive_zero = false;
};

template <class K>
Split<K> to_sort_keys(const SortCall& call, typename K::Word* keys,
                      typename K::Word* nans) noexcept {
  using Word = typename K::Word;
  const auto flip = static_cast<Word>(call.descending ? ~Word{0} : Word{0});
  Split<K> out;
  std::int64_t num_nans = 0;
  for (std::int64_t i = 0; i < call.count; ++i) {
    const Word bits = K::load(call.in + i * static_cast<std::int64_t>(sizeof(Word)));
    keys[out.numbers] = static_cast<Word>(K::of(bits) ^ flip);
    if constexpr (K::kIsFloating) {
      const bool is_nan = K::is_nan(bits);
      nans[num_nans] = bits;
      num_nans += is_nan;
      out.numbers += !is_nan;
      out.has_negative_zero |= bits == K::kTop;
      out.has_positive_zero |= bits == 0;
    } else {
      ++out.numbers;
    }
  }
  return out;
}

template <class K>
Sorted sort(const SortCall& call) noexcept {
  using Word = typename K::Word;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Word));
  auto* const keys = reinterpret_cast<Word*>(call.scratch + radix_words(call.count, kSize));
  auto* const other = keys + call.count + 1;
  auto* const nans = other + call.count + 1;
  const Split<K> split = to_sort_keys<K>(call, keys, nans);
  if (split.has_negative_zero && split.has_positive_zero) return Sorted::kNeedsOrder;
  const Word* const sorted = sort_words(keys, other, split.numbers, call);
  if (sorted == nullptr) return Sorted::kInterrupted;
  const auto flip = static_cast<Word>(call.descending ? ~Word{0} : Word{0});
  const std::int64_t num_nans = call.count - split.numbers;
  std::byte* const to = call.out + (call.descending ? num_nans * kSize : 0);
  for (std::int64_t i = 0; i < split.numbers; ++i) {
    const Word bits = K::bits(static_cast<Word>(sorted[i] ^ flip));
    __builtin_memcpy(to + i * kSize, &bits, sizeof bits);
  }
  std::byte* const nans_to = call.out + (call.descending ? 0 : split.numbers * kSize);
  __builtin_memcpy(nans_to, nans, static_cast<std::size_t>(num_nans * kSize));
  return Sorted::kYes;
}

// --- Indices. A word has 32 bits of a key above the index of its element.

constexpr std::int64_t kMaxPacked = std::int64_t{1} << 32;

std::uint64_t* sort_packed(std::uint64_t* words, std::uint64_t* other, std::int64_t count, int bits,
                           const SortCall& call) noexcept {
  const auto less = [](std::uint64_t a, std::uint64_t b) { return a < b; };
  if (count <= kFewWords) {
    insert(words, count, less);
    return words;
  }
  if (count < kRadixWords) return merge_runs(words, other, count, less, call);
  return radix_sort(words, other, count, 32, 32 + bits, call);
}

/// Sorts runs of equal high bits by the `shift` low bits of their keys.
bool sort_low_bits(std::uint64_t* words, std::uint64_t* other, std::int64_t count,
                   const std::uint64_t* keys, int shift, const SortCall& call) noexcept {
  for (std::int64_t i = 0; i < count;) {
    std::int64_t end = i + 1;
    while (end < count && (words[end] >> 32) == (words[i] >> 32)) ++end;
    if (end - i > 1) {
      const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
      for (std::int64_t j = i; j < end; ++j) {
        const std::uint64_t index = words[j] & 0xFFFF'FFFFU;
        words[j] = (keys[index] & mask) << 32 | index;
      }
      std::uint64_t* const run = sort_packed(words + i, other + i, end - i, shift, call);
      if (run == nullptr) return false;
      if (run != words + i) copy_words(words + i, run, end - i);
    }
    i = end;
  }
  return true;
}

/// More elements than an index of 32 bits counts.
Sorted order_by_merging(const std::uint64_t* keys, const SortCall& call, std::uint64_t* words,
                        std::uint64_t* other) noexcept {
  for (std::int64_t i = 0; i < call.count; ++i) words[i] = static_cast<std::uint64_t>(i);
  const auto less = [keys](std::uint64_t a, std::uint64_t b) { return keys[a] < keys[b]; };
  const std::uint64_t* const sorted = merge_runs(words, other, call.count, less, call);
  if (sorted == nullptr) return Sorted::kInterrupted;
  __builtin_memcpy(call.out, sorted, static_cast<std::size_t>(call.count) * 8);
  return Sorted::kYes;
}

/// Counts the elements of each key in `next`, and puts each index at its place.
void order_by_counting(const std::uint64_t* keys, const SortCall& call, std::uint64_t* next,
                       std::int64_t num_keys) noexcept {
  for (std::int64_t key = 0; key < num_keys; ++key) next[key] = 0;
  for (std::int64_t i = 0; i < call.count; ++i) ++next[keys[i]];
  std::uint64_t sum = 0;
  for (std::int64_t key = 0; key < num_keys; ++key) {
    const std::uint64_t here = next[key];
    next[key] = sum;
    sum += here;
  }
  for (std::int64_t i = 0; i < call.count; ++i)
    __builtin_memcpy(call.out + 8 * next[keys[i]]++, &i, 8);
}

template <class K>
Sorted order(const SortCall& call) noexcept {
  using Word = typename K::Word;
  std::uint64_t* const keys = call.scratch + radix_words(call.count, kOrderDigits);
  std::uint64_t* const words = keys + call.count;
  std::uint64_t* const other = words + call.count;
  const std::uint64_t flip = call.descending ? static_cast<Word>(~Word{0}) : Word{0};
  for (std::int64_t i = 0; i < call.count; ++i) {
    const Word bits = K::load(call.in + i * static_cast<std::int64_t>(sizeof(Word)));
    keys[i] = K::by_value(bits) ^ flip;
  }
  // The counts of all keys fit the rest of the scratch memory, which has two words per element.
  constexpr std::int64_t kNumKeys = sizeof(Word) <= 2 ? std::int64_t{1} << (8 * sizeof(Word)) : 0;
  if (kNumKeys != 0 && call.count >= kNumKeys / 2 && call.count >= kFewWords) {
    order_by_counting(keys, call, words, kNumKeys);
    return Sorted::kYes;
  }
  if (call.count >= kMaxPacked) return order_by_merging(keys, call, words, other);
  const int high = call.count == 0 ? 0 : spread_of(keys, call.count).high;
  const int shift = high > 32 ? high - 32 : 0;
  for (std::int64_t i = 0; i < call.count; ++i)
    words[i] = keys[i] >> shift << 32 | static_cast<std::uint64_t>(i);
  std::uint64_t* const sorted = sort_packed(words, other, call.count, high - shift, call);
  if (sorted == nullptr) return Sorted::kInterrupted;
  if (shift > 0 &&
      !sort_low_bits(sorted, sorted == words ? other : words, call.count, keys, shift, call))
    return Sorted::kInterrupted;
  for (std::int64_t i = 0; i < call.count; ++i) {
    const std::uint64_t index = sorted[i] & 0xFFFF'FFFFU;
    __builtin_memcpy(call.out + 8 * i, &index, 8);
  }
  return Sorted::kYes;
}

// --- Merging.

/// A part of the merged elements, as far as it is not written. Of equal elements those of the first
/// range come first.
template <class K>
class Merging {
  using Word = typename K::Word;
  static constexpr std::int64_t kSize = sizeof(Word);

 public:
  Merging(const MergeCall& call, std::int64_t begin, std::int64_t end) noexcept
      : flip_(call.descending ? static_cast<Word>(~Word{0}) : Word{0}),
        out_(call.out + begin * kSize) {
    const std::int64_t from = split(call, begin), to = split(call, end);
    first_ = call.first + from * kSize;
    first_end_ = call.first + to * kSize;
    second_ = call.second + (begin - from) * kSize;
    second_end_ = call.second + (end - to) * kSize;
  }

  bool has_both() const noexcept { return (first_ < first_end_) & (second_ < second_end_); }
  void write_one() noexcept {
    const Word first = K::load(first_), second = K::load(second_);
    const bool is_second = key_of(second) < key_of(first);
    const Word next = is_second ? second : first;
    __builtin_memcpy(out_, &next, kSize);
    out_ += kSize;
    first_ += is_second ? 0 : kSize;
    second_ += is_second ? kSize : 0;
  }
  /// Writes the elements of the range that is left.
  void write_rest() noexcept {
    const bool is_second = second_ < second_end_;
    const std::byte* const from = is_second ? second_ : first_;
    const std::byte* const end = is_second ? second_end_ : first_end_;
    __builtin_memcpy(out_, from, static_cast<std::size_t>(end - from));
  }

 private:
  Word key_of(Word bits) const noexcept { return static_cast<Word>(K::by_value(bits) ^ flip_); }

  /// How many elements of the first range are among the first `count` ones of both.
  std::int64_t split(const MergeCall& call, std::int64_t count) const noexcept {
    std::int64_t low = count < call.num_second ? 0 : count - call.num_second;
    std::int64_t high = min(count, call.num_first);
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const Word first = K::load(call.first + middle * kSize);
      const Word second = K::load(call.second + (count - 1 - middle) * kSize);
      if (key_of(first) <= key_of(second))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  const Word flip_;
  std::byte* out_;
  const std::byte *first_, *first_end_, *second_, *second_end_;
};

/// In halves, because each element waits for the one before it.
template <class K>
[[gnu::noinline]] void merge_ranges(const MergeCall& call) noexcept {
  const std::int64_t middle = call.begin + (call.end - call.begin) / 2;
  Merging<K> left(call, call.begin, middle), right(call, middle, call.end);
  while (left.has_both() && right.has_both()) {
    left.write_one();
    right.write_one();
  }
  for (Merging<K>* const each : {&left, &right}) {
    while (each->has_both()) each->write_one();
    each->write_rest();
  }
}

// --- Search.

/// Whether the element comes before the position of the key.
template <class K>
bool is_before(const SearchCall& call, std::int64_t index, typename K::Word key) noexcept {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename K::Word));
  const auto other = K::by_value(K::load(call.sorted + index * kSize));
  return (other < key) | (call.after_equals & (other == key));
}

/// The number of sorted elements that are less than each key, or not greater if `after_equals`. The
/// first of them is at `begin` or later, and they are at most `count` more. No branch depends on
/// elements, and the keys wait for memory together.
template <class K>
[[gnu::noinline]] void find_positions(const SearchCall& call, const typename K::Word* keys,
                                      std::int64_t* positions, std::int64_t num_keys,
                                      std::int64_t begin, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < num_keys; ++i) positions[i] = begin;
  while (count > 0) {
    const std::int64_t half = (count + 1) / 2;
    for (std::int64_t i = 0; i < num_keys; ++i) {
      const bool goes_right = is_before<K>(call, positions[i] + half - 1, keys[i]);
      positions[i] += half & -static_cast<std::int64_t>(goes_right);
    }
    count -= half;
  }
}

/// The same for a key whose position is at `begin` or later, and probably near.
template <class K>
std::int64_t next_position(const SearchCall& call, typename K::Word key,
                           std::int64_t begin) noexcept {
  std::int64_t step = 1;
  while (begin + step <= call.count && is_before<K>(call, begin + step - 1, key)) {
    begin += step;
    step *= 2;
  }
  std::int64_t out;
  find_positions<K>(call, &key, &out, 1, begin, min(step - 1, call.count - begin));
  return out;
}

template <class K>
[[gnu::noinline]] void search(const SearchCall& call, std::int64_t* positions) noexcept {
  using Word = typename K::Word;
  constexpr std::int64_t kKeys = 8;
  Word keys[kKeys];
  Word last = 0;
  for (std::int64_t begin = 0; begin < call.num_values; begin += kKeys) {
    const std::int64_t count = min(kKeys, call.num_values - begin);
    bool ascends = begin > 0;
    for (std::int64_t i = 0; i < count; ++i) {
      keys[i] =
          K::by_value(K::load(call.values + (begin + i) * static_cast<std::int64_t>(sizeof(Word))));
      ascends &= keys[i] >= last;
      last = keys[i];
    }
    if (ascends) {
      for (std::int64_t i = begin; i < begin + count; ++i)
        positions[i] = next_position<K>(call, keys[i - begin], positions[i - 1]);
    } else {
      find_positions<K>(call, keys, positions + begin, count, 0, call.count);
    }
  }
}

template <class K>
void contains(const SearchCall& call, std::byte* found) noexcept {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename K::Word));
  constexpr std::int64_t kPiece = 128;
  std::int64_t positions[kPiece];
  SearchCall piece = call;
  for (std::int64_t begin = 0; begin < call.num_values; begin += kPiece) {
    piece.values = call.values + begin * kSize;
    piece.num_values = min(kPiece, call.num_values - begin);
    search<K>(piece, positions);
    for (std::int64_t i = 0; i < piece.num_values; ++i) {
      const auto bits = K::load(piece.values + i * kSize);
      const bool is_there =
          positions[i] < call.count && !K::is_nan(bits) &&
          K::by_value(K::load(call.sorted + positions[i] * kSize)) == K::by_value(bits);
      found[begin + i] = std::byte{is_there};
    }
  }
}

// --- Keys of a small range: a table of bytes says which of them occur.

template <class K>
void widen_range(const std::byte* in, std::int64_t count, KeyRange& range) noexcept {
  using Word = typename K::Word;
  Word low = static_cast<Word>(~Word{0});
  Word high = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Word key = K::by_value(K::load(in + i * static_cast<std::int64_t>(sizeof(Word))));
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  if (low < range.low) range.low = low;
  if (high > range.high) range.high = high;
}

/// The key's place in the table: the last one, behind all others, for a key that is not in the
/// range.
template <class K>
std::uint64_t place_of(typename K::Word key, const KeyRange& range) noexcept {
  const std::uint64_t place = std::uint64_t{key} - range.low;
  const std::uint64_t behind = range.high - range.low + 1;
  return place < behind ? place : behind;
}

template <class K>
void mark(const std::byte* in, std::int64_t count, const KeyRange& range,
          std::byte* table) noexcept {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename K::Word));
  for (std::int64_t i = 0; i < count; ++i)
    table[place_of<K>(K::by_value(K::load(in + i * kSize)), range)] = std::byte{1};
}

template <class K>
void find_marked(const std::byte* in, std::int64_t count, const KeyRange& range,
                 const std::byte* table, std::byte* found) noexcept {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename K::Word));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = K::load(in + i * kSize);
    const std::byte is_marked = table[place_of<K>(K::by_value(bits), range)];
    found[i] = K::is_nan(bits) ? std::byte{0} : is_marked;
  }
}

// --- Neighbours.

template <class K>
void differences(const std::byte* in, std::int64_t count, int parts, std::byte* differs) noexcept {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename K::Word));
  for (std::int64_t i = 0; i < count; ++i) {
    bool result = i == 0;
    for (int part = 0; part < parts && i > 0; ++part) {
      const std::byte* const at = in + (i * parts + part) * kSize;
      const auto bits = K::load(at);
      const auto before = K::load(at - parts * kSize);
      result |= K::by_value(bits) != K::by_value(before) || K::is_nan(bits);
    }
    differs[i] = std::byte{result};
  }
}

Sorted sort_dtype(ScalarType dtype, const SortCall& call) noexcept {
  return with_keys(dtype, [&call]<class K>() { return sort<K>(call); });
}
void sort_lanes_dtype(ScalarType dtype, const LaneSort& call) noexcept {
  with_keys(dtype, [&call]<class K>() { sort_lanes<K>(call); });
}
Sorted order_dtype(ScalarType dtype, const SortCall& call) noexcept {
  return with_keys(dtype, [&call]<class K>() { return order<K>(call); });
}
void merge_dtype(ScalarType dtype, const MergeCall& call) noexcept {
  with_keys(dtype, [&]<class K>() { merge_ranges<K>(call); });
}
void search_dtype(ScalarType dtype, const SearchCall& call, std::int64_t* positions) noexcept {
  with_keys(dtype, [&]<class K>() { search<K>(call, positions); });
}
void contains_dtype(ScalarType dtype, const SearchCall& call, std::byte* found) noexcept {
  with_keys(dtype, [&]<class K>() { contains<K>(call, found); });
}
void widen_range_dtype(ScalarType dtype, const std::byte* in, std::int64_t count,
                       KeyRange& range) noexcept {
  with_keys(dtype, [&]<class K>() { widen_range<K>(in, count, range); });
}
void mark_dtype(ScalarType dtype, const std::byte* in, std::int64_t count, const KeyRange& range,
                std::byte* table) noexcept {
  with_keys(dtype, [&]<class K>() { mark<K>(in, count, range, table); });
}
void find_marked_dtype(ScalarType dtype, const std::byte* in, std::int64_t count,
                       const KeyRange& range, const std::byte* table, std::byte* found) noexcept {
  with_keys(dtype, [&]<class K>() { find_marked<K>(in, count, range, table, found); });
}
void differences_dtype(ScalarType dtype, const std::byte* in, std::int64_t count,
                       std::byte* differs) noexcept {
  const bool is_complex = info_of(dtype).kind == Kind::kComplex;
  if (is_complex)
    dtype = dtype == ScalarType::kComplex64 ? ScalarType::kFloat32 : ScalarType::kFloat64;
  with_keys(dtype, [&]<class K>() { differences<K>(in, count, is_complex ? 2 : 1, differs); });
}

}  // namespace

namespace REFARRAY_OPERATIONS {

extern const Sorting kSorting;
const Sorting kSorting{&sort_dtype,        &sort_lanes_dtype, &order_dtype,       &merge_dtype,
                       &search_dtype,      &contains_dtype,   &widen_range_dtype, &mark_dtype,
                       &find_marked_dtype, &differences_dtype};

}  // namespace REFARRAY_OPERATIONS
}  // namespace refarray::core::kernels
