// Tests singular value decompositions: residuals, orthogonality, order, shapes and layouts.
#include <limits>

#include "check.hpp"
#include "compute/linalg/decompositions/decompositions.hpp"
#include "dense.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr std::int64_t kShapes[][2] = {{1, 1},   {2, 2},   {5, 3},   {3, 5},   {1, 7},   {7, 1},
                                       {17, 17}, {50, 50}, {60, 20}, {20, 60}, {33, 10}, {10, 33}};

struct Factors {
  Dense u, s, vh;
};

void check_factors(const Dense& a, const Factors& of, const std::string& label) {
  const auto& [u, s, vh] = of;
  const long double least = 1e-322L * static_cast<long double>(a.rows * a.columns);
  check(norm(u * diagonal(s, u.columns, vh.rows) * vh - a) <= bound(a) * norm(a) + least,
        label + ": residual");
  check(defect(u) <= bound(a), label + ": U");
  check(defect(adjoint(vh)) <= bound(a), label + ": Vh");
  for (std::int64_t i = 0; i < s.rows; ++i) {
    check(s(i, 0).real() >= 0, label + ": sign");
    check(i == 0 || s(i, 0).real() <= s(i - 1, 0).real(), label + ": order");
  }
}

const Case residuals("the factors have small residuals", [] {
  each_kind([](const DType& dtype, const MatrixKind& kind, const std::string& label) {
    Random random(81);
    for (const auto& [m, n] : kShapes) {
      const std::int64_t k = std::min(m, n);
      const Dense a = matrix_of(kind, random, dtype, m, n);
      const Array x = stack_of(random, dtype, {a, a});
      for (const bool is_full : {false, true}) {
        const Array u = strided_array(random, dtype, {2, m, is_full ? m : k});
        const Array s = strided_array(random, kReal, {2, k}), alone = empty(kReal, {2, k});
        const Array vh = strided_array(random, dtype, {2, is_full ? n : k, n});
        const std::string name = label + text(", ", m, " by ", n);
        check(svd(u, s, vh, x, {}).ending == Ending::kDone, name);
        const Factors factors{read(at(u, 1)), read(at(s, 1)), read(at(vh, 1))};
        check_factors(a, factors, name);
        check(norm(read(at(u, 0)) - factors.u) == 0, name);
        check(svdvals(alone, x, {}).ending == Ending::kDone, name);
        check(norm(read(at(alone, 1)) - factors.s) <=
                  bound(a) * norm(a) + 1e-322L * static_cast<long double>(k),
              name + ": values");
      }
    }
  });
});

const Case clusters("equal and nearly equal singular values", [] {
  Random random(82);
  for (const DType& dtype : {kReal, kComplex}) {
    for (int round = 0; round < 12; ++round) {
      const std::int64_t n = 20 + 5 * round;
      // A bidiagonal matrix of few distinct numbers, some of them tiny.
      Dense a(n, n);
      for (std::int64_t i = 0; i < n; ++i) {
        a(i, i) = std::exp2(-25.0L * static_cast<long double>(random.between(0, 3)));
        if (i + 1 < n) a(i, i + 1) = random.between(0, 1) == 0 ? 0.0L : 0x1p-50L;
      }
      const Array u = empty(dtype, {n, n}), s = empty(kReal, {n}), vh = empty(dtype, {n, n});
      check(svd(u, s, vh, array_of(dtype, a), {}).ending == Ending::kDone);
      check_factors(a, {read(u), read(s), read(vh)}, text("clusters of ", n));
    }
  }
});

const Case repeated("the vectors of many zeros among the singular values are orthonormal", [] {
  Random random(86);
  for (const DType& dtype : {kReal, kComplex}) {
    for (const std::int64_t n : {21, 29, 40, 77}) {
      // Copies of three columns, some of them off by a rounding error.
      const Dense columns = matrix_of(kMatrixKinds[0], random, dtype, n, 3);
      Dense a(n, n);
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t from = random.between(0, 2);
        const long double factor = random.between(0, 1) == 0 ? 1 : 1 + 0x1p-52L;
        for (std::int64_t i = 0; i < n; ++i) a(i, j) = columns(i, from) * factor;
      }
      a = rounded(a);
      const Array u = empty(dtype, {n, n}), s = empty(kReal, {n}), vh = empty(dtype, {n, n});
      check(svd(u, s, vh, array_of(dtype, a), {}).ending == Ending::kDone);
      check_factors(a, {read(u), read(s), read(vh)}, text("copies of columns, ", n));
    }
  }
});

