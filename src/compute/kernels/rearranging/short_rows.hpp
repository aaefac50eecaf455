// Sorting of short rows: the lanes of a vector are elements of equal index of several rows, and a
// bitonic network of exchanges sorts all of these rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "compute/kernels/rearranging/keys.hpp"
#include "compute/kernels/rearranging/sort_kernels.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

/// Puts the lesser keys into `low`.
template <class X>
[[gnu::always_inline]] inline void exchange(X& low, X& high) noexcept {
  const X a = low, b = high;
  // g++ would compare and blend.
#if defined(__AVX2__)
  if constexpr (std::is_same_v<X, VectorOf<double, 32>::type>) {
    low = _mm256_min_pd(b, a);
    high = _mm256_max_pd(b, a);
    return;
  }
#elif defined(__SSE2__)
  if constexpr (std::is_same_v<X, VectorOf<double, 16>::type>) {
    low = _mm_min_pd(b, a);
    high = _mm_max_pd(b, a);
    return;
  }
#endif
  low = b < a ? b : a;
  high = b < a ? a : b;
}

/// Sorts kSortedKeys keys by a network of the fewest exchanges.
template <class X>
[[gnu::always_inline]] inline void sort_few(X* keys) noexcept {
  constexpr int kExchanges[][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6},
                                   {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5},
                                   {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
  X in_registers[kSortedKeys];
#pragma GCC unroll 8
  for (int i = 0; i < kSortedKeys; ++i) in_registers[i] = keys[i];
#pragma GCC unroll 19
  for (const auto& pair : kExchanges) exchange(in_registers[pair[0]], in_registers[pair[1]]);
#pragma GCC unroll 8
  for (int i = 0; i < kSortedKeys; ++i) keys[i] = in_registers[i];
}

/// The steps of a network over 4 * step, 2 * step and `step` keys.
template <class X>
[[gnu::always_inline]] inline void exchange_steps(X* keys, std::int64_t step) noexcept {
  X in_registers[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) in_registers[i] = keys[i * step];
#pragma GCC unroll 3
  for (int over = 4; over > 0; over /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
      if ((i & over) == 0) exchange(in_registers[i], in_registers[i + over]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) keys[i * step] = in_registers[i];
}

// A run is a power of two. The last one may be shorter, as if the keys behind it were greater than
// all others: an exchange with one of these is left out.

/// The steps over `over`, over / 2 and so on to `step` keys, one at a time, of all keys.
template <class X>
[[gnu::noinline]] void exchange_singly(X* keys, std::int64_t count, std::int64_t over,
                                       std::int64_t step) noexcept {
  for (; over >= step; over /= 2) {
    for (std::int64_t begin = 0; begin < count; begin += 2 * over)
      for (std::int64_t i = begin; i < min(begin + over, count - over); ++i)
        exchange(keys[i], keys[i + over]);
  }
}

/// The same, three steps at a time.
template <class X>
[[gnu::always_inline]] inline void exchange_thrice(X* keys, std::int64_t count,
                                                   std::int64_t step) noexcept {
  std::int64_t at = 0;
  for (; at + 8 * step <= count; at += 8 * step)
    for (std::int64_t i = at; i < at + step; ++i) exchange_steps(keys + i, step);
  if (at < count) exchange_singly(keys + at, count - at, 4 * step, step);
}

/// The first step of merging two runs: from their middle outwards. Afterwards no key of the first
/// run is greater than one of the second, and both are bitonic. Then the kSteps - 1 steps over
/// run / 2 keys and so on.
template <int kSteps, class X>
[[gnu::always_inline]] inline void exchange_runs(X* keys, std::int64_t count,
                                                 std::int64_t run) noexcept {
  constexpr int kCount = 1 << (kSteps - 1);
  const std::int64_t step = run / kCount;
  if (count < 2 * run) {
    for (std::int64_t i = 2 * run - count; i < run; ++i) exchange(keys[i], keys[2 * run - 1 - i]);
    return exchange_singly(keys, count, run / 2, step);
  }
  for (std::int64_t i = 0; i < step; ++i) {
    X* const first = keys + i;
    X* const last = keys + 2 * run - 1 - i;
    X low[kCount], high[kCount];
#pragma GCC unroll 4
    for (int j = 0; j < kCount; ++j) {
      low[j] = first[j * step];
      high[j] = last[-j * step];
      exchange(low[j], high[j]);
    }
#pragma GCC unroll 2
    for (int over = kCount / 2; over > 0; over /= 2) {
#pragma GCC unroll 4
      for (int j = 0; j < kCount; ++j) {
        if ((j & over) != 0) continue;
        exchange(low[j], low[j + over]);
        exchange(high[j + over], high[j]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < kCount; ++j) {
      first[j * step] = low[j];
      last[-j * step] = high[j];
    }
  }
}

/// Merges two runs. The keys stay in registers for up to three steps.
template <class X>
[[gnu::always_inline]] inline void merge(X* keys, std::int64_t count, std::int64_t run) noexcept {
  std::int64_t step = run;
  switch (__builtin_ctzll(static_cast<std::uint64_t>(run)) % 3) {
    case 0:
      exchange_runs<1>(keys, count, run);
      break;
    case 1:
      exchange_runs<2>(keys, count, run);
      step = run / 2;
      break;
    default:
      exchange_runs<3>(keys, count, run);
      step = run / 4;
  }
  while (step > kSortedKeys) exchange_thrice(keys, count, step /= 8);
  for (std::int64_t at = 0; at < count; at += kSortedKeys) exchange_steps(keys + at, 1);
}

/// There is room for padded_keys(). `greatest`: no key is greater.
template <class X>
[[gnu::noinline]] void sort_keys(X* keys, std::int64_t count, const X& greatest) noexcept {
  if (count == 2) return exchange(keys[0], keys[1]);
  const std::int64_t padded = padded_keys(count);
  for (std::int64_t i = count; i < padded; ++i) keys[i] = greatest;
  for (std::int64_t at = 0; at < padded; at += kSortedKeys) sort_few(keys + at);
  for (std::int64_t run = kSortedKeys; run < padded; run *= 2) {
    for (std::int64_t begin = 0; begin + run < padded; begin += 2 * run)
      merge(keys + begin, min(2 * run, padded - begin), run);
  }
}

/// Keys of one dtype: signed integers in the order of the elements, or float64 itself.
template <class K>
struct LaneKeys {
  using Word = typename K::Word;
  using Signed = std::make_signed_t<Word>;
  static constexpr int kLanes = kVectorBytes / sizeof(Word);
  static constexpr bool kIsDouble = K::kIsFloating && sizeof(Word) == 8;
  using Bits = typename VectorOf<Word, kVectorBytes>::type;
  using Integers = typename VectorOf<Signed, kVectorBytes>::type;
  using Key =
      std::conditional_t<kIsDouble, typename VectorOf<double, kVectorBytes>::type, Integers>;

  [[gnu::always_inline]] static Key of(Bits bits) noexcept {
    if constexpr (K::kNumbers == Numbers::kBool) bits = (Bits)(bits != 0) & 1;
    if constexpr (K::kNumbers == Numbers::kUnsigned) bits ^= K::kTop;
    if constexpr (K::kIsFloating && !kIsDouble) bits = flipped(bits);
    return (Key)bits;
  }
  [[gnu::always_inline]] static Key greatest() noexcept {
    if constexpr (kIsDouble) return (Key)(Bits{} + K::kInfinityBits);
    return (Key)(Bits{} + static_cast<Word>(K::kTop - 1));
  }
  /// The inverse of of().
  [[gnu::always_inline]] static Bits bits(Key key) noexcept {
    if constexpr (K::kNumbers == Numbers::kUnsigned) return (Bits)key ^ K::kTop;
    if constexpr (K::kIsFloating && !kIsDouble) return flipped((Bits)key);
    return (Bits)key;
  }

 private:
  static Bits flipped(Bits bits) noexcept {
    return bits ^ ((Bits)((Integers)bits < 0) & static_cast<Word>(K::kTop - 1));
  }
};

/// What is in the rows of one vector besides numbers in an order without doubt.
template <class K>
struct LaneScan {
  using L = LaneKeys<K>;
  using Bits = typename L::Bits;
  using Integers = typename L::Integers;
  Bits has_zero{};
  Bits has_negative_zero{};
  Bits has_nan{};
  Bits some_nan{};  // bits of all NaN, combined
  Bits all_nan = ~Bits{};
  Integers num_nans{};

  [[gnu::always_inline]] static Integers is_nan(Bits bits) noexcept {
    constexpr auto kInfinity = static_cast<typename L::Signed>(K::kInfinityBits);
    return (Integers)(bits & static_cast<typename L::Word>(K::kTop - 1)) > kInfinity;
  }

  [[gnu::always_inline]] void look(Bits bits) noexcept {
    has_zero |= (Bits)(bits == 0);
    has_negative_zero |= (Bits)(bits == K::kTop);
    has_nan |= (Bits)is_nan(bits);
  }

  /// Whether there is a NaN in any of the rows.
  [[gnu::always_inline]] bool any_nan() const noexcept {
    typename L::Word out = 0;
    for (int i = 0; i < L::kLanes; ++i) out |= has_nan[i];
    return out != 0;
  }

  /// Returns infinity for NaN.
  [[gnu::always_inline]] Bits count(Bits bits) noexcept {
    const Integers found = is_nan(bits);
    some_nan |= bits & (Bits)found;
    all_nan &= bits | ~(Bits)found;
    num_nans -= found;
    return found ? Bits{} + K::kInfinityBits : bits;
  }

  [[gnu::always_inline]] Bits needs_order() const noexcept {
    return (has_zero & has_negative_zero) | ((Bits)(some_nan != 0) & (Bits)(some_nan != all_nan));
  }
};

/// Sorts the rows of one vector.
template <class K>
void sort_lane(const LaneSort& call, std::int64_t lane) noexcept {
  using L = LaneKeys<K>;
  using Bits = typename L::Bits;
  std::byte* const tile = call.tile + lane * static_cast<std::int64_t>(sizeof(typename K::Word));
  auto* const keys = reinterpret_cast<typename L::Key*>(call.keys);
  LaneScan<K> found;
  for (std::int64_t i = 0; i < call.count; ++i) {
    const auto bits = load<Bits>(tile + i * call.pitch);
    if constexpr (K::kIsFloating) found.look(bits);
    keys[i] = L::of(bits);
  }
  const bool has_nan = K::kIsFloating && found.any_nan();
  for (std::int64_t i = 0; has_nan && i < call.count; ++i)
    keys[i] = L::of(found.count(L::bits(keys[i])));
  sort_keys(keys, call.count, L::greatest());
  const auto numbers = static_cast<typename L::Signed>(call.count) - found.num_nans;
  for (std::int64_t i = 0; i < call.count; ++i) {
    Bits bits = L::bits(keys[i]);
    if (has_nan) bits = numbers <= static_cast<typename L::Signed>(i) ? found.some_nan : bits;
    store(tile + (call.descending ? call.count - 1 - i : i) * call.pitch, bits);
  }
  const Bits needs_order = found.needs_order();
  for (std::int64_t i = 0; i < L::kLanes; ++i)
    call.needs_order[lane + i] = K::kIsFloating && needs_order[i] != 0;
}

template <class K>
void sort_lanes(const LaneSort& call) noexcept {
  for (std::int64_t lane = 0; lane < call.rows; lane += LaneKeys<K>::kLanes)
    sort_lane<K>(call, lane);
}

}  // namespace
}  // namespace refarray::core::kernels
