// Tests the QR iterations of the decompositions: their limits, and that the limits are far away.
#include "compute/linalg/decompositions/parts/iterations.hpp"

#include <cmath>

#include "check.hpp"
#include "naive.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr Index kOrder = 60;

template <class T>
Matrix<T> random_matrix(Random& random) {
  Matrix<T> out(kOrder, kOrder);
  for (T& each : out.reshaped()) {
    const auto part = [&] {
      return static_cast<double>(random.between(-1 << 30, 1 << 30)) * 0x1p-30;
    };
    each = T(part());
    if constexpr (kIsComplex<T>) each.imag(part());
  }
  return out;
}

template <class T>
void check_schur(std::uint64_t seed) {
  Random random(seed);
  const InterruptCheck never;
  Progress progress(never);
  const Matrix<T> x = random_matrix<T>(random);
  for (const bool has_vectors : {false, true}) {
    for (const Index most : {Index{0}, Index{1}}) {
      Schur<T> out;
      check(find_schur(out, x, has_vectors, progress, most) == Ending::kNotConverged);
    }
    Schur<T> out;
    check(find_schur(out, x, has_vectors, progress, 6) == Ending::kDone);
    if (!has_vectors) continue;
    const Matrix<T> inverse = out.u.adjoint(), left = out.u.lazyProduct(out.t);
    check((left.lazyProduct(inverse) - x).norm() <= 1e-13 * kOrder);
    const Matrix<T> unit = Matrix<T>::Identity(kOrder, kOrder);
    check((out.u.lazyProduct(inverse) - unit).norm() <= 1e-13 * kOrder);
    for (Index i = 0; i + 2 < kOrder; ++i)
      check(out.t.col(i).tail(kOrder - i - 2).cwiseAbs().maxCoeff() == 0);
  }
}

const Case schur("Schur forms: the limit of iterations ends the work", [] {
  check_schur<double>(81);
  check_schur<std::complex<double>>(82);
});

const Case tridiagonal("tridiagonal matrices: the limit of iterations ends the work", [] {
  const InterruptCheck never;
  Progress progress(never);
  for (const Index most : {Index{0}, Index{1}, Index{6}}) {
    Vector<double> diagonal = Vector<double>::LinSpaced(kOrder, -1, 1);
    Vector<double> below = Vector<double>::Constant(kOrder - 1, 0.5);
    Matrix<double> vectors = Matrix<double>::Identity(kOrder, kOrder);
    const Ending ending =
        diagonalize_tridiagonal(diagonal, below, sweeps_of(vectors, kOrder), progress, most);
    check(ending == (most < 6 ? Ending::kNotConverged : Ending::kDone));
  }
});

const Case bidiagonal("bidiagonal matrices: the limit of iterations ends the work", [] {
  const InterruptCheck never;
  Progress progress(never);
  for (const Index most : {Index{0}, Index{1}, Index{6}}) {
    Vector<double> diagonal = Vector<double>::LinSpaced(kOrder, -1, 1);
    Vector<double> above = Vector<double>::Constant(kOrder, 0.5);
    Matrix<double> u = Matrix<double>::Identity(kOrder, kOrder), v = u;
    const Ending ending = diagonalize_bidiagonal(diagonal, above, sweeps_of(u, kOrder),
                                                 sweeps_of(v, kOrder), progress, most);
    check(ending == (most < 6 ? Ending::kNotConverged : Ending::kDone));
  }
});

}  // namespace
