// What reductions do with two elements: sums, products, and the lesser one by a key that orders
// integers and floats alike; on vectors and on single lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compute/kernels/reducing/reductions.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

template <class T>
using Vector = typename VectorOf<T, kVectorBytes>::type;

// The operations below work on vectors (X = Vector<Lane>) and on single lanes (X = Lane). key() is
// applied to elements once, before they are combined; raw() is its inverse.

/// Elements are combined as they are.
struct Elements {
  template <class X>
  [[gnu::always_inline]] X key(X x) const noexcept {
    return x;
  }
  template <class X>
  [[gnu::always_inline]] X raw(X x) const noexcept {
    return x;
  }
};

/// kUnit 2: a lane is a real or imaginary part of a complex number.
template <class T, int kUnitLanes = 1>
struct Add : Elements {
  using Lane = T;
  static constexpr int kUnit = kUnitLanes;

  explicit Add(std::uint64_t) noexcept {}
  /// -0.0 + x is x for every x; 0.0 + -0.0 is not -0.0.
  static constexpr T neutral() noexcept {
    if constexpr (std::is_floating_point_v<T>) return T{-0.0};
    return T{0};
  }
  template <class X>
  [[gnu::always_inline]] X combine(X a, X b) const noexcept {
    return a + b;
  }
};

template <class T>
struct Multiply : Elements {
  using Lane = T;
  static constexpr int kUnit = 1;

  explicit Multiply(std::uint64_t) noexcept {}
  static constexpr T neutral() noexcept { return T{1}; }
  template <class X>
  [[gnu::always_inline]] X combine(X a, X b) const noexcept {
    return a * b;
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
  template <class X>
  [[gnu::always_inline]] X raw(X key) const noexcept {
    if constexpr (!kFloat) return static_cast<X>(key ^ flip);
    using U = typename UnsignedOf<X>::type;
    const X ordered = (X)((U)key - static_cast<std::make_unsigned_t<T>>(kShift));
    return magnitude_order(static_cast<X>(ordered ^ flip));
  }
  template <class X>
  [[gnu::always_inline]] X combine(X a, X b) const noexcept {
    return a < b ? a : b;
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

}  // namespace
}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
