// Implements singular values of bidiagonal matrices by QR iterations with implicit shifts, or none.
#include <utility>

#include "compute/linalg/decompositions/parts/iterations.hpp"

namespace refarray::core {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// A block of a bidiagonal matrix, from its first column on or (`step` -1) from its last one back:
/// reversed, the transpose of an upper bidiagonal matrix is one too.
struct Block {
  double* first;  // on the diagonal
  double* first_above;
  Index step;
  Index size;

  double& diagonal(Index i) const noexcept { return first[i * step]; }
  double& above(Index i) const noexcept { return first_above[i * step]; }  // of i and i + 1
};

/// The smaller singular value of the triangle of f, g and, below g, h.
double smaller_value(double f, double g, double h) noexcept {
  f = std::abs(f), g = std::abs(g), h = std::abs(h);
  const double least = std::min(f, h), greatest = std::max(f, h);
  if (least == 0) return 0;
  const double sum = 1 + least / greatest, difference = (greatest - least) / greatest;
  if (g < greatest) {
    const double square = (g / greatest) * (g / greatest);
    return least * 2 /
           (std::sqrt(sum * sum + square) + std::sqrt(difference * difference + square));
  }
  const double quotient = greatest / g;
  const double factor = 1 / (std::sqrt(1 + (sum * quotient) * (sum * quotient)) +
                             std::sqrt(1 + (difference * quotient) * (difference * quotient)));
  return 2 * (least * factor) * quotient;
}

/// The shift for the next sweep: a singular value of the last two columns. Zero if a value of the
/// block is negligible, which a sweep without shift finds at once.
double shift_of(const Block& block, double negligible) noexcept {
  for (Index i = 0; i < block.size; ++i)
    if (std::abs(block.diagonal(i)) <= negligible) return 0;
  const Index last = block.size - 1;
  const double shift =
      smaller_value(block.diagonal(last - 1), block.above(last - 1), block.diagonal(last));
  const double quotient = shift / block.diagonal(0);
  return quotient * quotient < kEpsilon ? 0 : shift;
}

/// A sweep that has only products and quotients of elements, so that it keeps small values accurate
/// and leaves exact zeros (Demmel and Kahan, 1990).
void sweep_without_shift(const Block& block, Sweeps& left, Sweeps& right) {
  Rotation now{1, 0}, before{1, 0};
  const Index last = block.size - 1;
  for (Index i = 0; i < last; ++i) {
    double size;
    now = rotation_to_zero(block.diagonal(i) * now.c, block.above(i), size);
    if (i > 0) block.above(i - 1) = before.s * size;
    before = rotation_to_zero(before.c * size, block.diagonal(i + 1) * now.s, block.diagonal(i));
    right.add(now);
    left.add(before);
  }
  const double rest = block.diagonal(last) * now.c;
  block.diagonal(last) = rest * before.c;
  block.above(last - 1) = rest * before.s;
}

void sweep(const Block& block, double shift, Sweeps& left, Sweeps& right) {
  const double first = block.diagonal(0);
  double x = (std::abs(first) - shift) * (std::copysign(1.0, first) + shift / first);
  double y = block.above(0);
  const Index last = block.size - 1;
  for (Index i = 0; i < last; ++i) {
    double& diagonal = block.diagonal(i);
    double& above = block.above(i);
    double& next = block.diagonal(i + 1);
    double size;
    const auto [c, s] = rotation_to_zero(x, y, size);
    if (i > 0) block.above(i - 1) = size;
    x = c * diagonal + s * above;
    above = c * above - s * diagonal;
    y = s * next;
    next = c * next;
    right.add({c, s});

    const auto [c2, s2] = rotation_to_zero(x, y, diagonal);
    x = c2 * above + s2 * next;
    next = c2 * next - s2 * above;
    above = x;
    if (i + 1 < last) {
      y = s2 * block.above(i + 1);
      block.above(i + 1) = c2 * block.above(i + 1);
    }
    left.add({c2, s2});
  }
}

/// One sweep over the columns [start, end], from the end that has the greater numbers.
void sweep_block(double* diagonal, double* above, Index start, Index end, double negligible,
                 Sweeps& left, Sweeps& right) {
  Sweeps* sides[] = {&left, &right};
  Block block{diagonal + start, above + start, 1, end - start + 1};
  if (std::abs(diagonal[start]) < std::abs(diagonal[end])) {
    block = {diagonal + end, above + end - 1, -1, block.size};
    std::swap(sides[0], sides[1]);
  }
  const Index column = block.step > 0 ? start : end;
  sides[0]->begin(column, block.step);
  sides[1]->begin(column, block.step);
  const double shift = shift_of(block, negligible);
  if (shift == 0) {
    sweep_without_shift(block, *sides[0], *sides[1]);
  } else {
    sweep(block, shift, *sides[0], *sides[1]);
  }
}

}  // namespace

Ending diagonalize_bidiagonal(Vector<double>& diagonal, Vector<double>& above, Sweeps left,
                              Sweeps right, Progress& progress, Index most_per_value) {
  const Index n = diagonal.size();
  double greatest = 0;
  for (Index i = 0; i < n; ++i)
    greatest = std::max({greatest, std::abs(diagonal[i]), i + 1 < n ? std::abs(above[i]) : 0});
  const double negligible = kEpsilon * greatest;
  Index start = 0, end = n - 1;
  for (Index most = most_per_value * n;; --most) {
    for (Index i = start; i < end; ++i) {
      const double neighbours = std::abs(diagonal[i]) + std::abs(diagonal[i + 1]);
      if (std::abs(above[i]) <= std::max(negligible, kEpsilon * neighbours)) above[i] = 0;
    }
    while (end > 0 && above[end - 1] == 0) --end;
    if (end <= 0) break;
    if (most == 0) return Ending::kNotConverged;
    start = end - 1;
    while (start > 0 && above[start - 1] != 0) --start;
    sweep_block(diagonal.data(), above.data(), start, end, negligible, left, right);
    double products = 20 * static_cast<double>(end - start);
    for (Sweeps* const side : {&left, &right})
      if (side->is_full()) products += side->apply();
    if (progress.is_stopped_after(products)) return Ending::kInterrupted;
  }
  left.apply();
  right.apply();
  return Ending::kDone;
}

}  // namespace refarray::core
