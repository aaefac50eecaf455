// Products of parts of matrices, by the kernels of matmul(), and what they make fast: the solution
// of triangular systems.
#pragma once

#include <complex>

#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {

/// Blocks of matrices, without a copy.
template <class T>
using Part = Eigen::Ref<Matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using ConstPart = Eigen::Ref<const Matrix<T>, 0, Eigen::OuterStride<>>;

/// Adds a b to `to`, which overlaps neither. False if interrupted. Throws kMemory, std::bad_alloc.
template <class T>
bool add_product(Part<T> to, const ConstPart<T>& a, const ConstPart<T>& b, Progress& progress);

/// Adds a^H b to the vector `to`, as add_product().
template <class T>
bool add_adjoint_product(Vector<T>& to, const ConstPart<T>& a, const Vector<T>& b,
                         Progress& progress);

/// Subtracts a b from `to`, as add_product().
template <class T>
bool subtract_product(Part<T> to, const ConstPart<T>& a, const ConstPart<T>& b,
                      Progress& progress) {
  if (a.size() < b.size()) return add_product<T>(to, -a, b, progress);
  return add_product<T>(to, a, -b, progress);
}

/// Columns of a matrix, or a side of a triangle, that plain loops decompose or solve for.
inline constexpr Index kFewColumns = 16;

/// Subtracts the elements [begin, end) of `column`, times `factor`.
template <class T>
void subtract(T* __restrict from, const T* __restrict column, T factor, Index begin,
              Index end) noexcept {
  for (Index i = begin; i < end; ++i) from[i] -= column[i] * factor;
}

/// For each of `count` columns, `step` elements apart: subtracts `column`, times the element k of
/// that column, from its elements [begin, end).
template <class T>
void eliminate(T* columns, Index step, Index count, const T* __restrict column, Index k,
               Index begin, Index end) noexcept {
  Index j = 0;
  for (; j + 4 <= count; j += 4, columns += 4 * step) {
    T* __restrict const a = columns;
    T* __restrict const b = a + step;
    T* __restrict const c = b + step;
    T* __restrict const d = c + step;
    const T factors[] = {a[k], b[k], c[k], d[k]};
    for (Index i = begin; i < end; ++i) {
      a[i] -= column[i] * factors[0];
      b[i] -= column[i] * factors[1];
      c[i] -= column[i] * factors[2];
      d[i] -= column[i] * factors[3];
    }
  }
  for (; j < count; ++j, columns += step) subtract(columns, column, columns[k], begin, end);
}

enum class Triangle { kUnitLower, kUpper };

/// substitute() of a small triangle. A few columns at a time: those of a large matrix do not stay
/// in the cache from one row to the next.
template <class T>
void substitute_few(Triangle triangle, const ConstPart<T>& a, Part<T>& b) noexcept {
  const Index n = a.rows(), step = b.outerStride();
  for (Index j = 0; j < b.cols(); j += 4) {
    const Index count = std::min<Index>(4, b.cols() - j);
    T* const columns = b.data() + j * step;
    if (triangle == Triangle::kUnitLower) {
      for (Index k = 0; k < n; ++k) eliminate(columns, step, count, a.col(k).data(), k, k + 1, n);
    } else {
      for (Index k = n - 1; k >= 0; --k) {
        for (Index i = 0; i < count; ++i) columns[i * step + k] /= a(k, k);
        eliminate(columns, step, count, a.col(k).data(), k, 0, k);
      }
    }
  }
}

/// Replaces each column y of `b` by the solution x of t x = y, where t is a triangle of the square
/// `a`. False if interrupted. Throws as add_product().
template <class T>
bool substitute(Triangle triangle, const ConstPart<T>& a, Part<T> b, Progress& progress) {
  const Index n = a.rows();
  if (n <= kFewColumns) {
    substitute_few(triangle, a, b);
    return !progress.is_stopped_after(static_cast<double>(n * n) * static_cast<double>(b.cols()));
  }
  const Index half = n / 2, rest = n - half;
  const auto upper_left = a.topLeftCorner(half, half),
             lower_right = a.bottomRightCorner(rest, rest);
  auto above = b.topRows(half), below = b.bottomRows(rest);
  if (triangle == Triangle::kUnitLower) {
    return substitute<T>(triangle, upper_left, above, progress) &&
           subtract_product<T>(below, a.bottomLeftCorner(rest, half), above, progress) &&
           substitute<T>(triangle, lower_right, below, progress);
  }
  return substitute<T>(triangle, lower_right, below, progress) &&
         subtract_product<T>(above, a.topRightCorner(half, rest), below, progress) &&
         substitute<T>(triangle, upper_left, above, progress);
}

}  // namespace refarray::core
