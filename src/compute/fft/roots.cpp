// Implements roots of unity.
#include "compute/fft/roots.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "compute/fft/pieces.hpp"

namespace refarray::core {
namespace {

// pi / 4 as the sum of two doubles.
constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
constexpr double kQuarterPiRest = 0x1.1a62633145c07p-55;

/// Cosine and sine of pi / 4 * y / n, for 0 <= y <= n. The angle has twice the precision of a
/// double.
Roots::Root first_octant(std::int64_t y, std::int64_t n) {
  const auto numerator = static_cast<double>(y), divisor = static_cast<double>(n);
  const double product = kQuarterPi * numerator;
  const double error = std::fma(kQuarterPi, numerator, -product) + kQuarterPiRest * numerator;
  const double angle = product / divisor;
  const double rest = (std::fma(-angle, divisor, product) + error) / divisor;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  return {cosine - rest * sine, sine + rest * cosine};
}

}  // namespace

Roots::Roots(std::int64_t n, const InterruptCheck& interrupt)
    : n_(n), step_(std::gcd(std::int64_t{8}, 2 * n)) {
  const std::int64_t count = n / step_ + 1;
  octant_.reserve(static_cast<std::size_t>(count));
  in_pieces(count, 1, interrupt, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) octant_.push_back(first_octant(i * step_, n));
  });
}

Roots::Root Roots::at(std::int64_t k) const noexcept {
  // In units of 1 / (8 * n) of a turn, of which n are an octant.
  std::int64_t y = 8 * k;
  const bool is_lower_half = y > 4 * n_;
  if (is_lower_half) y = 8 * n_ - y;  // the conjugate
  const bool is_left = y > 2 * n_;
  if (is_left) y = 4 * n_ - y;
  const bool is_steep = y > n_;
  if (is_steep) y = 2 * n_ - y;
  Root root = octant_[static_cast<std::size_t>(y / step_)];
  if (is_steep) std::swap(root.real, root.imag);
  if (is_left) root.real = -root.real;
  if (!is_lower_half) root.imag = -root.imag;
  return root;
}

}  // namespace refarray::core
