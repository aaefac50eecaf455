// Tests eigenvalues and eigenvectors of Hermitian and of general matrices.
#include <limits>

#include "check.hpp"
#include "compute/linalg/decompositions/decompositions.hpp"
#include "dense.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 17, 40};
constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

/// What subnormal results are off by.
long double least(const Dense& a) { return 1e-322L * static_cast<long double>(a.rows * a.rows); }

Dense hermitian(Dense a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    a(i, i) = a(i, i).real();
    for (std::int64_t j = 0; j < i; ++j) a(j, i) = std::conj(a(i, j));
  }
  return a;
}
/// Elements that must not be read become NaN.
Dense lower_triangle(Dense a, const DType& dtype) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    if (dtype.is_complex()) a(i, i) = Wide(a(i, i).real(), NAN);
    for (std::int64_t j = i + 1; j < a.rows; ++j) a(i, j) = NAN;
  }
  return a;
}

const Case symmetric("Hermitian matrices: residuals, orthogonality, order", [] {
  each_kind([](const DType& dtype, const MatrixKind& kind, const std::string& label) {
    Random random(71);
    for (const std::int64_t n : kSizes) {
      const Dense a = hermitian(matrix_of(kind, random, dtype, n, n));
      const Dense stored = lower_triangle(a, dtype);
      const Array x = stack_of(random, dtype, {stored, stored});
      const Array values = strided_array(random, kReal, {2, n});
      const Array vectors = strided_array(random, dtype, {2, n, n});
      const Array alone = strided_array(random, kReal, {2, n});
      check(eigh(values, vectors, x, {}).ending == Ending::kDone, label);
      check(eigvalsh(alone, x, {}).ending == Ending::kDone, label);
      const Dense w = read(at(values, 1)), v = read(at(vectors, 1)), u = read(at(alone, 1));
      check(norm(v * diagonal(w, n, n) * adjoint(v) - a) <= bound(a) * norm(a) + least(a),
            label + ": residual");
      check(defect(v) <= bound(a), label + ": orthogonality");
      check(norm(w - u) <= bound(a) * norm(a) + least(a), label + ": values");
      for (std::int64_t i = 1; i < n; ++i)
        check(w(i - 1, 0).real() <= w(i, 0).real() && u(i - 1, 0).real() <= u(i, 0).real(),
              label + ": order");
      check(norm(read(at(vectors, 0)) - v) == 0, label);
    }
  });
});

const Case exact("values of small integers are exact", [] {
  Dense a(2, 2);
  a(0, 0) = 2, a(1, 1) = 3;
  const Array values = empty(kReal, {2});
  eigvalsh(values, array_of(kReal, a), {});
  check(read(values)(0, 0) == Wide(2) && read(values)(1, 0) == Wide(3));
});

/// The component of greatest magnitude is real and positive, and the norm 1.
void check_normalized(const Dense& v, const std::string& label) {
  for (std::int64_t j = 0; j < v.columns; ++j) {
    long double sum = 0, greatest = 0;
    for (std::int64_t i = 0; i < v.rows; ++i) {
      sum += std::norm(v(i, j));
      greatest = std::max(greatest, std::abs(v(i, j)));
    }
    check(std::abs(std::sqrt(sum) - 1) < 1e-14L, label + ": norm");
    bool is_found = false;
    for (std::int64_t i = 0; i < v.rows; ++i)
      is_found = is_found || (v(i, j).imag() == 0 && v(i, j).real() >= greatest * (1 - 1e-14L));
    check(is_found, label + ": phase");
  }
}

const Case general("general matrices: residuals and phases", [] {
  each_kind([](const DType& dtype, const MatrixKind& kind, const std::string& label) {
    Random random(72);
    for (const std::int64_t n : kSizes) {
      const Dense a = matrix_of(kind, random, dtype, n, n);
      const Array x = stack_of(random, dtype, {a, a});
      const Array values = strided_array(random, kComplex, {2, n});
      const Array vectors = strided_array(random, kComplex, {2, n, n});
      const Array alone = strided_array(random, kComplex, {2, n});
      check(eig(values, vectors, x, {}).ending == Ending::kDone, label);
      check(eigvals(alone, x, {}).ending == Ending::kDone, label);
      const Dense w = read(at(values, 1)), v = read(at(vectors, 1)), u = read(at(alone, 1));
      check(norm(a * v - v * diagonal(w, n, n)) <= bound(a) * norm(a) + least(a),
            label + ": residual");
      check_normalized(v, label);
      Wide trace = 0, sum = 0;
      for (std::int64_t i = 0; i < n; ++i) trace += a(i, i), sum += u(i, 0);
      check(std::abs(trace - sum) <= bound(a) * norm(a) + least(a), label + ": trace");
    }
  });
});

const Case conjugates("values of a real matrix are real or conjugate pairs", [] {
  Random random(73);
  const Dense a = matrix_of(kMatrixKinds[0], random, kReal, 31, 31);
  const Array values = empty(kComplex, {31}), vectors = empty(kComplex, {31, 31});
  eig(values, vectors, array_of(kReal, a), {});
  const Dense w = read(values), v = read(vectors);
  for (std::int64_t j = 0; j < 31; ++j) {
    const bool is_pair = w(j, 0).imag() != 0;
    if (is_pair) check(w(j, 0).imag() > 0 && w(j + 1, 0) == std::conj(w(j, 0)));
    for (std::int64_t i = 0; i < 31; ++i)
      check(is_pair ? v(i, j + 1) == std::conj(v(i, j)) : v(i, j).imag() == 0);
    j += is_pair ? 1 : 0;
  }
});

