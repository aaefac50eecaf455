// The table of conversion kernels: one for each ordered pair of scalar types with a direct
// conversion.
#pragma once

#include <array>
#include <cstring>
#include <type_traits>

#include "core/copy/strided_span.hpp"
#include "core/element.hpp"
#include "core/kernels/convert.hpp"
#include "core/kernels/table.hpp"

namespace refarray::core::kernels {
namespace {

/// Types that C++ converts itself. The others have kernels from and to float32 or complex64,
/// through which the remaining pairs go (see ConversionChain::push_cast()), from types with values
/// that float32 would round, and from 16-bit floats to double, in which functions of them are
/// computed. complex64 and complex128 are made of their parts' type only.
template <class T>
concept Native = std::is_arithmetic_v<T> || is_bool<T> || WideComplex<T>;

/// Whether the table has a kernel for a pair of types.
template <class S, class D>
constexpr bool is_direct() {
  if constexpr (std::is_same_v<S, D>)
    return false;  // needs no conversion
  else if constexpr (WideComplex<D> && !Complex<S>)
    return std::is_same_v<S, typename ComplexPart<D>::type>;
  else if constexpr (Native<S> && Native<D>)
    return !WideComplex<S> || WideComplex<D> || is_bool<D>;
  else if constexpr (Small<S>)
    return std::is_same_v<D, float> || (std::is_same_v<D, double> && sizeof(S) == 2);
  else if constexpr (Small<D>)
    return std::is_floating_point_v<S> || (is_wide_integer<S> && has_wide_range<D>);
  else if constexpr (std::is_same_v<S, Complex32>)
    return std::is_same_v<D, std::complex<float>>;
  else
    return std::is_floating_point_v<S> || WideComplex<S>;  // to complex32
}

/// In a form that g++ vectorizes for every pair of sizes.
template <class D, class S>
constexpr D converted(S value) noexcept {
  if constexpr (is_bool<S> && std::is_floating_point_v<D>)
    return value.byte != 0 ? D{1} : D{0};
  else
    return convert<D>(value);
}

template <class S, class D>
inline void cast_strided(std::byte* __restrict dst, const std::byte* __restrict src,
                         std::int64_t dst_step, std::int64_t src_step,
                         std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    S value;
    std::memcpy(&value, src + i * src_step, sizeof(S));  // neither side need be aligned
    if constexpr (WideComplex<D>) {                      // S is the type of the parts
      const S parts[2] = {value, S{}};
      std::memcpy(dst + i * dst_step, &parts[0], sizeof(S));
      std::memcpy(dst + i * dst_step + sizeof(S), &parts[1], sizeof(S));
    } else {
      const D result = converted<D>(value);
      std::memcpy(dst + i * dst_step, &result, sizeof(D));
    }
  }
}

/// Complex to complex, as two conversions of reals.
template <class S, class D>
void cast_parts(const StridedSpan& dst, const StridedSpan& src, std::int64_t count) noexcept {
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
void cast_span(const StridedSpan& dst, const StridedSpan& src, std::int64_t count) noexcept {
  if constexpr (Complex<S> && Complex<D>) {
    cast_parts<S, D>(dst, src, count);
  } else if (dst.stride == sizeof(D) * 8 && src.stride == sizeof(S) * 8) {
    cast_strided<S, D>(dst.data, src.data, sizeof(D), sizeof(S),
                       count);  // constant strides: the compiler vectorizes this
  } else {
    cast_strided<S, D>(dst.data, src.data, dst.stride / 8, src.stride / 8, count);
  }
}

/// An integer conversion depends only on the two sizes and, if it widens, on the signedness of the
/// source, so several pairs share a kernel.
template <class S, class D>
constexpr CastKernel kernel() {
  constexpr bool kIntegers = std::is_integral_v<S> && std::is_integral_v<D>;
  if constexpr (!is_direct<S, D>()) {
    return nullptr;
  } else if constexpr (kIntegers && sizeof(D) <= sizeof(S)) {
    return &cast_span<std::make_unsigned_t<S>, std::make_unsigned_t<D>>;
  } else if constexpr (kIntegers) {
    return &cast_span<S, std::make_unsigned_t<D>>;
  } else {
    return &cast_span<S, D>;
  }
}

constexpr auto kKernels = Elements::table(
    []<class D>() { return Elements::table([]<class S>() { return kernel<S, D>(); }); });

CastKernel cast_kernel(ScalarType to, ScalarType from) noexcept {
  return kKernels[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
}

}  // namespace
}  // namespace refarray::core::kernels
