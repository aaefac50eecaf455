// Kernels of integers divided by one divisor: they multiply by its reciprocal, an integer, by the
// method of Granlund and Montgomery.
#pragma once

#include <bit>

#include "compute/kernels/vectors.hpp"
#include "compute/ops/functors/arithmetic.hpp"

namespace refarray::core::kernels {
namespace {

template <class U>
struct DoubleWidth {};
template <>
struct DoubleWidth<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct DoubleWidth<std::uint32_t> {
  using type = std::uint64_t;
};
#if defined(__SIZEOF_INT128__)
template <>
struct DoubleWidth<std::uint64_t> {
  __extension__ typedef unsigned __int128 type;
};
#endif

/// In which elements are computed: bytes in 16 bits.
template <class T>
using LaneOf =
    std::conditional_t<sizeof(T) == 1,
                       std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>, T>;
/// Of 64 bits only where the compiler has integers of 128.
template <class T>
concept HasReciprocal = requires { typename DoubleWidth<functors::Bits<LaneOf<T>>>::type; };

#if defined(__SSE2__)

/// Products of the lower halves of 64 bits.
[[gnu::always_inline]] inline Lanes<std::uint64_t> multiply_low(Lanes<std::uint64_t> x,
                                                                Lanes<std::uint64_t> y) noexcept {
#if defined(__AVX2__)
  return (Lanes<std::uint64_t>)_mm256_mul_epu32((__m256i)x, (__m256i)y);
#else
  return (Lanes<std::uint64_t>)_mm_mul_epu32((__m128i)x, (__m128i)y);
#endif
}

/// The upper halves of products.
[[gnu::always_inline]] inline Lanes<std::uint16_t> multiply_high(Lanes<std::uint16_t> x,
                                                                 Lanes<std::uint16_t> y) noexcept {
#if defined(__AVX2__)
  return (Lanes<std::uint16_t>)_mm256_mulhi_epu16((__m256i)x, (__m256i)y);
#else
  return (Lanes<std::uint16_t>)_mm_mulhi_epu16((__m128i)x, (__m128i)y);
#endif
}
[[gnu::always_inline]] inline Lanes<std::uint32_t> multiply_high(Lanes<std::uint32_t> x,
                                                                 Lanes<std::uint32_t> y) noexcept {
  using Pairs = Lanes<std::uint64_t>;
  const Pairs low = multiply_low((Pairs)x, (Pairs)y);
  const Pairs high = multiply_low((Pairs)x >> 32, (Pairs)y >> 32);
  return (Lanes<std::uint32_t>)((low >> 32) | (high & ~std::uint64_t{0xFFFF'FFFF}));
}
[[gnu::always_inline]] inline Lanes<std::uint64_t> multiply_high(Lanes<std::uint64_t> x,
                                                                 Lanes<std::uint64_t> y) noexcept {
  const Lanes<std::uint64_t> x_high = x >> 32, y_high = y >> 32;
  const auto first = multiply_low(x_high, y) + (multiply_low(x, y) >> 32);
  const auto second = multiply_low(x, y_high) + (first & 0xFFFF'FFFFU);
  return multiply_low(x_high, y_high) + (first >> 32) + (second >> 32);
}

#else

template <class V>
[[gnu::always_inline]] inline V multiply_high(V x, V y) noexcept {
  using U = std::remove_cvref_t<decltype(x[0])>;
  using Wide = typename DoubleWidth<U>::type;
  for (unsigned i = 0; i < kWidth / sizeof(U); ++i)
    x[i] = static_cast<U>((Wide{x[i]} * y[i]) >> (sizeof(U) * 8));
  return x;
}

#endif

/// Quotients of integers of type T and a divisor, rounded down: kWidth bytes of them at a time.
template <class T>
class Reciprocal {
 public:
  using Unsigned = functors::Bits<LaneOf<T>>;
  using In = Lanes<LaneOf<T>>;
  using Out = Lanes<Unsigned>;

  /// |divisor| >= 2
  explicit Reciprocal(T divisor) noexcept {
    const auto value = static_cast<Unsigned>(divisor);
    const auto size = static_cast<Unsigned>(divisor < T{0} ? Unsigned{0} - value : value);
    const int width = static_cast<int>(std::bit_width(static_cast<Unsigned>(size - 1)));
    const Wide power = Wide{1} << (width - 1);
    if constexpr (kHasTopBit)  // less 2^kBits
      multiplier_ = static_cast<Unsigned>((((2 * power - size) << kBits) / size) + 1);
    else
      multiplier_ = static_cast<Unsigned>(((power << kBits) - 1) / size + 1);
    shift_ = width - 1;
  }

  /// Negative quotients are -1 - (-1 - quotient), whose last term is rounded toward 0.
  template <bool kIsNegative>
  [[gnu::always_inline]] Out quotients(In x) const noexcept {
    if constexpr (std::is_unsigned_v<T>) {
      return divide((Out)x);
    } else {
      const Out flip = kIsNegative ? (Out)(x > In{}) : (Out)(x < In{});
      const Out dividend = kIsNegative ? Out{} - (Out)x : (Out)x;
      return divide(dividend ^ flip) ^ flip;
    }
  }

 private:
  using Wide = typename DoubleWidth<Unsigned>::type;
  static constexpr int kBits = sizeof(Unsigned) * 8;
  /// Whether dividends may be above 2^(kBits - 1).
  static constexpr bool kHasTopBit = std::is_unsigned_v<T> && sizeof(T) == sizeof(Unsigned);

  /// By the reciprocal, whose highest bit is implied if it would not fit: x is added to the
  /// product, and half of the sum taken first, because it might not fit either.
  [[gnu::always_inline]] Out divide(Out x) const noexcept {
    const Out high = multiply_high(x, Out{} + multiplier_);
    if constexpr (kHasTopBit) return (high + ((x - high) >> 1)) >> shift_;
    return high >> shift_;
  }

  Unsigned multiplier_;
  int shift_;
};

template <class F, class T, bool kIsNegative>
struct Divider {
  using In = typename Reciprocal<T>::In;
  using Out = typename Reciprocal<T>::Out;

  [[gnu::always_inline]] Out results(In x) const noexcept {
    const Out quotients = reciprocal.template quotients<kIsNegative>(x);
    if constexpr (std::is_same_v<F, functors::FloorDivide>) return quotients;
    return (Out)x - quotients * static_cast<typename Reciprocal<T>::Unsigned>(divisor);
  }

  /// kWidth bytes of elements. `out` may be `x`.
  [[gnu::always_inline]] void run(std::byte* out, const std::byte* x) const noexcept {
    const In values = load<In>(x);
    if constexpr (sizeof(T) == 1) {  // the elements of even index, and the others
      const Out even = results((In)(values << 8) >> 8), odd = results(values >> 8);
      store(out, (even & 0xFFU) | (odd << 8));
    } else {
      store(out, results(values));
    }
  }

  T divisor;
  Reciprocal<T> reciprocal{divisor};
};

template <class F, class T, bool kIsNegative>
void divide_by(std::byte* out, const std::byte* x, std::int64_t count, T divisor) noexcept {
  const Divider<F, T, kIsNegative> divider{divisor};
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  std::int64_t at = 0;
  for (; at + kWidth <= bytes; at += kWidth) divider.run(out + at, x + at);
  if (at == bytes) return;
  std::byte rest[kWidth] = {};
  std::memcpy(rest, x + at, static_cast<std::size_t>(bytes - at));
  divider.run(rest, rest);
  std::memcpy(out + at, rest, static_cast<std::size_t>(bytes - at));
}

/// Floor divisions and remainders of integers.
template <class F, class T>
void integer_division_kernel(std::byte* out, const std::byte* const* in, std::int64_t count,
                             unsigned scalars) noexcept {
  if constexpr (HasReciprocal<T>) {
    if (scalars == 2) {
      const T divisor = load<T>(in[1], 0);
      if constexpr (std::is_signed_v<T>) {
        if (divisor < -1) return divide_by<F, T, true>(out, in[0], count, divisor);
      }
      if (divisor > 1) return divide_by<F, T, false>(out, in[0], count, divisor);
      if constexpr (std::is_same_v<F, functors::FloorDivide>)  // by 1, 0 or -1
        return binary_kernel<functors::Multiply, T, T>(out, in, count, scalars);
      std::memset(out, 0, static_cast<std::size_t>(count) * sizeof(T));
      return;
    }
  }
  binary_kernel<F, T, T>(out, in, count, scalars);
}

}  // namespace
}  // namespace refarray::core::kernels
