// Vectors for reductions, and the operations that combine them: sums, products, and the least
// element by a key that orders integers and floats alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/kernels/operations/reductions.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

#if defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type [[gnu::vector_size(kVectorBytes)]];
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
[[gnu::always_inline]] inline T load(const std::byte* from) noexcept {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}
template <class T>
[[gnu::always_inline]] inline void store(std::byte* to, T value) noexcept {
  __builtin_memcpy(to, &value, sizeof(T));
}

inline std::int64_t least_of(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }

// The operations below work on vectors (X = Vector<Lane>) and on single lanes (X = Lane). key() is
// applied to elements once, before they are combined; raw() is its inverse.

/// kUnit 2: a lane is a real or imaginary part of a complex number.
template <class T, int kUnitLanes = 1>
struct Add {
  using Lane = T;
  static constexpr int kUnit = kUnitLanes;

  explicit Add(std::uint64_t) noexcept {}
  /// -0.0 + x is x for every x; 0.0 + -0.0 is not -0.0.
  static constexpr T neutral() noexcept {
    if constexpr (std::is_floating_point_v<T>) return T{-0.0};
    return T{0};
  }
  template <class X>
  [[gnu::always_inline]] X key(X x) const noexcept {
    return x;
  }
  T raw(T x) const noexcept { return x; }
  template <class X>
  [[gnu::always_inline]] X combine(X a, X b) const noexcept {
    return a + b;
  }
  template <class X>
  [[gnu::always_inline]] X accumulate(X a, X x) const noexcept {
    return a + x;
  }
};

template <class T>
struct Multiply {
  using Lane = T;
  static constexpr int kUnit = 1;

  explicit Multiply(std::uint64_t) noexcept {}
  static constexpr T neutral() noexcept { return T{1}; }
  template <class X>
  [[gnu::always_inline]] X key(X x) const noexcept {
    return x;
  }
  T raw(T x) const noexcept { return x; }
  template <class X>
  [[gnu::always_inline]] X combine(X a, X b) const noexcept {
    return a * b;
  }
  template <class X>
  [[gnu::always_inline]] X accumulate(X a, X x) const noexcept {
    return a * x;
  }
};

template <class T>
struct UnsignedOf {
  using type = std::make_unsigned_t<T>;
};
template <class T>
  requires(!std::is_integral_v<T>)
struct UnsignedOf<T> {
  typedef std::make_unsigned_t<std::remove_cvref_t<decltype(T{}[0])>> type
      [[gnu::vector_size(sizeof(T))]];
};

/// The least element of a signed integer type, to whose order `flip` turns that of the elements: it
/// inverts the sign bit of unsigned integers, and all bits for the greatest element. `kFloat`:
/// the elements are floats of that size.
template <class T, bool kFloat>
struct Least {
  using Lane = T;
  static constexpr int kUnit = 1;
  static constexpr T kMax = std::numeric_limits<T>::max();
  static constexpr T kInfinity =
      sizeof(T) == 8 ? T(std::uint64_t{0x7FF} << 52) : T(std::uint32_t{0xFF} << 23);
  /// Moves the keys of positive NaN, which would be the greatest, to the least.
  static constexpr T kShift = kFloat ? T(kMax - kInfinity) : T{0};
  /// Keys below are those of NaN.
  static constexpr T kEndOfNan = std::numeric_limits<T>::min() + 2 * kShift;

  explicit Least(std::uint64_t bits) noexcept : flip(static_cast<T>(bits)) {}

  T neutral() const noexcept { return raw(kMax); }
  template <class X>
  [[gnu::always_inline]] X key(X x) const noexcept {
    if constexpr (!kFloat) return static_cast<X>(x ^ flip);
    const X ordered = magnitude_order(x) ^ flip;
    using U = typename UnsignedOf<X>::type;
    return (X)((U)ordered + static_cast<std::make_unsigned_t<T>>(kShift));
  }
  T raw(T x) const noexcept {
    if constexpr (!kFloat) return static_cast<T>(x ^ flip);
    using U = std::make_unsigned_t<T>;
    const T ordered = static_cast<T>(static_cast<U>(x) - static_cast<U>(kShift));
    return magnitude_order(static_cast<T>(ordered ^ flip));
  }
  template <class X>
  [[gnu::always_inline]] X combine(X a, X b) const noexcept {
    return a < b ? a : b;
  }
  template <class X>
  [[gnu::always_inline]] X accumulate(X a, X x) const noexcept {
    return key(x) < key(a) ? x : a;
  }

  T flip;

 private:
  /// The bits of a float as a signed integer of the same order, and back.
  template <class X>
  [[gnu::always_inline]] static X magnitude_order(X x) noexcept {
    if constexpr (std::is_integral_v<X>)
      return x < 0 ? x ^ kMax : x;
    else
      return x ^ ((x < 0) & kMax);
  }
};

