// The plan of a Fourier transform: its passes and their factors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compute/fft/roots.hpp"
#include "compute/kernels/transforms/fourier.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

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

  std::int64_t size() const noexcept { return n_; }
  /// Elements of each plane that run() needs for one sequence.
  std::int64_t work_size() const noexcept { return inner_ ? inner_->n_ : n_; }
  /// Of all tables.
  std::size_t nbytes() const noexcept;

  /// Transforms `width` sequences that lie side by side in `data`: 1, or a multiple of
  /// kernels::kNarrow. The result is in `data`; the
  /// contents of `spare` are lost, and the two may change places. Throws Interrupted.
  void run(Planes& data, Planes& spare, std::int64_t width, const InterruptCheck& interrupt) const;

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

}  // namespace refarray::core
