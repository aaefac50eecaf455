// The plan of a Fourier transform: its passes and their factors, which are roots of unity. The
// plans that were made last are kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "compute/kernels/transforms/fourier.hpp"
#include "compute/kernels_in_use.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// Thrown when a check for interrupts ends the work.
struct Interrupted {};

/// Elements of a piece, which takes some milliseconds at most.
inline constexpr std::int64_t kPiece = std::int64_t{1} << 18;

/// Calls body(begin, end) for one part of [0, count) after the other. `width`: elements of a step.
/// Throws Interrupted.
template <class Body>
void in_pieces(std::int64_t count, std::int64_t width, const InterruptCheck& interrupt,
               const Body& body) {
  const std::int64_t piece = std::max(std::int64_t{1}, kPiece / width);
  for (std::int64_t at = 0; at < count; at += piece) {
    body(at, std::min(count, at + piece));
    if (count > piece && interrupt()) throw Interrupted{};
  }
}

template <class T>
const kernels::FourierKernels<T>& fourier_kernels() noexcept {
  const kernels::Operations& operations = kernels::operations();
  if constexpr (std::is_same_v<T, float>) {
    return *operations.fourier_float;
  } else {
    return *operations.fourier_double;
  }
}

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

/// Complex factors in two planes.
template <class T>
struct Factors {
  std::vector<T> real;
  std::vector<T> imag;

  void reserve(std::int64_t count);
  void push(const Roots::Root& root, int repeats = 1);
  kernels::Planes<const T> at(std::size_t index) const noexcept {
    return {real.data() + index, imag.data() + index};
  }
};

/// Of complex numbers. T is float or double. Immutable; threads share it.
template <class T>
class FourierPlan {
 public:
  using Planes = kernels::Planes<T>;

  /// 1 <= n < 2**56. Throws std::bad_alloc, Interrupted.
  FourierPlan(std::int64_t n, const InterruptCheck& interrupt);

  /// Elements of each plane that run() needs for one sequence.
  std::int64_t work_size() const noexcept { return inner_ ? inner_->n_ : n_; }
  /// Of all tables.
  std::size_t nbytes() const noexcept;

  /// Transforms `width` sequences that lie side by side in `data`: 1, or a multiple of
  /// kernels::kNarrow. The result is in `data`; the
  /// contents of `spare` are lost, and the two may change places. Throws Interrupted.
  void run(Planes& data, Planes& spare, std::int64_t width, const InterruptCheck& interrupt) const;

  /// Of the first pass. The length is_row_length().
  kernels::Planes<const T> first_twiddles() const noexcept {
    return factors_.at(passes_.front().twiddles);
  }

 private:
  struct Pass {
    int radix;
    std::int64_t groups;
    std::int64_t stride;   // for one sequence
    std::size_t twiddles;  // index in factors_, as the next two
    std::size_t repeated;  // twiddles, each `stride` times
    std::size_t roots;
  };

  void add_pass(const Roots& roots, int radix, std::int64_t stride,
                const InterruptCheck& interrupt);
  void add_twiddles(const Roots& roots, const Pass& pass, int repeats,
                    const InterruptCheck& interrupt);
  void add_chirp(std::int64_t padded, const InterruptCheck& interrupt);
  void run_pass(const kernels::FourierPass<T>& whole, const InterruptCheck& interrupt) const;
  void convolve(Planes& data, Planes& spare, std::int64_t width,
                const InterruptCheck& interrupt) const;

  std::int64_t n_;
  std::vector<Pass> passes_;
  Factors<T> factors_;  // of the passes, or the chirp
  // Bluestein's algorithm, for lengths with large prime factors: the transform is a convolution
  // with a chirp, by transforms of a greater length.
  std::unique_ptr<const FourierPlan> inner_;
  Factors<T> transformed_chirp_;
};

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
