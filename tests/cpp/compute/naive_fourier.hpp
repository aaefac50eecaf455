// Fourier transforms by plain loops in long double, and the error of others.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "compute/fft/transform.hpp"
#include "core/promotion.hpp"

namespace refarray::check {

using core::Array;
using core::Direction;
using core::DType;
using core::scalar_dtype;
using core::ScalarType;

/// std::numbers has it in libc++ with the precision of a double only.
constexpr long double kPi = 3.141592653589793238462643383279502884L;

using Number = std::complex<long double>;
using Numbers = std::vector<Number>;

/// What a transform takes and returns.
enum class Form : std::uint8_t { kComplex, kFromReal, kToReal };
constexpr Form kForms[] = {Form::kComplex, Form::kFromReal, Form::kToReal};

inline DType dtype_of(bool is_complex, bool is_wide) {
  if (is_complex) return scalar_dtype(is_wide ? ScalarType::kComplex128 : ScalarType::kComplex64);
  return scalar_dtype(is_wide ? ScalarType::kFloat64 : ScalarType::kFloat32);
}
inline DType input_dtype(Form kind, bool is_wide) {
  return dtype_of(kind != Form::kFromReal, is_wide);
}
inline DType output_dtype(Form kind, bool is_wide) {
  return dtype_of(kind != Form::kToReal, is_wide);
}
inline std::int64_t input_length(Form kind, std::int64_t n) {
  return kind == Form::kToReal ? n / 2 + 1 : n;
}
inline std::int64_t output_length(Form kind, std::int64_t n) {
  return kind == Form::kFromReal ? n / 2 + 1 : n;
}

inline Number element(const Array& x, std::int64_t index) {
  const bool is_wide = x.dtype == scalar_dtype(ScalarType::kFloat64) ||
                       x.dtype == scalar_dtype(ScalarType::kComplex128);
  const std::int64_t parts = x.dtype.is_complex() ? 2 : 1;
  long double values[2] = {0, 0};
  for (std::int64_t i = 0; i < parts; ++i) {
    double wide;
    float narrow;
    std::memcpy(&wide, x.data + (is_wide ? (index * parts + i) * 8 : 0), is_wide ? 8 : 4);
    std::memcpy(&narrow, x.data + (index * parts + i) * 4, 4);
    values[i] = is_wide ? static_cast<long double>(wide) : static_cast<long double>(narrow);
  }
  return {values[0], values[1]};
}

/// The whole sequence of which x has the first half.
inline Numbers hermitian(const Numbers& x, std::int64_t n) {
  Numbers out(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t mirrored = std::min(k, n - k);
    const auto place = static_cast<std::size_t>(k == 0 ? 0 : mirrored);
    Number value = place < x.size() ? x[place] : Number{};
    if (k == 0 || 2 * k == n) value = value.real();
    out[static_cast<std::size_t>(k)] = 2 * k > n ? std::conj(value) : value;
  }
  return out;
}

inline Numbers naive(Form kind, Numbers x, std::int64_t n, Direction direction, long double scale) {
  if (kind == Form::kToReal) x = hermitian(x, n);
  x.resize(static_cast<std::size_t>(n));
  const long double sign = direction == Direction::kForward ? -1 : 1;
  std::vector<Number> roots;
  for (std::int64_t k = 0; k < n; ++k)
    roots.push_back(std::polar(
        1.0L, sign * 2 * kPi * static_cast<long double>(k) / static_cast<long double>(n)));
  Numbers out;
  for (std::int64_t j = 0; j < output_length(kind, n); ++j) {
    Number sum;
    for (std::int64_t k = 0; k < n; ++k)
      sum += x[static_cast<std::size_t>(k)] * roots[static_cast<std::size_t>(j * k % n)];
    out.push_back(kind == Form::kToReal ? Number{sum.real() * scale} : sum * scale);
  }
  return out;
}

/// The relative error in the L2 norm, in units of epsilon.
inline long double error(const Numbers& got, const Numbers& wanted, bool is_wide) {
  long double difference = 0, size = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    difference += std::norm(got[i] - wanted[i]);
    size += std::norm(wanted[i]);
  }
  const long double epsilon =
      is_wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  if (size == 0) return difference == 0 ? 0 : std::numeric_limits<long double>::infinity();
  return std::sqrt(difference / size) / epsilon;
}

}  // namespace refarray::check
