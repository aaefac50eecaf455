// The part of a Hermitian matrix that is still to be reduced to tridiagonal form.
#pragma once

#include <complex>

#include "compute/linalg/decompositions/parts/matrices.hpp"

namespace refarray::core {

/// The rows and columns from some index on, of which the lower triangle is used.
template <class T>
class HermitianRest {
 public:
  explicit HermitianRest(Matrix<T>& x) noexcept : x_(x) {}

  /// Brings column `k` of the matrix up to date.
  void load_column(Index) const noexcept {}

  /// y = A x, where A begins at row and column `first`.
  template <class Y, class X>
  void multiply(Y&& y, const X& x, Index first) const {
    y.noalias() = block(first) * x;
  }
  /// A -= v w^H + w v^H.
  template <class V, class W>
  void subtract(const V& v, const W& w, Index first) {
    block(first).rankUpdate(v, w, T(-1));
  }

 private:
  auto block(Index first) const {
    const Index rest = x_.rows() - first;
    return x_.bottomRightCorner(rest, rest).template selfadjointView<Eigen::Lower>();
  }

  Matrix<T>& x_;
};

/// The real and the imaginary parts lie in matrices of their own. Their products take a third of
/// the time of Eigen's products of complex numbers.
template <>
class HermitianRest<std::complex<double>> {
  using Complex = std::complex<double>;

 public:
  explicit HermitianRest(Matrix<Complex>& x) : x_(x), real_(x.real()), imag_(x.imag()) {}

  void load_column(Index k) const {
    auto column = x_.col(k).tail(x_.rows() - k);
    column.real() = real_.col(k).tail(column.size());
    column.imag() = imag_.col(k).tail(column.size());
  }

  template <class Y, class X>
  void multiply(Y&& y, const X& x, Index first) {
    const Index size = y.size();
    const Vector<double> a = x.real(), b = x.imag();
    Vector<double> c = Vector<double>::Zero(size), d = c;
    for (Index j = 0; j < size; ++j) {
      const Index below = size - j - 1;
      const auto real = real_.col(first + j).tail(below), imag = imag_.col(first + j).tail(below);
      const auto a_below = a.tail(below), b_below = b.tail(below);
      const double diagonal = real_(first + j, first + j);
      c[j] += diagonal * a[j] + (real.dot(a_below) + imag.dot(b_below));
      d[j] += diagonal * b[j] + (real.dot(b_below) - imag.dot(a_below));
      c.tail(below) += a[j] * real - b[j] * imag;
      d.tail(below) += b[j] * real + a[j] * imag;
    }
    y.real() = c;
    y.imag() = d;
  }

  template <class V, class W>
  void subtract(const V& v, const W& w, Index first) {
    const Vector<double> a = v.real(), b = v.imag(), c = w.real(), d = w.imag();
    for (Index j = 0; j < a.size(); ++j) {
      const Index size = a.size() - j;  // of the column from the diagonal on
      real_.col(first + j).tail(size) -=
          c[j] * a.tail(size) + d[j] * b.tail(size) + a[j] * c.tail(size) + b[j] * d.tail(size);
      imag_.col(first + j).tail(size) -=
          c[j] * b.tail(size) - d[j] * a.tail(size) + a[j] * d.tail(size) - b[j] * c.tail(size);
    }
  }

 private:
  Matrix<Complex>& x_;
  Matrix<double> real_, imag_;
};

}  // namespace refarray::core
