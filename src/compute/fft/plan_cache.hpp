// The Fourier transforms that were planned last.
#pragma once

#include <cstdint>
#include <memory>

#include "compute/fft/fourier_plan.hpp"

namespace refarray::core {

/// What a transform of n complex numbers needs, or of n real ones.
template <class T>
struct FourierTables {
  /// Throws std::bad_alloc, Interrupted.
  FourierTables(std::int64_t n, bool is_real, const InterruptCheck& interrupt);

  /// An even number of real numbers is transformed as half as many complex ones.
  bool is_halved;
  FourierPlan<T> plan;
  Factors<T> roots;  // exp(-2 pi i k / n) for k <= n / 2, if is_halved
};

/// From the cache, or new. The cache keeps the tables of the last 16 lengths of each type, and up
/// to 64 MiB of them. Thread-safe. Throws kMemory, Interrupted.
template <class T>
std::shared_ptr<const FourierTables<T>> fourier_tables(std::int64_t n, bool is_real,
                                                       const InterruptCheck& interrupt);

}  // namespace refarray::core