/// The order of Least for a dtype: see there.
constexpr std::uint64_t order_flip(bool greatest, bool is_unsigned, int bits) noexcept {
  const std::uint64_t all = greatest ? ~std::uint64_t{0} : 0;
  return is_unsigned ? all ^ (std::uint64_t{1} << (bits - 1)) : all;
}

/// The lanes of a block that are combined at once: eight vectors, which fit the registers.
template <class T>
struct Lanes {
  Vector<T> at[8];
};
constexpr int kLanesBytes = 8 * kVectorBytes;
constexpr int kParts = kRowBytes / kLanesBytes;

template <int kCount, class F>
[[gnu::always_inline]] inline void unrolled(F f) noexcept {
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (f(std::integral_constant<int, i>{}), ...);
  }(std::make_integer_sequence<int, kCount>{});
}

/// The keys of the lanes at `in`, combined over `rows` >= 1 rows.
template <class Op>
[[gnu::always_inline]] inline auto fold_rows(const Op& op, const std::byte* in,
                                             std::int64_t rows) noexcept {
  using V = Vector<typename Op::Lane>;
  Lanes<typename Op::Lane> acc;
  unrolled<8>([&](auto i) { acc.at[i] = op.key(load<V>(in + i * kVectorBytes)); });
  for (std::int64_t row = 1; row < rows; ++row) {
    in += kRowBytes;
    unrolled<8>(
        [&](auto i) { acc.at[i] = op.combine(acc.at[i], op.key(load<V>(in + i * kVectorBytes))); });
  }
  return acc;
}

/// The key of one element, or of the parts of one.
template <class Op>
struct Folded {
  typename Op::Lane parts[Op::kUnit];
};

/// The lanes of one vector, combined by halves.
template <class Op>
[[gnu::always_inline]] inline Folded<Op> fold_vector(const Op& op,
                                                     Vector<typename Op::Lane> vector) noexcept {
  using T = typename Op::Lane;
  constexpr int kWide = kVectorBytes / static_cast<int>(sizeof(T));
  T lanes[kWide];
  __builtin_memcpy(lanes, &vector, sizeof lanes);
#pragma GCC unroll 8
  for (int half = kWide / 2; half >= Op::kUnit; half /= 2) {
#pragma GCC unroll 32
    for (int i = 0; i < half; ++i) lanes[i] = op.combine(lanes[i], lanes[i + half]);
  }
  Folded<Op> out;
  __builtin_memcpy(out.parts, lanes, sizeof out.parts);
  return out;
}

/// The first lanes of `bytes` bytes at `in`; the others are neutral.
template <class T, int kBytes>
struct Padded {
  alignas(32) std::byte bytes[kBytes];
  [[gnu::always_inline]] Padded(T neutral, const std::byte* in, std::int64_t count) noexcept {
    const Vector<T> fill = Vector<T>{} + neutral;
    for (int i = 0; i < kBytes; i += kVectorBytes) store(bytes + i, fill);
    __builtin_memcpy(bytes, in, static_cast<std::size_t>(count));
  }
};

/// Combines the 1 to kBlockBytes bytes of a block.
template <class Op>
inline Folded<Op> fold_block(const Op& op, const std::byte* in, std::int64_t bytes) noexcept {
  using T = typename Op::Lane;
  using V = Vector<T>;
  if (bytes <= kVectorBytes) {
    const Padded<T, kVectorBytes> only(op.neutral(), in, bytes);
    return fold_vector(op, op.key(load<V>(only.bytes)));
  }
  const std::int64_t rows = bytes / kRowBytes;
  const std::int64_t rest = bytes % kRowBytes;
  Lanes<T> parts[kParts];
  if (rest == 0) {
    unrolled<kParts>([&](auto p) { parts[p] = fold_rows(op, in + p * kLanesBytes, rows); });
  } else {
    const Padded<T, kRowBytes> last(op.neutral(), in + rows * kRowBytes, rest);
    unrolled<kParts>([&](auto p) {
      parts[p] = fold_rows(op, last.bytes + p * kLanesBytes, 1);
      if (rows == 0) return;
      const Lanes<T> whole = fold_rows(op, in + p * kLanesBytes, rows);
      unrolled<8>([&](auto i) { parts[p].at[i] = op.combine(whole.at[i], parts[p].at[i]); });
    });
  }
  Lanes<T>& acc = parts[0];
  if constexpr (kParts == 2)
    unrolled<8>([&](auto i) { acc.at[i] = op.combine(acc.at[i], parts[1].at[i]); });
  unrolled<4>([&](auto i) { acc.at[i] = op.combine(acc.at[i], acc.at[i + 4]); });
  unrolled<2>([&](auto i) { acc.at[i] = op.combine(acc.at[i], acc.at[i + 2]); });
  return fold_vector(op, op.combine(acc.at[0], acc.at[1]));
}

}  // namespace
}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
