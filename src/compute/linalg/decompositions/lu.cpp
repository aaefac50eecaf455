// Implements the functions that an LU decomposition with partial pivoting computes.
#include <numbers>
#include <vector>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/part_products.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

/// The exponents of the powers of two that rows and columns are multiplied by.
struct Scaling {
  std::vector<int> rows;
  std::vector<int> columns;
};

/// The magnitude by which pivots are chosen: of complex numbers that of LAPACK.
template <class T>
double size_of(T value) noexcept {
  return std::abs(std::real(value)) + std::abs(std::imag(value));
}

/// The sizes of which there are many matrices. The compiler unrolls all loops.
template <class T, Index n>
struct Tiny {
  static void factor(T* lu, int* transpositions) noexcept {
    for (Index k = 0; k < n; ++k) {
      T* const column = lu + k * n;
      Index pivot = k;
      for (Index i = k + 1; i < n; ++i)
        if (size_of(column[i]) > size_of(column[pivot])) pivot = i;
      transpositions[k] = static_cast<int>(pivot);
      for (Index j = 0; j < n; ++j) std::swap(lu[j * n + k], lu[j * n + pivot]);
      if (column[k] == T(0)) continue;
      for (Index i = k + 1; i < n; ++i) column[i] /= column[k];
      for (Index j = k + 1; j < n; ++j)
        for (Index i = k + 1; i < n; ++i) lu[j * n + i] -= column[i] * lu[j * n + k];
    }
  }

  /// The rows of `x` are exchanged.
  static void solve(const T* lu, T* x) noexcept {
    for (Index k = 0; k < n; ++k)
      for (Index i = k + 1; i < n; ++i) x[i] -= lu[k * n + i] * x[k];
    for (Index k = n - 1; k >= 0; --k) {
      x[k] /= lu[k * n + k];
      for (Index i = 0; i < k; ++i) x[i] -= lu[k * n + i] * x[k];
    }
  }
};

/// Calls `body(Tiny)` for these sizes; false for others.
template <class T, class Body>
bool with_tiny_size(Index n, const Body& body) {
  switch (n) {
    case 2:
      body(Tiny<T, 2>());
      return true;
    case 3:
      body(Tiny<T, 3>());
      return true;
    case 4:
      body(Tiny<T, 4>());
      return true;
    default:
      return false;
  }
}

/// The parts of a matrix that LU decompositions need, and what else it takes to use them.
template <class T>
class Decomposition {
 public:
  /// False if interrupted.
  bool compute(const ArrayView& x, Progress& progress) {
    load(lu_, x);
    is_scaled_ = !has_moderate_numbers();
    if (is_scaled_) equilibrate();
    transpositions_.resize(lu_.rows());
    const auto factor_tiny = [&](auto tiny) { tiny.factor(lu_.data(), transpositions_.data()); };
    return with_tiny_size<T>(lu_.rows(), factor_tiny) || factor(0, lu_.rows(), progress);
  }

  /// The index of the first pivot that is exactly zero, or -1.
  Index zero_pivot() const noexcept {
    for (Index k = 0; k < lu_.rows(); ++k)
      if (lu_(k, k) == T(0)) return k;
    return -1;
  }

  /// The determinant is mantissa * 2^exponent.
  struct Determinant {
    T mantissa{1};
    std::int64_t exponent = 0;
  };
  Determinant determinant() const noexcept {
    Determinant out;
    if (zero_pivot() >= 0) return {T(0)};
    for (Index k = 0; k < lu_.rows(); ++k) {
      multiply(out, lu_(k, k));
      if (transpositions_[k] != k) out.mantissa = -out.mantissa;
    }
    if (!is_scaled_) return out;
    for (const int each : scaling_.rows) out.exponent -= each;
    for (const int each : scaling_.columns) out.exponent -= each;
    return out;
  }

  /// Replaces `b` by the solution. False if interrupted.
  bool solve(Matrix<T>& b, Progress& progress) const {
    const Index n = lu_.rows();
    std::vector<int> scales;
    if (is_scaled_) scales = scale_right_sides(b);
    exchange_rows(b, 0, n, 0, b.cols());
    const auto solve_tiny = [&](auto tiny) {
      for (Index j = 0; j < b.cols(); ++j) tiny.solve(lu_.data(), b.data() + j * n);
    };
    if (!with_tiny_size<T>(n, solve_tiny) &&
        !(substitute<T>(Triangle::kUnitLower, lu_, b, progress) &&
          substitute<T>(Triangle::kUpper, lu_, b, progress)))
      return false;
    if (!is_scaled_) return true;
    for (Index j = 0; j < b.cols(); ++j)
      for (Index i = 0; i < n; ++i)
        b(i, j) = scaled(b(i, j), at(scaling_.columns, i) + at(scales, j));
    return true;
  }

