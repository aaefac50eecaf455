// Tests Cholesky decompositions: residuals, triangles, matrices that are not positive definite.
#include <limits>

#include "check.hpp"
#include "compute/linalg/decompositions/decompositions.hpp"
#include "dense.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

/// B B^H + I of random numbers, with rows and columns scaled by `scale` to the power of the index.
Dense positive_definite(Random& random, const DType& dtype, std::int64_t n, long double factor,
                        long double step) {
  const Dense b = matrix_of(kMatrixKinds[0], random, dtype, n, n);
  Dense out = b * adjoint(b);
  for (std::int64_t i = 0; i < n; ++i) out(i, i) += 1;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j)
      out(i, j) *= factor * std::pow(step, static_cast<long double>(i + j));
  }
  return rounded(out);
}

bool is_triangular(const Dense& a, bool is_upper) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    if (a(i, i).imag() != 0 || !(a(i, i).real() > 0)) return false;
    for (std::int64_t j = 0; j < a.columns; ++j)
      if ((is_upper ? i > j : i < j) && std::abs(a(i, j)) != 0) return false;
  }
  return true;
}

/// The other triangle is not read: it becomes NaN.
Dense one_triangle(Dense a, bool is_upper) {
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j)
      if (is_upper ? i > j : i < j) a(i, j) = NAN;
  return a;
}

const Case residuals("the product of the factors is the matrix, in every range", [] {
  Random random(51);
  const struct {
    long double factor, step;
  } scales[] = {{1, 1}, {1, 0.125L}, {1e300L, 1}, {1e-300L, 1}, {1e300L, 1e-4L}, {0x1p-1060L, 1}};
  for (const DType& dtype : {kReal, kComplex}) {
    for (const auto& [factor, step] : scales) {
      for (const std::int64_t n : {1, 2, 5, 33, 60}) {
        for (const bool is_upper : {false, true}) {
          const Dense a = positive_definite(random, dtype, n, factor, step);
          const Array x =
              stack_of(random, dtype, {one_triangle(a, is_upper), one_triangle(a, is_upper)});
          const Array out = strided_array(random, dtype, {2, n, n});
          check(cholesky(out, x, is_upper, {}).ending == Ending::kDone);
          const Dense l = read(at(out, 1));
          check(is_triangular(l, is_upper));
          const Dense product = is_upper ? adjoint(l) * l : l * adjoint(l);
          check(norm(product - a) <= bound(a) * norm(a) + 1e-322L * static_cast<long double>(n),
                text("n is ", n));
          check(norm(read(at(out, 0)) - l) == 0);
        }
      }
    }
  }
});

const Case blocks("matrices of several blocks", [] {
  Random random(52);
  for (const DType& dtype : {kReal, kComplex}) {
    const Dense a = positive_definite(random, dtype, 300, 1, 1);
    const Array out = empty(dtype, {300, 300});
    for (const bool is_upper : {false, true}) {
      check(cholesky(out, array_of(dtype, a), is_upper, {}).ending == Ending::kDone);
      const Dense l = read(out);
      check(norm((is_upper ? adjoint(l) * l : l * adjoint(l)) - a) <= bound(a) * norm(a));
    }
  }
});

const Case indefinite("the first pivot that is not positive is reported", [] {
  Random random(53);
  for (const DType& dtype : {kReal, kComplex}) {
    for (const std::int64_t at_pivot : {0, 1, 40, 149}) {
      const Dense good = positive_definite(random, dtype, 150, 1, 1);
      Dense bad = good;
      bad(at_pivot, at_pivot) = -1;
      const Outcome outcome = cholesky(empty(dtype, {3, 150, 150}),
                                       stack_of(random, dtype, {good, bad, good}), false, {});
      check(outcome.ending == Ending::kNotPositiveDefinite);
      expect(outcome.matrix, 1);
      expect(outcome.pivot, at_pivot);
    }
    const Dense zero(2, 2);
    check(cholesky(empty(dtype, {2, 2}), array_of(dtype, zero), true, {}).ending ==
          Ending::kNotPositiveDefinite);
  }
});

const Case nonfinite("NaN gives NaN, and infinities end", [] {
  Random random(54);
  for (const DType& dtype : {kReal, kComplex}) {
    Dense a = positive_definite(random, dtype, 40, 1, 1);
    const Array out = empty(dtype, {40, 40});
    a(20, 3) = NAN;
    check(cholesky(out, array_of(dtype, a), false, {}).ending == Ending::kDone);
    const Dense l = read(out);
    check(std::isnan(l(39, 39).real()) && !std::isnan(l(2, 2).real()));
    a(20, 3) = std::numeric_limits<long double>::infinity();
    check(cholesky(out, array_of(dtype, a), false, {}).ending != Ending::kInterrupted);
    a(0, 0) = std::numeric_limits<long double>::infinity();
    check(cholesky(out, array_of(dtype, a), false, {}).ending != Ending::kInterrupted);
  }
});

const Case nothing("matrices without elements, and no matrices", [] {
  for (const List& shape : {List{0, 0}, List{2, 0, 0}, List{0, 3, 3}}) {
    const Array x = empty(kReal, shape);
    check(cholesky(x, x, false, {}).ending == Ending::kDone);
  }
});

const Case interrupts("an interrupt ends the work, within a matrix too", [] {
  Random random(55);
  for (const DType& dtype : {kReal, kComplex}) {
    const Array x = array_of(dtype, positive_definite(random, dtype, 300, 1, 1));
    const Array out = empty(dtype, {300, 300});
    expect_interruptible(
        [&](const InterruptCheck& check) { return cholesky(out, x, false, check); }, 3, "cholesky");
  }
});

}  // namespace
