// Tests determinants, inverses and linear systems: residuals, scaling, singular matrices, layouts.
#include <limits>

#include "check.hpp"
#include "compute/linalg/decompositions/decompositions.hpp"
#include "core/kernels/table.hpp"
#include "dense.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 17, 40};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The determinant and the sign of |det| log, by elimination in long double.
struct Reference {
  Wide sign{1};
  long double logarithm = 0;
};
Reference eliminated(Dense a) {
  Reference out;
  for (std::int64_t k = 0; k < a.rows; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < a.rows; ++i)
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    const long double size = std::abs(a(pivot, k));
    if (size == 0) return {Wide(0), -std::numeric_limits<long double>::infinity()};
    for (std::int64_t j = 0; j < a.columns && pivot != k; ++j) std::swap(a(k, j), a(pivot, j));
    out.sign *= a(k, k) / size * (pivot == k ? 1.0L : -1.0L);
    out.logarithm += std::log(size);
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      const Wide factor = a(i, k) / a(k, k);
      for (std::int64_t j = k; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
    }
  }
  return out;
}

const Case systems("solutions and inverses have small residuals", [] {
  each_kind([](const DType& dtype, const MatrixKind& kind, const std::string& label) {
    Random random(41);
    for (const std::int64_t n : kSizes) {
      const Dense a = matrix_of(kind, random, dtype, n, n);
      const Dense b = matrix_of(kMatrixKinds[0], random, dtype, n, 3);
      const Array x1 = stack_of(random, dtype, {a}), x2 = stack_of(random, dtype, {b});
      const Array out = strided_array(random, dtype, {1, n, 3});
      const Outcome outcome = solve(out, x1, x2, {});
      const Array inverse = strided_array(random, dtype, {1, n, n});
      expect(static_cast<int>(inv(inverse, x1, {}).ending), static_cast<int>(outcome.ending),
             label);
      if (outcome.ending == Ending::kSingular) continue;
      const Dense y = read(at(out, 0)), z = read(at(inverse, 0));
      // Overflow is that of the solution itself.
      if (!std::isfinite(norm(y)) || !std::isfinite(norm(z))) continue;
      const bool is_scaled = kind.name == "graded over the whole range";
      if (is_scaled) continue;
      check(norm(a * y - b) <= bound(a) * (norm(a) * norm(y) + norm(b)), label);
      check(norm(a * z - identity(n, n)) <= bound(a) * (norm(a) * norm(z) + 1), label);
    }
  });
});

const Case determinants("determinants are those of elimination in long double", [] {
  each_kind([](const DType& dtype, const MatrixKind& kind, const std::string& label) {
    if (kind.name == "Hilbert" || kind.name == "rank 2") return;  // nothing but rounding errors
    Random random(42);
    for (const std::int64_t n : kSizes) {
      const Dense a = matrix_of(kind, random, dtype, n, n);
      const Reference expected = eliminated(a);
      const Array x = stack_of(random, dtype, {a});
      const Array value = empty(dtype, {1}), sign = empty(dtype, {1}), log = empty(kReal, {1});
      check(det(value, x, {}).ending == Ending::kDone, label);
      check(slogdet(sign, log, x, {}).ending == Ending::kDone, label);
      const Wide seen = read(at(sign, 0))(0, 0);
      const long double logarithm = read(at(log, 0))(0, 0).real();
      if (std::abs(seen) == 0 || std::abs(expected.sign) == 0) {
        check(std::abs(seen) == 0 && logarithm < 0 && std::isinf(logarithm) &&
                  read(at(value, 0))(0, 0) == Wide(0),
              label);
        continue;
      }
      constexpr long double kTolerance = 1e-9L;  // conditions are up to 10^4
      check(std::abs(seen - expected.sign) < kTolerance, label);
      check(std::abs(logarithm - expected.logarithm) < kTolerance * (1 + std::abs(logarithm)),
            label);
      const Wide product = expected.sign * std::exp(expected.logarithm);
      const Wide det_seen = read(at(value, 0))(0, 0);
      if (std::abs(product) < 1e308L && std::abs(product) > 1e-307L)
        check(std::abs(det_seen - product) < kTolerance * std::abs(product), label);
    }
  });
});

Dense diagonal_of(std::initializer_list<double> values) {
  Dense out(static_cast<std::int64_t>(values.size()), static_cast<std::int64_t>(values.size()));
  std::int64_t i = 0;
  for (const double each : values) {
    out(i, i) = each;
    ++i;
  }
  return out;
}

double det_of(const DType& dtype, const Dense& a) {
  const Array out = empty(dtype, {});
  det(out, array_of(dtype, a), {});
  return static_cast<double>(read(out)(0, 0).real());
}

const Case ranges("only results overflow and underflow", [] {
  for (const DType& dtype : {kReal, kComplex}) {
    expect(det_of(dtype, diagonal_of({0x1p1000, 0x1p-1000})), 1.0);
    expect(det_of(dtype, diagonal_of({0x1p-1000, 0x1p-1000, 0x1p1000, 0x1p1000})), 1.0);
    expect(det_of(dtype, diagonal_of({0x1p-1074, 0x1p1000})), 0x1p-74);
    expect(det_of(dtype, diagonal_of({0x1p1000, 0x1p1000})), kInfinity);
    expect(det_of(dtype, diagonal_of({0x1p-1000, -0x1p-1000})), -0.0);
    const Array sign = empty(dtype, {}), log = empty(kReal, {});
    slogdet(sign, log, array_of(dtype, diagonal_of({-0x1p1000, 0x1p1000})), {});
    check(read(sign)(0, 0) == Wide(-1));
    check(std::abs(read(log)(0, 0).real() - 2000 * std::log(2.0L)) < 1e-12L);

    const Dense a = diagonal_of({0x1p1000, 0x1p-1000, 0x1p-1074}), b = diagonal_of({1, 1, 0x1p-74});
    const Array out = empty(dtype, {3, 3});
    solve(out, array_of(dtype, a), array_of(dtype, b), {});
    check(norm(read(out) - diagonal_of({0x1p-1000, 0x1p1000, 0x1p1000})) == 0);
  }
});

