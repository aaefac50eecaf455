// Matrices of Eigen: copies from and to strided arrays, and scaling by powers of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "compute/linalg/decompositions/parts/eigen.hpp"
#include "core/array.hpp"
#include "core/copy/copy.hpp"

namespace refarray::core {

using Eigen::Index;

/// Column-major, in memory of its own. So the order of additions depends on no caller's alignment.
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <class T>
inline constexpr bool kIsComplex = !std::is_floating_point_v<T>;
template <class T>
inline constexpr DType kDTypeOf = {kIsComplex<T> ? Kind::kComplex : Kind::kFloat,
                                   static_cast<std::uint8_t>(8 * sizeof(T))};

/// Calls `body(T{})` with the type of the elements: double or std::complex<double>.
template <class Body>
auto with_scalar(const DType& dtype, const Body& body) {
  return dtype.is_complex() ? body(std::complex<double>{}) : body(double{});
}

// --- copies

/// A view of a matrix or, with the ndim of `like` 1 or 0, of a vector or a number.
template <class M>
struct ViewOf {
  ViewOf(const M& matrix, const ArrayView& like) noexcept
      : shape{matrix.rows(), matrix.cols()}, strides{1, matrix.rows()} {
    view.data = reinterpret_cast<std::byte*>(
        const_cast<std::remove_const_t<typename M::Scalar>*>(matrix.data()));
    view.dtype = kDTypeOf<typename M::Scalar>;
    view.ndim = like.ndim;
    view.shape = shape;
    view.strides = strides;
  }
  ViewOf(const ViewOf&) = delete;
  ViewOf& operator=(const ViewOf&) = delete;

  std::int64_t shape[2];
  std::int64_t strides[2];
  ArrayView view;
};

/// Elements of a matrix for which plain loops take less time than calls of blocked algorithms, or
/// of a copy that is planned first.
inline constexpr Index kFew = 256;

/// Calls `body(address in the array, element of the matrix)` for each element.
template <class M, class Body>
void each_element(const ArrayView& array, M& matrix, const Body& body) {
  constexpr std::int64_t kSize = sizeof(typename M::Scalar);
  if (matrix.size() == 0) return;
  // Strides of axes of extent 1 may be any numbers; as steps they could overflow.
  const std::int64_t down = matrix.rows() > 1 ? array.strides[0] * kSize : 0;
  const std::int64_t right = matrix.cols() > 1 ? array.strides[1] * kSize : 0;
  auto* element = matrix.data();
  for (Index j = 0; j < matrix.cols(); ++j)
    for (Index i = 0; i < matrix.rows(); ++i) body(array.data + i * down + j * right, *element++);
}

template <class M>
bool is_few_of(const DType& dtype, const M& matrix) noexcept {
  return matrix.size() <= kFew && dtype == kDTypeOf<typename M::Scalar>;
}

/// The elements of a matrix or vector. A real array may become a complex matrix. Throws kMemory.
template <class M>
void load(M& to, const ArrayView& from) {
  to.resize(from.shape[0], from.ndim == 2 ? from.shape[1] : 1);
  if (!is_few_of(from.dtype, to)) {
    copy(ViewOf(to, from).view, from);
    return;
  }
  each_element(from, to, [](const std::byte* at, auto& x) { std::memcpy(&x, at, sizeof x); });
}

/// Writes a matrix, vector or (ndim 0) number. Throws kMemory.
template <class M>
void store(const ArrayView& to, const M& from) {
  if (!is_few_of(to.dtype, from)) {
    copy(to, ViewOf(from, to).view);
    return;
  }
  each_element(to, from, [](std::byte* at, const auto& x) { std::memcpy(at, &x, sizeof x); });
}

template <class T>
void store_number(const ArrayView& to, T value) {
  store(to, Eigen::Matrix<T, 1, 1>(value));
}

/// A number in every element.
template <class T>
void store_everywhere(const ArrayView& to, T value) {
  Eigen::Matrix<T, 1, 1> number(value);
  ViewOf<Eigen::Matrix<T, 1, 1>> everywhere(number, to);
  for (int axis = 0; axis < to.ndim; ++axis) {
    everywhere.shape[axis] = to.shape[axis];
    everywhere.strides[axis] = 0;
  }
  copy(to, everywhere.view);
}

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// NaN in every element of outputs, which are complex or real.
template <class... Outputs>
void store_nan(const Outputs&... outputs) {
  const auto store_one = [](const ArrayView& to) {
    with_scalar(to.dtype, [&]<class T>(T) { store_everywhere(to, T(kNaN)); });
  };
  (store_one(outputs), ...);
}

// --- powers of two

/// The numbers in a contiguous range: the real and the imaginary parts of complex elements.
template <class T>
std::span<const double> parts_of(const T* data, Index count) noexcept {
  return {reinterpret_cast<const double*>(data),
          static_cast<std::size_t>(count) * (sizeof(T) / sizeof(double))};
}

inline constexpr int kNoExponent = std::numeric_limits<int>::min();  // all numbers are zero
inline constexpr int kNotFinite = std::numeric_limits<int>::max();   // one is NaN or infinite

/// The e with 2^e <= m < 2^(e + 1) for the number m of the greatest magnitude.
inline int exponent_of(std::span<const double> numbers) noexcept {
  std::uint64_t greatest = 0;
  for (const double each : numbers)
    greatest = std::max(greatest, std::bit_cast<std::uint64_t>(each) << 1);
  if (greatest == 0) return kNoExponent;
  const int biased = static_cast<int>(greatest >> 53);
  if (biased == 0x7FF) return kNotFinite;
  return biased > 0 ? biased - 1023 : std::ilogb(std::bit_cast<double>(greatest >> 1));
}
template <class T>
int exponent_of(const Matrix<T>& matrix) noexcept {
  return exponent_of(parts_of(matrix.data(), matrix.size()));
}

/// value * 2^exponent, for any exponent.
inline double scaled(double value, std::int64_t exponent) noexcept {
  if (exponent > -1023 && exponent < 1024)
    return value * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  return std::ldexp(value, static_cast<int>(std::clamp<std::int64_t>(exponent, -5000, 5000)));
}
inline std::complex<double> scaled(std::complex<double> value, std::int64_t exponent) noexcept {
  return {scaled(value.real(), exponent), scaled(value.imag(), exponent)};
}

/// Multiplies the elements by 2^exponent.
template <class M>
void scale(M& matrix, int exponent) {
  // In two steps: 2^exponent itself may be out of range.
  for (const int part : {exponent / 2, exponent - exponent / 2})
    if (part != 0) matrix *= std::ldexp(1.0, part);
}

/// Divides the matrix by the power of two that leaves numbers below 2, and returns its exponent;
/// so squares and products of elements stay in range. Nothing if an element is not finite.
template <class T>
std::optional<int> normalize(Matrix<T>& matrix) {
  const int exponent = exponent_of(matrix);
  if (exponent == kNotFinite) return std::nullopt;
  if (exponent == kNoExponent) return 0;
  scale(matrix, -exponent);
  return exponent;
}

/// Whether numbers of this exponent may be squared and divided, also after some cancellation.
inline bool is_moderate(int exponent) noexcept {
  return exponent == kNoExponent || (exponent > -400 && exponent < 400);
}

}  // namespace refarray::core
