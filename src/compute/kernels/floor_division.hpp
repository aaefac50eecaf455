// Kernels of quotients rounded down and of remainders of floats: a vector of doubles at a time.
//
// The results are those of the functors, which compute the few elements that vectors do not. An
// element's result does not depend on the others of its vector.
#pragma once

#include "compute/kernels/vectors.hpp"
#include "compute/ops/functors/division.hpp"

namespace refarray::core::kernels {
namespace {

using Doubles = Lanes<double>;
using Words = Lanes<std::int64_t>;
constexpr int kDoubles = kWidth / 8;

[[gnu::always_inline]] inline Words bits(Doubles x) noexcept { return (Words)x; }
[[gnu::always_inline]] inline Doubles where(Words mask, Doubles x) noexcept {  // 0.0 elsewhere
  return (Doubles)(mask & bits(x));
}
[[gnu::always_inline]] inline Doubles magnitude(Doubles x) noexcept {
  return (Doubles)(bits(x) & ~functors::kSignBit<std::int64_t>);
}

/// The operands of a vector of results: with y's sign removed from y, and the same done to x.
struct Operands {
  Doubles x, y;
  Words sign;  // of y
};
template <class T>
using Packed = typename VectorOf<T, kDoubles * sizeof(T)>::type;
constexpr std::int64_t kSignOnly = functors::kSignBit<std::int64_t>;

/// A loop, for which g++ 12 finds the instruction; of __builtin_convertvector it makes several.
template <class To, class From>
[[gnu::always_inline]] inline To converted(From from) noexcept {
  To out;
  for (int i = 0; i < kDoubles; ++i)
    out[i] = static_cast<std::remove_cvref_t<decltype(out[0])>>(from[i]);
  return out;
}

template <class T>
[[gnu::always_inline]] inline Operands load_operands(const std::byte* x,
                                                     const std::byte* y) noexcept {
  const Doubles dividend = converted<Doubles>(load<Packed<T>>(x));
  const Doubles divisor = converted<Doubles>(load<Packed<T>>(y));
  const Words sign = bits(divisor) & kSignOnly;
  return {(Doubles)(bits(dividend) ^ sign), (Doubles)(bits(divisor) ^ sign), sign};
}

struct Division {
  Doubles floor;  // of the quotient
  Doubles rest;   // x - floor * y, rounded once
  Words is_exact;
};

constexpr double kEnd = 0x1p25;          // of quotients that divide() takes
constexpr double kEndOfFloors = 0x1p52;  // of those whose floors divide_far() takes

/// x - factor * y, exactly, for a factor of 25 significant bits near x / y: y is taken apart into
/// 27 and 26 bits, so that the products are exact, and the differences lose the bits that they
/// would have no room for.
[[gnu::always_inline]] inline Doubles subtract(Doubles x, Doubles factor, Doubles y) noexcept {
  const Doubles high = (Doubles)(bits(y) & -(std::int64_t{1} << 26));
  return (x - factor * high) - factor * (y - high);
}

/// Of y >= 0. Not exact: NaN, infinities, y = 0, overflows, and quotients from kEnd on.
[[gnu::always_inline]] inline Division divide(Doubles x, Doubles y, Doubles quotient) noexcept {
  constexpr double kRounding = 0x1.8p52;  // added to a number, it leaves an integer
  const Doubles nearest = (quotient + kRounding) - kRounding;
  const Doubles rest = subtract(x, nearest, y);
  const Words is_above = rest < 0.0;
  return {nearest - where(is_above, Doubles{} + 1.0), rest + where(is_above, y),
          (magnitude(quotient) < kEnd) & (magnitude(rest) <= y)};
}

/// The same for quotients up to `end`: 25 bits of them at a time.
[[gnu::always_inline]] inline Division divide_far(Doubles x, Doubles y, double end) noexcept {
  Doubles quotient = x / y, whole{};
  for (;;) {
    const Doubles size = magnitude(quotient);
    const Words is_large = (size >= kEnd) & (size < end);
    if (all(~is_large)) break;
    const Doubles part = (Doubles)(bits(quotient) & -(std::int64_t{1} << 28) & is_large);
    x = subtract(x, part, y);
    whole += part;
    quotient = x / y;
  }
  Division out = divide(x, y, quotient);
  out.floor += whole;
  return out;
}

template <class F>
constexpr bool is_floor = std::is_same_v<F, functors::FloorDivide>;

/// Floors that are 0 have the sign of the quotient, remainders the sign of y. float32 has the same
/// result as if it were rounded once: a double has more than twice its digits.
template <class F>
[[gnu::always_inline]] inline Doubles result_of(const Division& division,
                                                const Operands& operands) noexcept {
  if constexpr (is_floor<F>)
    return (Doubles)(bits(division.floor) | (bits(operands.x) & kSignOnly));
  else
    return (Doubles)(bits(division.rest) ^ operands.sign);
}

template <class F, class T>
[[gnu::noinline]] void divide_slowly(std::byte* out, const std::byte* x,
                                     const std::byte* y) noexcept {
  const Operands operands = load_operands<T>(x, y);
  const Division division =
      divide_far(operands.x, operands.y, is_floor<F> ? kEndOfFloors : functors::kInfinity<double>);
  Packed<T> results = converted<Packed<T>>(result_of<F>(division, operands));
  for (int i = 0; i < kDoubles; ++i)
    if (division.is_exact[i] == 0) results[i] = F::apply(load<T>(x, i), load<T>(y, i));
  store(out, results);
}

/// One vector of elements. `out` may be `x` or `y`.
template <class F, class T>
[[gnu::always_inline]] inline void divide_block(std::byte* out, const std::byte* x,
                                                const std::byte* y) noexcept {
  const Operands operands = load_operands<T>(x, y);
  const Division division = divide(operands.x, operands.y, operands.x / operands.y);
  if (!all(division.is_exact)) [[unlikely]]
    return divide_slowly<F, T>(out, x, y);
  store(out, converted<Packed<T>>(result_of<F>(division, operands)));
}

template <class F, class T>
void floor_division_kernel(std::byte* out, const std::byte* const* in, std::int64_t count,
                           unsigned scalars) noexcept {
  const Blocks<T, kDoubles> x(in[0], (scalars & 1) != 0), y(in[1], (scalars & 2) != 0);
  std::int64_t i = 0;
  for (; i + kDoubles <= count; i += kDoubles)
    divide_block<F, T>(out + i * static_cast<std::int64_t>(sizeof(T)), x.at(i), y.at(i));
  if (i == count) return;
  T first[kDoubles], second[kDoubles];  // 1 % 1 where elements are missing
  for (int lane = 0; lane < kDoubles; ++lane) first[lane] = second[lane] = 1;
  const auto size = static_cast<std::size_t>(count - i) * sizeof(T);
  std::memcpy(first, x.at(i), size);
  std::memcpy(second, y.at(i), size);
  auto* const rest = reinterpret_cast<std::byte*>(first);
  divide_block<F, T>(rest, rest, reinterpret_cast<const std::byte*>(second));
  std::memcpy(out + i * static_cast<std::int64_t>(sizeof(T)), rest, size);
}

}  // namespace
}  // namespace refarray::core::kernels