 private:
  static std::int64_t at(const std::vector<int>& list, Index i) {
    return list[static_cast<std::size_t>(i)];
  }

  static void multiply(Determinant& by, T factor) noexcept {
    for (T* const each : {&factor, &by.mantissa}) {
      const int exponent = exponent_of(parts_of(each, 1));
      if (exponent == kNoExponent || exponent == kNotFinite) continue;
      *each = scaled(*each, -exponent);
      by.exponent += exponent;
    }
    by.mantissa *= factor;
  }

  /// Complex quotients and the reciprocals of pivots stay in range. True if a number is not finite,
  /// because scaling would not help.
  bool has_moderate_numbers() const noexcept {
    bool is_every_moderate = true, is_every_finite = true;
    for (const double each : parts_of(lu_.data(), lu_.size())) {
      const double magnitude = std::abs(each);
      is_every_finite &= magnitude <= std::numeric_limits<double>::max();
      is_every_moderate &= magnitude == 0 || (magnitude > 0x1p-400 && magnitude < 0x1p400);
    }
    return is_every_moderate || !is_every_finite;
  }

  static int negated_exponent(int exponent) noexcept {
    return exponent == kNoExponent ? 0 : -exponent;
  }

  /// Scales the greatest element of each row, then of each column, to [1, 2).
  void equilibrate() {
    const Index n = lu_.rows();
    scaling_.rows.assign(static_cast<std::size_t>(n), kNoExponent);
    scaling_.columns.resize(static_cast<std::size_t>(n));
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) {
        int& greatest = scaling_.rows[static_cast<std::size_t>(i)];
        greatest = std::max(greatest, exponent_of(parts_of(&lu_(i, j), 1)));
      }
    }
    for (int& each : scaling_.rows) each = negated_exponent(each);
    for (Index j = 0; j < n; ++j) {
      // The column may have elements that row scaling alone would round to zero.
      int greatest = kNoExponent;
      for (Index i = 0; i < n; ++i) {
        const int exponent = exponent_of(parts_of(&lu_(i, j), 1));
        if (exponent != kNoExponent)
          greatest = std::max(greatest, exponent + static_cast<int>(at(scaling_.rows, i)));
      }
      scaling_.columns[static_cast<std::size_t>(j)] = negated_exponent(greatest);
      for (Index i = 0; i < n; ++i)
        lu_(i, j) = scaled(lu_(i, j), at(scaling_.rows, i) + at(scaling_.columns, j));
    }
  }

  /// Scales the rows as those of the matrix, then each column to [1, 2). Returns the exponents that
  /// undo the latter.
  std::vector<int> scale_right_sides(Matrix<T>& b) const {
    std::vector<int> out(static_cast<std::size_t>(b.cols()), 0);
    for (Index j = 0; j < b.cols(); ++j) {
      int greatest = kNoExponent;
      for (Index i = 0; i < b.rows(); ++i) {
        const int exponent = exponent_of(parts_of(&b(i, j), 1));
        if (exponent != kNoExponent && exponent != kNotFinite)
          greatest = std::max(greatest, exponent + static_cast<int>(at(scaling_.rows, i)));
      }
      const int column = greatest == kNoExponent ? 0 : greatest;
      out[static_cast<std::size_t>(j)] = column;
      for (Index i = 0; i < b.rows(); ++i) b(i, j) = scaled(b(i, j), at(scaling_.rows, i) - column);
    }
    return out;
  }

  /// Exchanges the rows [first, end) of some columns with their pivots.
  void exchange_rows(Matrix<T>& m, Index first, Index end, Index begin_column,
                     Index end_column) const noexcept {
    for (Index j = begin_column; j < end_column; ++j) {
      T* const column = m.data() + j * m.rows();
      for (Index i = first; i < end; ++i) std::swap(column[i], column[transpositions_[i]]);
    }
  }

  /// Decomposes the columns [first, end) of the rows from `first` on.
  void factor_few(Index first, Index end) noexcept {
    const Index n = lu_.rows();
    T* const lu = lu_.data();
    for (Index k = first; k < end; ++k) {
      T* const column = lu + k * n;
      Index pivot = k;
      for (Index i = k + 1; i < n; ++i)
        if (size_of(column[i]) > size_of(column[pivot])) pivot = i;
      transpositions_[k] = static_cast<int>(pivot);
      exchange_rows(lu_, k, k + 1, first, end);
      if (column[k] == T(0)) continue;  // as all numbers below it
      for (Index i = k + 1; i < n; ++i) column[i] /= column[k];
      eliminate(column + n, n, end - k - 1, column, k, k + 1, n);
    }
  }

  /// The same for many columns: the left half, then the right one. False if interrupted.
  bool factor(Index first, Index end, Progress& progress) {
    const Index n = lu_.rows(), columns = end - first;
    if (columns <= kFewColumns) {
      factor_few(first, end);
      return !progress.is_stopped_after(static_cast<double>(columns * columns * (n - first)));
    }
    const Index middle = first + columns / 2, half = middle - first, below = n - middle;
    if (!factor(first, middle, progress)) return false;
    exchange_rows(lu_, first, middle, middle, end);
    auto right = lu_.block(first, middle, half, end - middle);
    if (!substitute<T>(Triangle::kUnitLower, lu_.block(first, first, half, half), right,
                       progress) ||
        !subtract_product<T>(lu_.block(middle, middle, below, end - middle),
                             lu_.block(middle, first, below, half), right, progress) ||
        !factor(middle, end, progress))
      return false;
    exchange_rows(lu_, middle, end, first, middle);
    return true;
  }

  Matrix<T> lu_;
  Vector<int> transpositions_;
  bool is_scaled_ = false;
  Scaling scaling_;
};

