// Matrix products and sums of products of vectors by plain loops, in the order that
// compute/linalg/matmul.hpp and docs/array-api.md document.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "../../fuzz/naive_reductions.hpp"
#include "../operands.hpp"
#include "core/copy/copy.hpp"
#include "core/promotion.hpp"

namespace refarray::check {

/// Calls `body` with a number of the C++ type of a dtype. Integers wrap around in an unsigned one.
template <class Body>
void with_type(const DType& dtype, const Body& body) {
  if (dtype == core::scalar_dtype(core::ScalarType::kFloat32)) return body(float{});
  if (dtype == core::scalar_dtype(core::ScalarType::kFloat64)) return body(double{});
  if (dtype == core::scalar_dtype(core::ScalarType::kComplex64)) return body(std::complex<float>{});
  if (dtype == core::scalar_dtype(core::ScalarType::kComplex128))
    return body(std::complex<double>{});
  if (dtype.bits == 8) return body(std::uint8_t{});
  if (dtype.bits == 16) return body(std::uint16_t{});
  if (dtype.bits == 32) return body(std::uint32_t{});
  body(std::uint64_t{});
}

template <class T>
T* elements(const Array& array) {
  return reinterpret_cast<T*>(array.data);
}

/// a * b + sum, rounded once. The functions of musl and zig give +0 for a negative product that
/// underflows, plus +0.
template <class T>
T fused(T a, T b, T sum) {
  return sum == 0 && a != 0 && b != 0 ? a * b : std::fma(a, b, sum);
}

template <class T>
T times_plus(T a, T b, T sum) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(std::uint64_t{a} * b + sum);
  if constexpr (std::is_floating_point_v<T>) return fused(a, b, sum);
}
template <class T>
std::complex<T> times_plus(std::complex<T> a, std::complex<T> b, std::complex<T> sum) {
  return {fused(-a.imag(), b.imag(), fused(a.real(), b.real(), sum.real())),
          fused(a.imag(), b.real(), fused(a.real(), b.imag(), sum.imag()))};
}

constexpr std::int64_t kSlice = 256;  // terms that are added before they go to the result

template <class T>
constexpr T kMinusZero = std::is_integral_v<T> ? T{0} : -T{0};
template <class T>
constexpr std::complex<T> kMinusZero<std::complex<T>>{-T{0}, -T{0}};

/// The element of a product. `step`: elements from one of `b` to the next.
template <class T>
T element(const T* a, const T* b, std::int64_t step, std::int64_t depth) {
  T out{};
  for (std::int64_t begin = 0; begin < depth; begin += kSlice) {
    T sum = kMinusZero<T>;
    for (std::int64_t k = begin; k < std::min(begin + kSlice, depth); ++k)
      sum = times_plus(a[k], b[k * step], sum);
    out = begin == 0 ? sum : static_cast<T>(out + sum);
  }
  return out;
}

/// The operand's matrices, one for each of those of the result.
inline Array stacked(const ArrayView& x, const List& batch) {
  List shape = batch;
  shape.insert(shape.end(), x.shape + x.ndim - 2, x.shape + x.ndim);
  return contiguous(
      core::with_layout(x, core::broadcast_layout(x.extents(), x.stride_span(), shape), 0));
}

inline Array product(const ArrayView& x1, const ArrayView& x2, const List& shape) {
  const List batch(shape.begin(), shape.end() - 2);
  const Array left = stacked(x1, batch), right = stacked(x2, batch);
  const std::int64_t rows = shape.end()[-2], columns = shape.end()[-1];
  const std::int64_t depth = x1.shape[x1.ndim - 1];
  Array out = new_array(x1.dtype, shape, true);
  with_type(x1.dtype, [&]<class T>(T) {
    for (std::int64_t i = 0; i < core::size_of(batch) * rows; ++i) {
      const T* const matrix = elements<T>(right) + i / rows * depth * columns;
      for (std::int64_t j = 0; j < columns; ++j)
        elements<T>(out)[i * columns + j] =
            element(elements<T>(left) + i * depth, matrix + j, columns, depth);
    }
  });
  return out;
}

/// Those of other dtypes than float16 and bfloat16.
inline Array row_sums(const ArrayView& x1, const ArrayView& x2, const List& shape) {
  const DType& dtype = x1.dtype;
  const Array a = contiguous(x1), b = contiguous(x2);
  Array out = new_array(dtype, shape, true);
  const std::int64_t depth = x1.shape[x1.ndim - 1];
  with_type(dtype, [&]<class T>(T) {
    for (std::int64_t i = 0; depth > 0 && i < out.view().size(); ++i) {
      fuzz::Numbers<T> terms;
      for (std::int64_t k = i * depth; k < (i + 1) * depth; ++k) {
        const T x = elements<T>(a)[k], y = elements<T>(b)[k];
        if constexpr (std::is_integral_v<T>) terms.push_back(times_plus(x, y, T{0}));
        if constexpr (std::is_floating_point_v<T>) terms.push_back(x * y);
        if constexpr (!std::is_arithmetic_v<T>) terms.push_back(fuzz::times(std::conj(x), y));
      }
      elements<T>(out)[i] = fuzz::in_order(terms, [](T x, T y) { return static_cast<T>(x + y); });
    }
  });
  return out;
}

/// Those of float16 and bfloat16: products are rounded to the dtype, sums are float32.
inline Array narrow_sums(const ArrayView& x1, const ArrayView& x2, const List& shape) {
  const DType wide = core::scalar_dtype(core::ScalarType::kFloat32);
  const Array factors[] = {new_array(wide, x1.extents(), false),
                           new_array(wide, x1.extents(), false)};
  copy(factors[0], x1);
  copy(factors[1], x2);
  for (std::int64_t i = 0; i < x1.size(); ++i)
    elements<float>(factors[0])[i] *= elements<float>(factors[1])[i];
  const Array rounded = new_array(x1.dtype, x1.extents(), false);
  copy(rounded, factors[0]);
  copy(factors[0], rounded);
  for (std::int64_t i = 0; i < x1.size(); ++i) elements<float>(factors[1])[i] = 1;
  const Array out = new_array(x1.dtype, shape, false);
  copy(out, row_sums(factors[0], factors[1], shape));
  return out;
}

/// The sums of products of the last axis, which has extent 1 in `shape`.
inline Array sums_of_products(const ArrayView& x1, const ArrayView& x2, const List& shape) {
  const bool is_narrow = x1.dtype == core::scalar_dtype(core::ScalarType::kFloat16) ||
                         x1.dtype == core::scalar_dtype(core::ScalarType::kBfloat16);
  return is_narrow ? narrow_sums(x1, x2, shape) : row_sums(x1, x2, shape);
}

}  // namespace refarray::check
