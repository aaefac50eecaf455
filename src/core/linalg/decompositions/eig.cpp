// Implements eigenvalues of general matrices by the Schur form.
#include "core/linalg/decompositions/eig.hpp"

#include "core/linalg/decompositions/matrices.hpp"
#include "core/linalg/decompositions/schur.hpp"
#include "core/linalg/decompositions/stack.hpp"

namespace refarray::core {
namespace {

using Complex = std::complex<double>;

/// Scales each column to norm 1 with a real, positive component of greatest magnitude.
void normalize_vectors(Matrix<Complex>& vectors) {
  for (Index j = 0; j < vectors.cols(); ++j) {
    auto column = vectors.col(j);
    const int exponent = exponent_of(parts_of(column.data(), column.size()));
    if (exponent == kNoExponent || exponent == kNotFinite) continue;
    scale(column, -exponent);
    Index greatest = 0;
    for (Index i = 1; i < column.size(); ++i)
      if (std::norm(column[i]) > std::norm(column[greatest])) greatest = i;
    const double magnitude = std::sqrt(std::norm(column[greatest]));
    const Complex phase = std::conj(column[greatest]) / magnitude;
    for (Index i = 0; i < column.size(); ++i) column[i] *= phase;
    column[greatest] = magnitude;
    column /= column.norm();
  }
}

/// Eigenvectors of an upper triangular matrix of magnitude about 1, as the columns of an upper
/// triangular one.
Matrix<Complex> triangular_vectors(const Matrix<Complex>& t) {
  const Index n = t.rows();
  // At least a number whose square is not zero.
  const double least = std::max(std::numeric_limits<double>::epsilon() * t.norm(), 0x1p-500);
  Matrix<Complex> out = Matrix<Complex>::Zero(n, n);
  for (Index k = n - 1; k >= 0; --k) {
    auto x = out.col(k);
    x.head(k) = -t.col(k).head(k);
    x[k] = 1;
    for (Index i = k - 1; i >= 0; --i) {
      // Equal eigenvalues are taken as if they differed by a rounding error.
      Complex difference = t(i, i) - t(k, k);
      if (std::norm(difference) < least * least) difference = least;
      x[i] /= difference;
      // For a defective matrix the components grow without limit.
      if (const double size = std::max(std::abs(x[i].real()), std::abs(x[i].imag()));
          size > 0x1p200)
        x.head(k + 1) *= 1 / size;
      x.head(i) -= x[i] * t.col(i).head(i);
    }
  }
  return out;
}

/// Of a real matrix: real vectors of real eigenvalues, and conjugate ones of conjugate pairs.
void restore_symmetry(const Vector<Complex>& values, Matrix<Complex>& vectors) {
  for (Index j = 0; j < values.size(); ++j) {
    if (values[j].imag() == 0) {
      // The greatest component is real, so this loses no digits.
      for (Index i = 0; i < vectors.rows(); ++i) vectors(i, j) = vectors(i, j).real();
      vectors.col(j) /= vectors.col(j).norm();
    } else if (j > 0 && values[j].imag() < 0) {
      vectors.col(j) = vectors.col(j - 1).conjugate();
    }
  }
}

/// The operands are the values, the vectors if there are any, and x.
template <class T>
Outcome eig_each(std::span<const Stacked> operands, const InterruptCheck& interrupt) {
  const std::size_t x = operands.size() - 1;
  const bool has_vectors = x == 2;
  Matrix<T> work;
  Schur schur;
  const auto one = [&](const Stack& stack, Progress& progress) -> Outcome {
    if (stack[x].shape[0] == 0) return {};
    load(work, stack[x]);
    const std::optional<int> exponent = normalize(work);
    if (!exponent) {
      store_nan(stack[0]);
      if (has_vectors) store_nan(stack[1]);
      return {};
    }
    if (const Ending ending = find_schur(schur, work, has_vectors, progress);
        ending != Ending::kDone)
      return {ending};
    const Vector<Complex> normalized = schur.t.diagonal();
    Vector<Complex> values = normalized;
    scale(values, *exponent);
    store(stack[0], values);
    if (has_vectors) {
      Matrix<Complex> vectors =
          schur.u * triangular_vectors(schur.t).template triangularView<Eigen::Upper>();
      normalize_vectors(vectors);
      if (!kIsComplex<T>) restore_symmetry(normalized, vectors);
      store(stack[1], vectors);
    }
    const double n = static_cast<double>(work.rows());
    return {progress.is_stopped_after(25 * n * n * n) ? Ending::kInterrupted : Ending::kDone};
  };
  return each_matrix(operands, interrupt, one);
}

}  // namespace

Outcome eig(const ArrayView& values, const ArrayView& vectors, const ArrayView& x,
            const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return eig_each<T>(std::array{Stacked{values, 1}, Stacked{vectors, 2}, Stacked{x, 2}},
                       interrupt);
  });
}

Outcome eigvals(const ArrayView& values, const ArrayView& x, const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return eig_each<T>(std::array{Stacked{values, 1}, Stacked{x, 2}}, interrupt);
  });
}

}  // namespace refarray::core
