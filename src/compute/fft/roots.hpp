// Roots of unity.
#pragma once

#include <cstdint>
#include <vector>

#include "core/work_sharing.hpp"

namespace refarray::core {

/// exp(-2 pi i k / n): the cosine and the negative sine, to about an ULP. Only angles of the first
/// octant are computed, so that conjugate and negative roots have the same digits.
class Roots {
 public:
  /// Throws std::bad_alloc, Interrupted.
  Roots(std::int64_t n, const InterruptCheck& interrupt);

  struct Root {
    double real;
    double imag;
  };
  /// 0 <= k < n < 2**58.
  Root at(std::int64_t k) const noexcept;

 private:
  std::int64_t n_;
  std::int64_t step_;         // between the angles, in units of 1 / (8 * n) of a turn
  std::vector<Root> octant_;  // cosines and sines
};

}  // namespace refarray::core