const Case singular("a pivot that is exactly zero is reported with its place", [] {
  Random random(43);
  for (const DType& dtype : {kReal, kComplex}) {
    Dense a = matrix_of(kMatrixKinds[0], random, dtype, 5, 5);
    Dense bad = a;
    for (std::int64_t j = 0; j < 5; ++j) bad(3, j) = bad(1, j) * 2.0L;
    for (std::int64_t i = 0; i < 5; ++i) bad(i, 2) = 0;
    const Array x = stack_of(random, dtype, {a, a, bad, a});
    const Array out = empty(dtype, {4, 5, 5});
    for (const Outcome& outcome : {inv(out, x, {}), solve(out, x, x, {})}) {
      check(outcome.ending == Ending::kSingular);
      expect(outcome.matrix, 2);
      expect(outcome.pivot, 2);
    }
  }
});

const Case nonfinite("NaN and infinities give NaN, and end", [] {
  Random random(44);
  for (const DType& dtype : {kReal, kComplex}) {
    for (const double value : {static_cast<double>(NAN), kInfinity}) {
      for (const std::int64_t n : {1, 3, 40}) {
        Dense a = matrix_of(kMatrixKinds[0], random, dtype, n, n);
        a(n / 2, n / 3) = value;
        const Array x = array_of(dtype, a), out = empty(dtype, {n, n}), number = empty(dtype, {});
        check(inv(out, x, {}).ending == Ending::kDone);
        if (std::isnan(value)) check(std::isnan(norm(read(out))));
        check(det(number, x, {}).ending == Ending::kDone);
        check(!std::isfinite(norm(read(number))));
      }
    }
  }
});

const Case nothing("matrices without elements, and no matrices", [] {
  for (const DType& dtype : {kReal, kComplex}) {
    const Array x = empty(dtype, {2, 0, 0}), number = empty(dtype, {2}), log = empty(kReal, {2});
    check(det(number, x, {}).ending == Ending::kDone);
    check(read(at(number, 1))(0, 0) == Wide(1));
    check(slogdet(number, log, x, {}).ending == Ending::kDone);
    check(read(at(number, 1))(0, 0) == Wide(1) && read(at(log, 1))(0, 0) == Wide(0));
    check(inv(x, x, {}).ending == Ending::kDone);
    check(solve(empty(dtype, {2, 0, 3}), x, empty(dtype, {2, 0, 3}), {}).ending == Ending::kDone);
    const Array no = empty(dtype, {0, 3, 3}), three = empty(dtype, {4, 3, 0});
    check(inv(no, no, {}).ending == Ending::kDone);
    Random random(47);
    const Array matrices = stack_of(random, dtype, {4, identity(3, 3)});
    check(solve(three, matrices, three, {}).ending == Ending::kDone);
  }
});

const Case bits("the bits depend on no layout, instruction set or number of threads", [] {
  Random random(45);
  for (const DType& dtype : {kReal, kComplex}) {
    const Dense a = matrix_of(kMatrixKinds[0], random, dtype, 150, 150);
    const Array x = array_of(dtype, a);
    const Array expected = empty(dtype, {150, 150}), seen = empty(dtype, {150, 150});
    inv(expected, x, {});
    const auto compare = [&](const Array& from, const char* what) {
      inv(seen, from, {});
      check(std::memcmp(seen.data, expected.data, static_cast<std::size_t>(seen.view().nbytes())) ==
                0,
            what);
    };
    const kernels::Choices all = kernels::choices();
    for (int i = all.count - 1; i >= 0; --i) {  // the best is left in use
      kernels::use(all.tables[i]->name);
      compare(x, all.tables[i]->name);
    }
    compare(at(stack_of(random, dtype, {a, a}), 1), "strides");
    set_copy_threads(3);
    compare(x, "threads");
    set_copy_threads(1);
  }
});

const Case interrupts("an interrupt ends the work, within a matrix too", [] {
  Random random(46);
  for (const DType& dtype : {kReal, kComplex}) {
    const Array x = array_of(dtype, matrix_of(kMatrixKinds[0], random, dtype, 300, 300));
    const Array out = empty(dtype, {300, 300}), number = empty(dtype, {}), log = empty(kReal, {});
    const auto each = [&](const auto& compute, int expected, const char* what) {
      expect_interruptible(compute, expected, what);
    };
    each([&](const InterruptCheck& check) { return det(number, x, check); }, 3, "det");
    each([&](const InterruptCheck& check) { return slogdet(number, log, x, check); }, 3, "slogdet");
    each([&](const InterruptCheck& check) { return inv(out, x, check); }, 5, "inv");
    each([&](const InterruptCheck& check) { return solve(out, x, x, check); }, 5, "solve");
  }
});

const Case memory("matrices larger than any memory are refused", [] {
  for (const std::int64_t n : {std::int64_t{1} << 24, std::int64_t{1} << 31}) {
    const Array one = new_array(kReal, List{1, 1}, true);
    const Array x = with_layout(one, Layout(List{n, n}, List{0, 0}), 0);
    fails(Fault::kMemory, "no memory", [&] { det(empty(kReal, {}), x, {}); });
  }
});

}  // namespace