const Case nonfinite("NaN and infinities give NaN", [] {
  Random random(83);
  for (const DType& dtype : {kReal, kComplex}) {
    for (const long double value :
         {static_cast<long double>(NAN), std::numeric_limits<long double>::infinity()}) {
      for (const std::int64_t n : {3, 30}) {
        Dense a = matrix_of(kMatrixKinds[0], random, dtype, 30, n);
        const Dense good = a;
        a(20, n / 2) = value;
        const Array x = stack_of(random, dtype, {a, good});
        const Array u = empty(dtype, {2, 30, n}), s = empty(kReal, {2, n}),
                    vh = empty(dtype, {2, n, n});
        check(svd(u, s, vh, x, {}).ending == Ending::kDone);
        check(is_all_nan(read(at(u, 0))) && is_all_nan(read(at(s, 0))) &&
              is_all_nan(read(at(vh, 0))));
        check_factors(good, {read(at(u, 1)), read(at(s, 1)), read(at(vh, 1))}, "after NaN");
        check(svdvals(s, x, {}).ending == Ending::kDone);
        check(is_all_nan(read(at(s, 0))) && std::isfinite(norm(read(at(s, 1)))));
      }
    }
  }
});

const Case nothing("matrices without elements, and no matrices", [] {
  Random random(84);
  for (const DType& dtype : {kReal, kComplex}) {
    const Array u = strided_array(random, dtype, {2, 3, 3}), s = empty(kReal, {2, 0});
    check(svd(u, s, empty(dtype, {2, 0, 0}), empty(dtype, {2, 3, 0}), {}).ending == Ending::kDone);
    check(norm(read(at(u, 1)) - identity(3, 3)) == 0);
    check(svd(empty(dtype, {2, 0, 0}), s, u, empty(dtype, {2, 0, 3}), {}).ending == Ending::kDone);
    check(norm(read(at(u, 1)) - identity(3, 3)) == 0);
    check(svd(empty(dtype, {2, 3, 0}), s, empty(dtype, {2, 0, 0}), empty(dtype, {2, 3, 0}), {})
              .ending == Ending::kDone);
    check(svdvals(s, empty(dtype, {2, 0, 3}), {}).ending == Ending::kDone);
    const Array none = empty(dtype, {0, 3, 3});
    check(svd(none, empty(kReal, {0, 3}), none, none, {}).ending == Ending::kDone);
  }
});

const Case interrupts("an interrupt ends the work, within a matrix too", [] {
  Random random(85);
  for (const DType& dtype : {kReal, kComplex}) {
    const Dense a = matrix_of(kMatrixKinds[0], random, dtype, 64, 64);
    const Array x = stack_of(random, dtype, {a, a, a});
    const Array u = empty(dtype, {3, 64, 64}), s = empty(kReal, {3, 64});
    expect_interruptible([&](const InterruptCheck& check) { return svd(u, s, u, x, check); }, 3,
                         "svd");
    expect_interruptible([&](const InterruptCheck& check) { return svdvals(s, x, check); }, 1,
                         "svdvals");
    const Array large = array_of(dtype, matrix_of(kMatrixKinds[0], random, dtype, 200, 150));
    const Array q = empty(dtype, {200, 150}), values = empty(kReal, {150}),
                p = empty(dtype, {150, 150});
    expect_interruptible(
        [&](const InterruptCheck& check) { return svd(q, values, p, large, check); }, 10, "svd");
    expect_interruptible([&](const InterruptCheck& check) { return svdvals(values, large, check); },
                         3, "svdvals");
  }
});

}  // namespace