/// The vectors of general matrices have a small residual and norm 1.
void check_general(const DType& dtype, const Dense& a, const std::string& label) {
  const std::int64_t n = a.rows;
  const Array values = empty(kComplex, {n}), vectors = empty(kComplex, {n, n});
  check(eig(values, vectors, array_of(dtype, a), {}).ending == Ending::kDone, label);
  const Dense w = read(values), v = read(vectors);
  check(norm(a * v - v * diagonal(w, n, n)) <= bound(a) * norm(a) + least(a), label);
  check_normalized(v, label);
}

const Case jordan("a long Jordan block has finite vectors", [] {
  for (const DType& dtype : {kReal, kComplex}) {
    Dense a(60, 60);
    for (std::int64_t i = 0; i + 1 < 60; ++i) a(i, i + 1) = 1;
    check_general(dtype, a, "Jordan block");
  }
});

const Case exponents("elements of every magnitude have finite vectors", [] {
  Random random(76);
  for (const DType& dtype : {kReal, kComplex}) {
    for (int round = 0; round < 400; ++round) {
      Dense a(5 + round % 12, 5 + round % 12);
      for (Wide& each : a.elements)
        each = number(random, dtype) *
               std::exp2(static_cast<long double>(random.between(-1074, 1000)));
      check_general(dtype, rounded(a), text("round ", round));
    }
  }
});

const Case padded("orders that are extended by zeros", [] {
  Random random(77);
  for (const DType& dtype : {kReal, kComplex})
    for (const std::int64_t n : {127, 128, 132})
      check_general(dtype, matrix_of(kMatrixKinds[0], random, dtype, n, n), text("order ", n));
});

const Case nonfinite("NaN and infinities give NaN", [] {
  Random random(74);
  for (const DType& dtype : {kReal, kComplex}) {
    for (const long double value : {static_cast<long double>(NAN), kInfinity, -kInfinity}) {
      Dense a = hermitian(matrix_of(kMatrixKinds[0], random, dtype, 30, 30));
      const Dense good = a;
      a(7, 3) = value;
      const Array x = stack_of(random, dtype, {a, good});
      const Array w = empty(kReal, {2, 30}), v = empty(dtype, {2, 30, 30});
      const Array cw = empty(kComplex, {2, 30}), cv = empty(kComplex, {2, 30, 30});
      check(eigh(w, v, x, {}).ending == Ending::kDone);
      check(is_all_nan(read(at(w, 0))) && is_all_nan(read(at(v, 0))));
      check(std::isfinite(norm(read(at(v, 1)))));
      check(eigvalsh(w, x, {}).ending == Ending::kDone);
      check(is_all_nan(read(at(w, 0))) && std::isfinite(norm(read(at(w, 1)))));
      check(eig(cw, cv, x, {}).ending == Ending::kDone);
      check(is_all_nan(read(at(cw, 0))) && is_all_nan(read(at(cv, 0))));
      check(eigvals(cw, x, {}).ending == Ending::kDone);
      check(is_all_nan(read(at(cw, 0))) && std::isfinite(norm(read(at(cw, 1)))));
    }
  }
});

const Case nothing("matrices without elements, and no matrices", [] {
  for (const List& shape : {List{2, 0, 0}, List{0, 3, 3}}) {
    const List vector{shape[0], shape[1]};
    const Array x = empty(kReal, shape), cv = empty(kComplex, shape);
    check(eigh(empty(kReal, vector), x, x, {}).ending == Ending::kDone);
    check(eigvalsh(empty(kReal, vector), x, {}).ending == Ending::kDone);
    check(eig(empty(kComplex, vector), cv, x, {}).ending == Ending::kDone);
    check(eigvals(empty(kComplex, vector), cv, {}).ending == Ending::kDone);
  }
});

const Case interrupts("an interrupt ends the work, within a matrix too", [] {
  Random random(75);
  for (const DType& dtype : {kReal, kComplex}) {
    const Dense a = matrix_of(kMatrixKinds[0], random, dtype, 150, 150);
    const Array x = array_of(dtype, a);
    const Array w = empty(kReal, {150}), v = empty(dtype, {150, 150});
    expect_interruptible([&](const InterruptCheck& check) { return eigh(w, v, x, check); }, 5,
                         "eigh");
    expect_interruptible([&](const InterruptCheck& check) { return eigvalsh(w, x, check); }, 2,
                         "eigvalsh");
    const Array cw = empty(kComplex, {150}), cv = empty(kComplex, {150, 150});
    expect_interruptible([&](const InterruptCheck& check) { return eig(cw, cv, x, check); }, 20,
                         "eig");
    expect_interruptible([&](const InterruptCheck& check) { return eigvals(cw, x, check); }, 10,
                         "eigvals");
  }
});

}  // namespace
