// Tests QR decompositions: residuals, orthogonality, shapes and layouts.
#include <limits>

#include "check.hpp"
#include "compute/linalg/decompositions/decompositions.hpp"
#include "dense.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr std::int64_t kShapes[][2] = {{1, 1}, {2, 2},   {5, 3},   {3, 5},  {1, 7},
                                       {7, 1}, {50, 50}, {60, 20}, {20, 60}};

void check_factors(const Dense& a, const Dense& q, const Dense& r, const std::string& label) {
  // A subnormal result may be off by the least number.
  const long double least = 1e-322L * static_cast<long double>(a.rows * a.columns);
  check(norm(q * r - a) <= bound(a) * norm(a) + least, label + ": residual");
  check(defect(q) <= bound(a), label + ": orthogonality");
  for (std::int64_t i = 0; i < r.rows; ++i) {
    for (std::int64_t j = 0; j < std::min(i, r.columns); ++j)
      check(std::abs(r(i, j)) == 0, label + ": below the diagonal");
    if (i < r.columns) check(r(i, i).imag() == 0, label + ": a real diagonal");
  }
}

const Case residuals("the factors have small residuals", [] {
  each_kind([](const DType& dtype, const MatrixKind& kind, const std::string& label) {
    Random random(61);
    for (const auto& [m, n] : kShapes) {
      const Dense a = matrix_of(kind, random, dtype, m, n);
      const Array x = stack_of(random, dtype, {a, a});
      for (const std::int64_t k : {std::min(m, n), m}) {
        const Array q = strided_array(random, dtype, {2, m, k});
        const Array r = strided_array(random, dtype, {2, k, n});
        check(qr(q, r, x, {}).ending == Ending::kDone, label);
        check_factors(a, read(at(q, 1)), read(at(r, 1)), label);
        check(norm(read(at(q, 0)) - read(at(q, 1))) == 0, label);
      }
    }
  });
});

const Case signs("the diagonal of R has the signs of LAPACK", [] {
  Dense a(2, 2);
  a(0, 0) = 3, a(1, 0) = 4, a(0, 1) = 1, a(1, 1) = 2;
  const Array q = empty(kReal, {2, 2}), r = empty(kReal, {2, 2});
  qr(q, r, array_of(kReal, a), {});
  check(std::abs(read(r)(0, 0) + 5.0L) < 1e-14L);
  a(0, 0) = -3, a(1, 0) = -4;
  qr(q, r, array_of(kReal, a), {});
  check(std::abs(read(r)(0, 0) - 5.0L) < 1e-14L);
});

const Case nonfinite("NaN and infinities give NaN", [] {
  Random random(62);
  for (const DType& dtype : {kReal, kComplex}) {
    for (const long double value :
         {static_cast<long double>(NAN), std::numeric_limits<long double>::infinity()}) {
      Dense a = matrix_of(kMatrixKinds[0], random, dtype, 5, 4);
      const Dense good = a;
      a(3, 2) = value;
      const Array q = empty(dtype, {2, 5, 4}), r = empty(dtype, {2, 4, 4});
      check(qr(q, r, stack_of(random, dtype, {a, good}), {}).ending == Ending::kDone);
      check(is_all_nan(read(at(q, 0))) && is_all_nan(read(at(r, 0))));
      check_factors(good, read(at(q, 1)), read(at(r, 1)), "after NaN");
    }
  }
});

const Case nothing("matrices without elements, and no matrices", [] {
  for (const DType& dtype : {kReal, kComplex}) {
    Random random(63);
    const Array q = strided_array(random, dtype, {2, 3, 3});
    check(qr(q, empty(dtype, {2, 3, 0}), empty(dtype, {2, 3, 0}), {}).ending == Ending::kDone);
    check(norm(read(at(q, 1)) - identity(3, 3)) == 0);
    check(qr(empty(dtype, {3, 0}), empty(dtype, {0, 0}), empty(dtype, {3, 0}), {}).ending ==
          Ending::kDone);
    check(qr(empty(dtype, {0, 0}), empty(dtype, {0, 3}), empty(dtype, {0, 3}), {}).ending ==
          Ending::kDone);
    const Array none = empty(dtype, {0, 3, 3});
    check(qr(none, none, none, {}).ending == Ending::kDone);
  }
});

const Case interrupts("an interrupt ends the work, within a matrix too", [] {
  Random random(64);
  for (const DType& dtype : {kReal, kComplex}) {
    const Array x = array_of(dtype, matrix_of(kMatrixKinds[0], random, dtype, 200, 200));
    const Array q = empty(dtype, {200, 200}), r = empty(dtype, {200, 200});
    expect_interruptible([&](const InterruptCheck& check) { return qr(q, r, x, check); }, 4, "qr");
  }
});

}  // namespace
