// Implements singular values by divide and conquer; complex matrices are reduced to real ones.
#include "core/linalg/decompositions/svd.hpp"

#include "core/linalg/decompositions/matrices.hpp"
#include "core/linalg/decompositions/stack.hpp"

namespace refarray::core {
namespace {

enum class Vectors { kNone, kThin, kFull };

template <class T>
struct Factors {
  Matrix<T> u;
  Vector<double> s;
  Matrix<T> v;
};

unsigned options(Vectors vectors) noexcept {
  if (vectors == Vectors::kNone) return 0;
  return vectors == Vectors::kThin ? Eigen::ComputeThinU | Eigen::ComputeThinV
                                   : Eigen::ComputeFullU | Eigen::ComputeFullV;
}

template <class Solver>
bool take(Factors<double>& out, const Solver& solver, Vectors vectors) {
  if (solver.info() != Eigen::Success || !solver.singularValues().allFinite()) return false;
  out.s = solver.singularValues();
  if (vectors == Vectors::kNone) return true;
  out.u = solver.matrixU();
  out.v = solver.matrixV();
  return out.u.allFinite() && out.v.allFinite();
}

/// False if the iterations do not converge.
bool decompose(Factors<double>& out, const Matrix<double>& x, Vectors vectors) {
  const Eigen::BDCSVD<Matrix<double>> solver(x, options(vectors));
  if (take(out, solver, vectors)) return true;
  // Slow, but it needs no roots of rational functions.
  const Eigen::JacobiSVD<Matrix<double>> rotations(x, options(vectors));
  return take(out, rotations, vectors);
}

bool decompose(Factors<std::complex<double>>& out, const Matrix<std::complex<double>>& x,
               Vectors vectors) {
  if (x.rows() < x.cols()) {
    const Matrix<std::complex<double>> adjoint = x.adjoint();
    const bool is_done = decompose(out, adjoint, vectors);
    out.u.swap(out.v);
    return is_done;
  }
  // x = Q B P^H with a real bidiagonal B.
  Eigen::internal::UpperBidiagonalization<Matrix<std::complex<double>>> reduced(x);
  const Matrix<double> bidiagonal = reduced.bidiagonal().toDenseMatrix();
  Factors<double> real;
  if (!decompose(real, bidiagonal, vectors)) return false;
  out.s = real.s;
  if (vectors == Vectors::kNone) return true;
  const Index n = x.cols();
  out.u.setIdentity(x.rows(), vectors == Vectors::kFull ? x.rows() : n);
  out.u.topLeftCorner(n, n) = real.u.cast<std::complex<double>>();
  reduced.householderU().applyThisOnTheLeft(out.u);
  out.v = real.v.cast<std::complex<double>>();
  reduced.householderV().applyThisOnTheLeft(out.v);
  return true;
}

/// Without singular values, the full matrices are those of the identity.
void store_identities(const ArrayView& u, const ArrayView& vh) {
  store(u, Matrix<double>(Matrix<double>::Identity(u.shape[0], u.shape[1])));
  store(vh, Matrix<double>(Matrix<double>::Identity(vh.shape[0], vh.shape[1])));
}

template <class T>
Outcome svd_each(const ArrayView& u, const ArrayView& s, const ArrayView& vh, const ArrayView& x,
                 const InterruptCheck& interrupt) {
  Matrix<T> work;
  Factors<T> factors;
  const auto one = [&](const Stack& stack, Progress& progress) -> Outcome {
    if (stack[1].shape[0] == 0) {
      store_identities(stack[0], stack[2]);
      return {};
    }
    load(work, stack[3]);
    const std::optional<int> exponent = normalize(work);
    if (!exponent) {
      store_nan(stack[0], stack[1], stack[2]);
      return {};
    }
    const bool is_full =
        stack[0].shape[1] > stack[1].shape[0] || stack[2].shape[0] > stack[1].shape[0];
    if (!decompose(factors, work, is_full ? Vectors::kFull : Vectors::kThin))
      return {Ending::kNotConverged};
    scale(factors.s, *exponent);
    store(stack[0], factors.u);
    store(stack[1], factors.s);
    store(stack[2], Matrix<T>(factors.v.adjoint()));
    const double size = static_cast<double>(work.size());
    const double k = static_cast<double>(stack[1].shape[0]);
    return {progress.is_stopped_after(10 * size * k) ? Ending::kInterrupted : Ending::kDone};
  };
  return each_matrix(std::array{Stacked{u, 2}, Stacked{s, 1}, Stacked{vh, 2}, Stacked{x, 2}},
                     interrupt, one);
}

template <class T>
Outcome svdvals_each(const ArrayView& s, const ArrayView& x, const InterruptCheck& interrupt) {
  Matrix<T> work;
  Factors<T> factors;
  const auto one = [&](const Stack& stack, Progress& progress) -> Outcome {
    if (stack[0].shape[0] == 0) return {};
    load(work, stack[1]);
    const std::optional<int> exponent = normalize(work);
    if (!exponent) {
      store_nan(stack[0]);
      return {};
    }
    if (!decompose(factors, work, Vectors::kNone)) return {Ending::kNotConverged};
    scale(factors.s, *exponent);
    store(stack[0], factors.s);
    const double size = static_cast<double>(work.size());
    const double k = static_cast<double>(stack[0].shape[0]);
    return {progress.is_stopped_after(4 * size * k) ? Ending::kInterrupted : Ending::kDone};
  };
  return each_matrix(std::array{Stacked{s, 1}, Stacked{x, 2}}, interrupt, one);
}

}  // namespace

Outcome svd(const ArrayView& u, const ArrayView& s, const ArrayView& vh, const ArrayView& x,
            const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) { return svd_each<T>(u, s, vh, x, interrupt); });
}

Outcome svdvals(const ArrayView& s, const ArrayView& x, const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) { return svdvals_each<T>(s, x, interrupt); });
}

}  // namespace refarray::core
