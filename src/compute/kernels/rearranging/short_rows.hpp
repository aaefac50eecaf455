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
#if defined(__AVX2__)
  if constexpr (std::is_same_v<X, VectorOf<double, 32>::type>) {  // g++ would compare and blend
    low = _mm256_min_pd(b, a);
    high = _mm256_max_pd(b, a);
    return;
  }
#endif
  low = b < a ? b : a;
  high = b < a ? a : b;
}

/// Two steps of a network: exchanges over 2 * step keys, then over `step`.
template <class X>
[[gnu::always_inline]] inline void exchange_twice(X* keys, std::int64_t step) noexcept {
  X a = keys[0], b = keys[step], c = keys[2 * step], d = keys[3 * step];
  exchange(a, c);
  exchange(b, d);
  exchange(a, b);
  exchange(c, d);
  keys[0] = a, keys[step] = b, keys[2 * step] = c, keys[3 * step] = d;
}

// A run is a power of two. The last one may be shorter, as if the keys behind it were greater than
// all others: an exchange with one of these is left out.

/// The first step of merging two runs: from their middle outwards. Afterwards no key of the first
/// run is greater than one of the second, and both are bitonic.
template <class X>
[[gnu::always_inline]] inline void exchange_runs(X* keys, std::int64_t count,
                                                 std::int64_t run) noexcept {
  for (std::int64_t i = 2 * run - count; i < run; ++i) exchange(keys[i], keys[2 * run - 1 - i]);
}

/// The first two steps.
template <class X>
[[gnu::always_inline]] inline void exchange_runs_twice(X* keys, std::int64_t count,
                                                       std::int64_t run) noexcept {
  const std::int64_t step = run / 2;
  for (std::int64_t i = 0; i < step; ++i) {
    const std::int64_t last = 2 * run - 1 - i;
    X a = keys[i], b = keys[i + step];
    if (last - step < count) exchange(b, keys[last - step]);
    if (last < count) {
      exchange(a, keys[last]);
      exchange(keys[last - step], keys[last]);
    }
    exchange(a, b);
    keys[i] = a, keys[i + step] = b;
  }
}

template <class X>
void sort_keys(X* keys, std::int64_t count) noexcept {
  bool is_even = true;  // the number of steps after the first one of a merge
  for (std::int64_t run = 1; run < count; run *= 2, is_even = !is_even) {
    for (std::int64_t begin = 0; begin + run < count; begin += 2 * run) {
      X* const both = keys + begin;
      const std::int64_t length = min(2 * run, count - begin);
      if (is_even)
        exchange_runs(both, length, run);
      else
        exchange_runs_twice(both, length, run);
      for (std::int64_t step = is_even ? run / 4 : run / 8; step > 0; step /= 4) {
        for (std::int64_t at = 0; at < length; at += 4 * step) {
          std::int64_t i = at;
          for (; i < min(at + step, length - 3 * step); ++i) exchange_twice(both + i, step);
          for (; i < min(at + step, length - step); ++i) {
            if (i + 2 * step < length) exchange(both[i], both[i + 2 * step]);
            exchange(both[i], both[i + step]);
          }
        }
      }
    }
  }
}

/// Keys of one dtype: signed integers in the order of the elements, or float64 itself.
template <class K>
struct LaneKeys {
  using Word = typename K::Word;
  using Signed = std::make_signed_t<Word>;
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
  Bits some_nan{};  // bits of all NaN, combined
  Bits all_nan = ~Bits{};
  Integers num_nans{};
  Bits has_zero{};
  Bits has_negative_zero{};

  /// Returns infinity for NaN.
  [[gnu::always_inline]] Bits scan(Bits bits) noexcept {
    constexpr auto kInfinity = static_cast<typename L::Signed>(K::kInfinityBits);
    const auto is_nan = (Integers)(bits & static_cast<typename L::Word>(K::kTop - 1)) > kInfinity;
    some_nan |= bits & (Bits)is_nan;
    all_nan &= bits | ~(Bits)is_nan;
    num_nans -= is_nan;
    has_zero |= (Bits)(bits == 0);
    has_negative_zero |= (Bits)(bits == K::kTop);
    return is_nan ? Bits{} + K::kInfinityBits : bits;
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
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename K::Word));
  std::byte* const tile = call.tile + lane * kSize;
  auto* const keys = reinterpret_cast<typename L::Key*>(call.keys);
  LaneScan<K> found;
  for (std::int64_t i = 0; i < call.count; ++i) {
    auto bits = load<Bits>(tile + i * call.pitch);
    if constexpr (K::kIsFloating) bits = found.scan(bits);
    keys[i] = L::of(bits);
  }
  sort_keys(keys, call.count);
  const auto numbers = static_cast<typename L::Signed>(call.count) - found.num_nans;
  for (std::int64_t i = 0; i < call.count; ++i) {
    Bits bits = L::bits(keys[i]);
    if constexpr (K::kIsFloating)
      bits = numbers <= static_cast<typename L::Signed>(i) ? found.some_nan : bits;
    store(tile + (call.descending ? call.count - 1 - i : i) * call.pitch, bits);
  }
  const Bits needs_order = found.needs_order();
  for (std::int64_t i = 0; i < kVectorBytes / kSize; ++i)
    call.needs_order[lane + i] = K::kIsFloating && needs_order[i] != 0;
}

template <class K>
void sort_lanes(const LaneSort& call) noexcept {
  constexpr std::int64_t kWide = kVectorBytes / sizeof(typename K::Word);
  for (std::int64_t lane = 0; lane < call.rows; lane += kWide) sort_lane<K>(call, lane);
}

}  // namespace
}  // namespace refarray::core::kernels