constexpr Outcome kInterruptedOutcome{Ending::kInterrupted};

/// Sign and logarithm of a determinant.
template <class T>
void store_logarithm(const ArrayView& sign, const ArrayView& logabsdet,
                     const typename Decomposition<T>::Determinant& determinant) {
  const T mantissa = determinant.mantissa;
  const double magnitude = std::abs(mantissa);
  if constexpr (!kIsComplex<T>) {
    const bool has_sign = magnitude > 0;  // also if it is infinite
    store_number(sign, has_sign ? std::copysign(1.0, mantissa) : mantissa);
  } else {
    store_number(sign, magnitude == 0 ? T(0) : T(mantissa / magnitude));
  }
  const double value = scaled(magnitude, determinant.exponent);
  const double exponent = static_cast<double>(determinant.exponent);
  // Near 1 the two terms of the sum would cancel.
  store_number(logabsdet, std::isnormal(value)
                              ? std::log(value)
                              : std::log(magnitude) + exponent * std::numbers::ln2);
}

/// `right_side(b, stack)` sets the right sides.
template <class T, class RightSide>
Outcome solve_each(std::span<const Stacked> operands, const InterruptCheck& interrupt,
                   const RightSide& right_side) {
  const auto one = [right_side, decomposition = Decomposition<T>(), b = Matrix<T>()](
                       const Stack& stack, Progress& progress) mutable -> Outcome {
    if (!decomposition.compute(stack[1], progress)) return kInterruptedOutcome;
    if (const Index pivot = decomposition.zero_pivot(); pivot >= 0)
      return {Ending::kSingular, 0, pivot};
    right_side(b, stack);
    if (!decomposition.solve(b, progress)) return kInterruptedOutcome;
    store(stack[0], b);
    return {};
  };
  return each_matrix(operands, interrupt, one);
}

}  // namespace

Outcome det(const ArrayView& out, const ArrayView& x, const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return each_matrix(std::array{Stacked{out, 0}, Stacked{x, 2}}, interrupt,
                       [decomposition = Decomposition<T>()](const Stack& stack,
                                                            Progress& progress) mutable -> Outcome {
                         if (!decomposition.compute(stack[1], progress)) return kInterruptedOutcome;
                         const auto value = decomposition.determinant();
                         store_number(stack[0], scaled(value.mantissa, value.exponent));
                         return {};
                       });
  });
}

Outcome slogdet(const ArrayView& sign, const ArrayView& logabsdet, const ArrayView& x,
                const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return each_matrix(std::array{Stacked{sign, 0}, Stacked{logabsdet, 0}, Stacked{x, 2}},
                       interrupt,
                       [decomposition = Decomposition<T>()](const Stack& stack,
                                                            Progress& progress) mutable -> Outcome {
                         if (!decomposition.compute(stack[2], progress)) return kInterruptedOutcome;
                         store_logarithm<T>(stack[0], stack[1], decomposition.determinant());
                         return {};
                       });
  });
}

Outcome inv(const ArrayView& out, const ArrayView& x, const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    return solve_each<T>(std::array{Stacked{out, 2}, Stacked{x, 2}}, interrupt,
                         [](Matrix<T>& b, const Stack& stack) {
                           b.setIdentity(stack[1].shape[0], stack[1].shape[0]);
                         });
  });
}

Outcome solve(const ArrayView& out, const ArrayView& x1, const ArrayView& x2,
              const InterruptCheck& interrupt) {
  return with_scalar(x1.dtype, [&]<class T>(T) {
    return solve_each<T>(std::array{Stacked{out, 2}, Stacked{x1, 2}, Stacked{x2, 2}}, interrupt,
                         [](Matrix<T>& b, const Stack& stack) { load(b, stack[2]); });
  });
}

}  // namespace refarray::core
