// Owns the table of conversion kernels: one cell per ordered pair of scalar kinds that convert in
// one step.
#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/kernels/table.hpp"
#include "core/run.hpp"
#include "refarray/core/element.hpp"

namespace refarray::core::kernels {
namespace {

template <class T>
struct ComplexPart {};
template <class T>
struct ComplexPart<std::complex<T>> {
  using type = T;
};
template <>
struct ComplexPart<Complex32> {
  using type = Float16;
};
template <class T>
concept Complex = requires { typename ComplexPart<T>::type; };
template <class T>
concept WideComplex = Complex<T> && !std::is_same_v<T, Complex32>;
template <class T>
concept Small = requires {
  { T::from(0.0F).code } -> std::convertible_to<unsigned>;
};
template <class T>
constexpr bool is_bool = std::is_same_v<T, Bool>;
/// What C++ itself converts. The others have kernels to and from float32 only (see
/// Recipe::push_cast).
template <class T>
concept Native = std::is_arithmetic_v<T> || is_bool<T> || WideComplex<T>;

/// The table's rule: which pairs convert in one step.
template <class S, class D>
constexpr bool is_direct() {
  if constexpr (std::is_same_v<S, D>)
    return false;  // that is a move
  else if constexpr (Native<S> && Native<D>)
    return !WideComplex<S> || WideComplex<D> || is_bool<D>;
  else if constexpr (Small<S>)
    return std::is_same_v<D, float>;
  else if constexpr (std::is_same_v<D, Float16>)
    return std::is_same_v<S, float> || std::is_same_v<S, double>;
  else if constexpr (Small<D>)
    return std::is_same_v<S, float>;
  else if constexpr (std::is_same_v<S, Complex32>)
    return std::is_same_v<D, std::complex<float>>;
  else
    return std::is_same_v<S, float> || std::is_same_v<S, std::complex<float>>;
}

/// Towards zero; the range's ends beyond it; 0 for NaN. Every conversion that is evaluated is in
/// range.
template <class I, class F>
constexpr I saturate(F value) noexcept {
  constexpr F kEnd = static_cast<F>(std::uint64_t{1} << (std::numeric_limits<I>::digits - 1)) * 2;
  constexpr F kBegin = static_cast<F>(std::numeric_limits<I>::min());
  const F inside = value >= kBegin && value < kEnd ? value : F{0};
  I out = static_cast<I>(inside);
  out = value >= kEnd ? std::numeric_limits<I>::max() : out;
  return value < kBegin ? std::numeric_limits<I>::min() : out;
}

/// The values of all codes of a type of one byte, among them those with stray bits above a narrower
/// value.
template <Small S>
constexpr auto kValues = [] {
  std::array<float, 256> values{};
  for (unsigned code = 0; code < values.size(); ++code)
    values[code] = S{static_cast<std::uint8_t>(code)}.value();
  return values;
}();

template <class D, class S>
constexpr D convert(S value) noexcept {
  if constexpr (is_bool<D>) {
    return Bool{static_cast<std::uint8_t>(value != S{})};
  } else if constexpr (is_bool<S>) {
    return convert<D>(static_cast<std::uint8_t>(value.byte != 0));
  } else if constexpr (Small<S>) {
    if constexpr (sizeof(S) == 1)
      return kValues<S>[value.code];
    else
      return value.value();
  } else if constexpr (Small<D>) {
    return D::from(value);
  } else if constexpr (Complex<D>) {
    using Part = typename ComplexPart<D>::type;
    return {convert<Part>(value), Part{}};
  } else if constexpr (std::is_integral_v<D> && std::is_floating_point_v<S>) {
    return saturate<D>(value);
  } else {
    return static_cast<D>(value);  // between integers: modulo 2^n
  }
}

template <class S, class D>
inline void cast_strided(std::byte* __restrict dst, const std::byte* __restrict src,
                         std::int64_t dst_step, std::int64_t src_step,
                         std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    S value;
    std::memcpy(&value, src + i * src_step, sizeof(S));  // neither side need be aligned
    const D result = convert<D>(value);
    std::memcpy(dst + i * dst_step, &result, sizeof(D));
  }
}

/// Complex to complex is two reals to two reals.
template <class S, class D>
void cast_parts(const Run& dst, const Run& src, std::int64_t count) noexcept {
  using From = typename ComplexPart<S>::type;
  using To = typename ComplexPart<D>::type;
  if (dst.stride == sizeof(D) * 8 && src.stride == sizeof(S) * 8) {
    cast_strided<From, To>(dst.data, src.data, sizeof(To), sizeof(From), 2 * count);
    return;
  }
  cast_strided<From, To>(dst.data, src.data, dst.stride / 8, src.stride / 8, count);
  cast_strided<From, To>(dst.data + sizeof(To), src.data + sizeof(From), dst.stride / 8,
                         src.stride / 8, count);
}

template <class S, class D>
void cast_run(const Run& dst, const Run& src, std::int64_t count) noexcept {
  if constexpr (Complex<S> && Complex<D>) {
    cast_parts<S, D>(dst, src, count);
  } else if (dst.stride == sizeof(D) * 8 && src.stride == sizeof(S) * 8) {
    cast_strided<S, D>(dst.data, src.data, sizeof(D), sizeof(S),
                       count);  // constant steps: this one vectorises
  } else {
    cast_strided<S, D>(dst.data, src.data, dst.stride / 8, src.stride / 8, count);
  }
}

/// Between integers only the sizes matter, and the sign of the narrower: fewer kernels do the same
/// work.
template <class S, class D>
constexpr CastKernel kernel() {
  constexpr bool kIntegers = std::is_integral_v<S> && std::is_integral_v<D>;
  if constexpr (!is_direct<S, D>()) {
    return nullptr;
  } else if constexpr (kIntegers && sizeof(D) <= sizeof(S)) {
    return &cast_run<std::make_unsigned_t<S>, std::make_unsigned_t<D>>;
  } else if constexpr (kIntegers) {
    return &cast_run<S, std::make_unsigned_t<D>>;
  } else {
    return &cast_run<S, D>;
  }
}

constexpr auto kKernels = Elements::table(
    []<class D>() { return Elements::table([]<class S>() { return kernel<S, D>(); }); });

CastKernel cast_kernel(int to, int from) noexcept {
  return kKernels[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
}

}  // namespace
}  // namespace refarray::core::kernels
