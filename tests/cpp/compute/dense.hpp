// Matrices in long double for the tests of decompositions: kinds of them, products, norms, and
// stacks of them in strided arrays.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "compute/linalg/decompositions/outcome.hpp"
#include "core/copy/copy.hpp"
#include "operands.hpp"

namespace refarray::check {

inline constexpr DType kReal{Kind::kFloat, 64};
inline constexpr DType kComplex{Kind::kComplex, 128};
inline constexpr long double kEpsilon = 0x1p-52L;
/// long double does not overflow in squares of these, nor lose their differences from zero.
using Wide = std::complex<long double>;

struct Dense {
  Dense(std::int64_t the_rows, std::int64_t the_columns)
      : rows(the_rows),
        columns(the_columns),
        elements(static_cast<std::size_t>(the_rows * the_columns)) {}
  Wide& operator()(std::int64_t i, std::int64_t j) {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
  const Wide& operator()(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }

  std::int64_t rows;
  std::int64_t columns;
  std::vector<Wide> elements;  // row-major
};

inline Dense identity(std::int64_t rows, std::int64_t columns) {
  Dense out(rows, columns);
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) out(i, i) = 1;
  return out;
}
inline Dense adjoint(const Dense& a) {
  Dense out(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) out(j, i) = std::conj(a(i, j));
  return out;
}
inline Dense operator*(const Dense& a, const Dense& b) {
  Dense out(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const long double re = a(i, k).real(), im = a(i, k).imag();
      if (re == 0 && im == 0) continue;
      for (std::int64_t j = 0; j < b.columns; ++j) {
        const Wide& y = b(k, j);
        out(i, j) += Wide(re * y.real() - im * y.imag(), re * y.imag() + im * y.real());
      }
    }
  }
  return out;
}
inline Dense operator-(Dense a, const Dense& b) {
  for (std::size_t i = 0; i < a.elements.size(); ++i) a.elements[i] -= b.elements[i];
  return a;
}
/// The Frobenius norm.
inline long double norm(const Dense& a) {
  long double sum = 0;
  for (const Wide& each : a.elements) sum += std::norm(each);
  return std::sqrt(sum);
}
/// The diagonal matrix of a column.
inline Dense diagonal(const Dense& values, std::int64_t rows, std::int64_t columns) {
  Dense out(rows, columns);
  for (std::int64_t i = 0; i < values.rows; ++i) out(i, i) = values(i, 0);
  return out;
}
/// How far the columns are from orthonormal ones.
inline long double defect(const Dense& q) {
  return norm(adjoint(q) * q - identity(q.columns, q.columns));
}
/// 10 times the order times the rounding error, which residuals stay below.
inline long double bound(const Dense& a) {
  return 10 * static_cast<long double>(std::max(a.rows, a.columns)) * kEpsilon;
}

// --- kinds of matrices

inline Wide number(Random& random, const DType& dtype) {
  const auto part = [&] {
    return static_cast<long double>(random.between(-(1LL << 52), 1LL << 52)) * 0x1p-52L;
  };
  const long double re = part();
  return {re, dtype.is_complex() ? part() : 0};
}

struct MatrixKind {
  std::string_view name;
  /// The element of a matrix whose other factor is random numbers.
  Wide (*element)(Random& random, const DType& dtype, std::int64_t i, std::int64_t j);
};

inline const MatrixKind kMatrixKinds[] = {
    {"random", [](Random& random, const DType& dtype, std::int64_t,
                  std::int64_t) { return number(random, dtype); }},
    {"Hilbert",
     [](Random&, const DType& dtype, std::int64_t i, std::int64_t j) {
       return Wide(1, dtype.is_complex() ? static_cast<long double>(i - j) : 0) /
              static_cast<long double>(i + j + 1);
     }},
    {"graded",
     [](Random& random, const DType& dtype, std::int64_t i, std::int64_t j) {
       return number(random, dtype) * std::exp2(-2.0L * static_cast<long double>(i + j));
     }},
    {"graded over the whole range",
     [](Random& random, const DType& dtype, std::int64_t i, std::int64_t j) {
       return number(random, dtype) * std::exp2(980.0L - 40.0L * static_cast<long double>(i + j));
     }},
    {"rank 2",
     [](Random&, const DType& dtype, std::int64_t i, std::int64_t j) {
       const auto at = static_cast<long double>(i + 1), by = static_cast<long double>(j);
       return Wide(at, dtype.is_complex() ? by : 0) * (by + 1) + Wide(by - at * by);
     }},
    {"defective",
     [](Random&, const DType& dtype, std::int64_t i, std::int64_t j) {
       if (i == j) return Wide(2, dtype.is_complex() ? 1 : 0);
       return Wide(j == i + 1 ? 1 : 0);
     }},
    {"tiny", [](Random& random, const DType& dtype, std::int64_t,
                std::int64_t) { return number(random, dtype) * 1e-300L; }},
    {"subnormal",
     [](Random& random, const DType&, std::int64_t, std::int64_t) {
       return Wide(static_cast<long double>(random.between(-99, 99)) * 0x1p-1074L);
     }},
    {"huge", [](Random& random, const DType& dtype, std::int64_t,
                std::int64_t) { return number(random, dtype) * 1e300L; }},
    {"sparse",
     [](Random& random, const DType& dtype, std::int64_t, std::int64_t) {
       return random.between(0, 3) == 0 ? number(random, dtype) : Wide(0);
     }},
    {"few integers",
     [](Random& random, const DType&, std::int64_t, std::int64_t) {
       return Wide(static_cast<long double>(random.between(-1, 1)));
     }},
    {"zero", [](Random&, const DType&, std::int64_t, std::int64_t) { return Wide(0); }},
    {"ones", [](Random&, const DType&, std::int64_t, std::int64_t) { return Wide(1); }},
};

