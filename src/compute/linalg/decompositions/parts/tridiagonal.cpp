// Implements eigenvalues of symmetric tridiagonal matrices by QR iterations with implicit shifts.
#include <cmath>
#include <limits>

#include "compute/linalg/decompositions/parts/iterations.hpp"

namespace refarray::core {
namespace {

/// A symmetric tridiagonal matrix.
struct Tridiagonal {
  Vector<double>& diagonal;
  Vector<double>& below;  // the diagonal

  /// An element below the diagonal is negligible next to its neighbours on the diagonal, or next to
  /// 1, the magnitude of the matrix.
  void clear_negligible(Index start, Index end) noexcept {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    for (Index i = start; i < end; ++i) {
      const double neighbours = std::abs(diagonal[i]) + std::abs(diagonal[i + 1]);
      if (std::abs(below[i]) <= kEpsilon * neighbours || std::abs(below[i]) <= kEpsilon * kEpsilon)
        below[i] = 0;
    }
  }

  /// The eigenvalue of the last two rows of the block that is closer to the last element.
  double shift_at(Index end) const noexcept {
    const double half = (diagonal[end - 1] - diagonal[end]) / 2, last = below[end - 1];
    if (half == 0) return diagonal[end] - std::abs(last);
    const double root = std::sqrt(half * half + last * last);
    return diagonal[end] - last * (last / (half + std::copysign(root, half)));
  }

  /// An implicit QR step with the rows [start, end].
  void sweep(Index start, Index end, Sweeps& sweeps) {
    sweeps.begin(start, 1);
    double x = diagonal[start] - shift_at(end), y = below[start];
    for (Index k = start; k < end; ++k) {
      double size;
      const auto [c, s] = rotation_to_zero(x, y, size);
      if (k > start) below[k - 1] = size;
      // The rotation of the rows k and k + 1, then of the columns.
      const double upper = diagonal[k], middle = below[k], lower = diagonal[k + 1];
      const double first = c * upper + s * middle, second = c * middle + s * lower;
      diagonal[k] = c * first + s * second;
      below[k] = x = c * second - s * first;
      diagonal[k + 1] = c * (c * lower - s * middle) - s * (c * middle - s * upper);
      if (k + 1 < end) {
        y = s * below[k + 1];
        below[k + 1] = c * below[k + 1];
      }
      sweeps.add({c, s});
    }
  }
};

}  // namespace

Ending diagonalize_tridiagonal(Vector<double>& diagonal, Vector<double>& below, Sweeps sweeps,
                               Progress& progress, Index most_per_value) {
  Tridiagonal matrix{diagonal, below};
  Index start = 0, end = diagonal.size() - 1;
  for (Index most = most_per_value * diagonal.size(); end > 0; --most) {
    matrix.clear_negligible(start, end);
    while (end > 0 && below[end - 1] == 0) --end;
    if (end <= 0) break;
    if (most == 0) return Ending::kNotConverged;
    start = end - 1;
    while (start > 0 && below[start - 1] != 0) --start;
    matrix.sweep(start, end, sweeps);
    double products = 10 * static_cast<double>(end - start);
    if (sweeps.is_full()) products += sweeps.apply();
    if (progress.is_stopped_after(products)) return Ending::kInterrupted;
  }
  sweeps.apply();
  return Ending::kDone;
}

}  // namespace refarray::core
