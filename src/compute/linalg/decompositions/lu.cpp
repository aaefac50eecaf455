// Implements the functions that an LU decomposition with partial pivoting computes.
#include <numbers>
#include <vector>

#include "compute/linalg/decompositions/decompositions.hpp"
#include "compute/linalg/decompositions/parts/matrices.hpp"
#include "compute/linalg/decompositions/parts/stack.hpp"

namespace refarray::core {
namespace {

constexpr Index kPanel = 128;  // columns that are decomposed at a time
constexpr Index kChunk = 256;  // columns that are updated, or solved for, at a time

/// The exponents of the powers of two that rows and columns are multiplied by.
struct Scaling {
  std::vector<int> rows;
  std::vector<int> columns;
};

/// The parts of a matrix that LU decompositions need, and what else it takes to use them.
template <class T>
class Decomposition {
 public:
  /// False if interrupted.
  bool compute(const ArrayView& x, Progress& progress) {
    load(lu_, x);
    is_scaled_ = !has_moderate_numbers();
    if (is_scaled_) equilibrate();
    return decompose(progress);
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
    for (Index j = 0; j < b.cols(); j += kChunk) {
      auto chunk = b.middleCols(j, std::min(kChunk, b.cols() - j));
      exchange_rows(b, 0, n, j, j + chunk.cols());
      lu_.template triangularView<Eigen::UnitLower>().solveInPlace(chunk);
      lu_.template triangularView<Eigen::Upper>().solveInPlace(chunk);
      const double size = static_cast<double>(n);
      if (progress.is_stopped_after(size * size * static_cast<double>(chunk.cols()))) return false;
    }
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
    bool is_every_moderate = true;
    for (const double each : parts_of(lu_.data(), lu_.size())) {
      if (!std::isfinite(each)) return true;
      const double magnitude = std::abs(each);
      is_every_moderate &= magnitude == 0 || (magnitude > 0x1p-400 && magnitude < 0x1p400);
    }
    return is_every_moderate;
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

  bool decompose(Progress& progress) {
    const Index n = lu_.rows();
    transpositions_.resize(n);
    for (Index k = 0; k < n; k += kPanel) {
      const Index width = std::min(kPanel, n - k), end = k + width, below = n - end;
      int exchanges = 0;
      Eigen::internal::partial_lu_impl<T, Eigen::ColMajor, int, Eigen::Dynamic>::blocked_lu(
          n - k, width, &lu_(k, k), n, &transpositions_[k], exchanges);
      for (Index i = k; i < end; ++i) transpositions_[i] += static_cast<int>(k);
      exchange_rows(lu_, k, end, 0, k);
      const double panel = static_cast<double>(width) * static_cast<double>(n - k);
      if (progress.is_stopped_after(panel * static_cast<double>(width))) return false;
      const auto lower = lu_.block(k, k, width, width).template triangularView<Eigen::UnitLower>();
      for (Index j = end; j < n; j += kChunk) {
        const Index columns = std::min(kChunk, n - j);
        exchange_rows(lu_, k, end, j, j + columns);
        auto right = lu_.block(k, j, width, columns);
        lower.solveInPlace(right);
        lu_.block(end, j, below, columns).noalias() -= lu_.block(end, k, below, width) * right;
        if (progress.is_stopped_after(panel * static_cast<double>(columns))) return false;
      }
    }
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
  Decomposition<T> decomposition;
  Matrix<T> b;
  return each_matrix(operands, interrupt, [&](const Stack& stack, Progress& progress) -> Outcome {
    if (!decomposition.compute(stack[1], progress)) return kInterruptedOutcome;
    if (const Index pivot = decomposition.zero_pivot(); pivot >= 0)
      return {Ending::kSingular, 0, pivot};
    right_side(b, stack);
    if (!decomposition.solve(b, progress)) return kInterruptedOutcome;
    store(stack[0], b);
    return {};
  });
}

}  // namespace

Outcome det(const ArrayView& out, const ArrayView& x, const InterruptCheck& interrupt) {
  return with_scalar(x.dtype, [&]<class T>(T) {
    Decomposition<T> decomposition;
    return each_matrix(std::array{Stacked{out, 0}, Stacked{x, 2}}, interrupt,
                       [&](const Stack& stack, Progress& progress) -> Outcome {
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
    Decomposition<T> decomposition;
    return each_matrix(std::array{Stacked{sign, 0}, Stacked{logabsdet, 0}, Stacked{x, 2}},
                       interrupt, [&](const Stack& stack, Progress& progress) -> Outcome {
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