/// The elements are doubles.
inline Dense rounded(Dense a) {
  for (Wide& each : a.elements)
    each = {static_cast<double>(each.real()), static_cast<double>(each.imag())};
  return a;
}
inline Dense matrix_of(const MatrixKind& kind, Random& random, const DType& dtype,
                       std::int64_t rows, std::int64_t columns) {
  Dense out(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) out(i, j) = kind.element(random, dtype, i, j);
  return rounded(out);
}

/// Calls `body(dtype, kind, label)` for real and complex matrices of each kind.
template <class Body>
void each_kind(const Body& body) {
  for (const DType& dtype : {kReal, kComplex})
    for (const MatrixKind& kind : kMatrixKinds)
      body(dtype, kind, std::string(kind.name) + ", " + core::name(dtype));
}

// --- stacks in arrays

/// Writes the elements of one matrix, vector or number.
inline void write(const ArrayView& to, const Dense& from) {
  const Array flat = core::new_array(to.dtype, to.extents(), false);
  for (std::size_t i = 0; i < from.elements.size(); ++i) {
    const double parts[] = {static_cast<double>(from.elements[i].real()),
                            static_cast<double>(from.elements[i].imag())};
    const auto size = static_cast<std::size_t>(to.dtype.itemsize());
    std::memcpy(flat.data + i * size, parts, size);
  }
  copy(to, flat);
}
inline Dense read(const ArrayView& from) {
  const Array flat = core::new_array(kComplex, from.extents(), false);
  copy(flat, from);
  Dense out(from.ndim > 0 ? from.shape[0] : 1, from.ndim > 1 ? from.shape[1] : 1);
  for (std::size_t i = 0; i < out.elements.size(); ++i) {
    double parts[2];
    std::memcpy(parts, flat.data + i * sizeof parts, sizeof parts);
    out.elements[i] = {parts[0], parts[1]};
  }
  return out;
}

/// The part of a stack at an index of its first axis.
inline Array at(const ArrayView& stack, std::int64_t index) {
  core::Layout layout;
  for (int axis = 1; axis < stack.ndim; ++axis) layout.push(stack.shape[axis], stack.strides[axis]);
  return with_layout(stack, layout, index * stack.strides[0]);
}

inline Array stack_of(Random& random, const DType& dtype, const std::vector<Dense>& matrices) {
  const auto count = static_cast<std::int64_t>(matrices.size());
  Array out = strided_array(random, dtype, {count, matrices[0].rows, matrices[0].columns});
  for (std::int64_t i = 0; i < count; ++i) write(at(out, i), matrices[static_cast<std::size_t>(i)]);
  return out;
}
inline Array array_of(const DType& dtype, const Dense& matrix) {
  Array out = core::new_array(dtype, List{matrix.rows, matrix.columns}, false);
  write(out, matrix);
  return out;
}
inline Array empty(const DType& dtype, const List& shape) { return new_array(dtype, shape, false); }

inline bool is_all_nan(const Dense& a) {
  return std::ranges::all_of(a.elements, [](const Wide& each) { return std::isnan(each.real()); });
}

// --- interrupts

/// `compute(interrupt)` stops at each of the first `expected` calls of the check that it makes.
template <class Compute>
void expect_interruptible(const Compute& compute, int expected, const std::string& what) {
  for (int calls = 0; calls < expected; ++calls) {
    Stopper stopper{calls};
    const core::Outcome outcome = compute(stopper.check());
    check(outcome.ending == core::Ending::kInterrupted,
          core::text(what, " is not interrupted at call ", calls));
    check(stopper.calls == calls + 1, core::text(what, " goes on after an interrupt"));
  }
}

}  // namespace refarray::check
