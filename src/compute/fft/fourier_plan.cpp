// Implements the plans of Fourier transforms: factorization, Stockham's and Bluestein's algorithms.
#include "compute/fft/fourier_plan.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "compute/fft/kernels.hpp"
#include "compute/fft/pieces.hpp"

namespace refarray::core {
namespace {

using kernels::kMaxRadix;

/// 4 as often as possible, then the prime factors; 0 last if one is greater than kMaxRadix.
std::vector<int> radices(std::int64_t n) {
  std::vector<int> out;
  const auto divide = [&](int factor) {
    for (; n % factor == 0; n /= factor) out.push_back(factor);
  };
  divide(4);
  for (int factor = 3; factor <= kMaxRadix; factor += 2) divide(factor);
  divide(2);
  if (n > 1) out.push_back(0);
  return out;
}

/// About the operations per element.
double cost(const std::vector<int>& radices) noexcept {
  double out = 0;
  for (const int radix : radices) out += radix <= 4 ? 10 : 2 * radix + 8;
  return out;
}

/// The length of transforms for a convolution: the cheapest product of 2, 3 and 5 that is long
/// enough.
std::int64_t padded_length(std::int64_t least) {
  std::int64_t best = 1;
  while (best < least) best *= 2;
  double best_cost = static_cast<double>(best) * cost(radices(best));
  for (std::int64_t odd : {3, 5, 9, 15}) {
    std::int64_t length = 4 * odd;
    while (length < least) length *= 2;
    const double total = static_cast<double>(length) * cost(radices(length));
    if (total < best_cost) {
      best = length;
      best_cost = total;
    }
  }
  return best;
}

/// The length of transforms for Bluestein's algorithm; 0 if passes alone take less time.
std::int64_t bluestein_length(std::int64_t n, const std::vector<int>& factors) {
  if (factors.empty() || (factors.back() != 0 && *std::ranges::max_element(factors) <= 11))
    return 0;
  const std::int64_t padded = padded_length(2 * n - 1);
  const double convolution = static_cast<double>(padded) * (2 * cost(radices(padded)) + 18);
  const bool fits = factors.back() != 0;
  return fits && static_cast<double>(n) * cost(factors) <= convolution ? 0 : padded;
}

/// Whether a pass needs each twiddle factor `stride` times as well.
template <class T>
bool repeats_twiddles(std::int64_t stride) noexcept {
  return stride > 1 && stride < kernels::kNarrow<T>;
}

/// How many factors the passes have.
template <class T>
std::int64_t factors_of_passes(std::int64_t n, const std::vector<int>& radices) noexcept {
  std::int64_t out = 0, stride = 1;
  for (const int radix : radices) {
    const std::int64_t groups = n / (stride * radix);
    const std::int64_t repeats = repeats_twiddles<T>(stride) ? 1 + stride : 1;
    out += radix + (groups == 1 ? 0 : (radix - 1) * groups * repeats);
    stride *= radix;
  }
  return out;
}

}  // namespace

template <class T>
void Factors<T>::reserve(std::int64_t count) {
  real.reserve(static_cast<std::size_t>(count));
  imag.reserve(static_cast<std::size_t>(count));
}

template <class T>
void Factors<T>::push(const Roots::Root& root, int repeats) {
  real.insert(real.end(), static_cast<std::size_t>(repeats), static_cast<T>(root.real));
  imag.insert(imag.end(), static_cast<std::size_t>(repeats), static_cast<T>(root.imag));
}

template <class T>
FourierPlan<T>::FourierPlan(std::int64_t n, const InterruptCheck& interrupt) : n_(n) {
  const std::vector<int> factors = radices(n);
  if (const std::int64_t padded = bluestein_length(n, factors)) {
    add_chirp(padded, interrupt);
    return;
  }
  const Roots roots(n, interrupt);
  factors_.reserve(factors_of_passes<T>(n, factors));  // else growing takes long for a large n
  std::int64_t stride = 1;
  for (const int radix : factors) {
    add_pass(roots, radix, stride, interrupt);
    stride *= radix;
  }
}

template <class T>
void FourierPlan<T>::add_pass(const Roots& roots, int radix, std::int64_t stride,
                              const InterruptCheck& interrupt) {
  Pass pass{radix, n_ / (stride * radix), stride, factors_.real.size(), 0, 0};
  add_twiddles(roots, pass, 1, interrupt);
  pass.repeated = pass.twiddles;
  if (repeats_twiddles<T>(stride)) {
    pass.repeated = factors_.real.size();
    add_twiddles(roots, pass, static_cast<int>(stride), interrupt);
  }
  pass.roots = factors_.real.size();
  for (int i = 0; i < radix; ++i) factors_.push(roots.at(n_ / radix * i));
  passes_.push_back(pass);
}

template <class T>
void FourierPlan<T>::add_twiddles(const Roots& roots, const Pass& pass, int repeats,
                                  const InterruptCheck& interrupt) {
  if (pass.groups == 1) return;
  for (int j = 1; j < pass.radix; ++j) {
    in_pieces(pass.groups, repeats, interrupt, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k)
        factors_.push(roots.at(pass.stride * j * k), repeats);
    });
  }
}

template <class T>
void FourierPlan<T>::add_chirp(std::int64_t padded, const InterruptCheck& interrupt) {
  inner_ = std::make_unique<const FourierPlan>(padded, interrupt);
  // In double precision for float too: the rounding then is that of one product.
  const FourierPlan<double>* exact = nullptr;
  std::unique_ptr<const FourierPlan<double>> made;
  if constexpr (std::is_same_v<T, double>) {
    exact = inner_.get();
  } else {
    made = std::make_unique<const FourierPlan<double>>(padded, interrupt);
    exact = made.get();
  }
  const auto length = static_cast<std::size_t>(padded);
  const auto memory = std::make_unique_for_overwrite<double[]>(4 * length);
  kernels::Planes<double> chirp{memory.get(), memory.get() + length};
  kernels::Planes<double> spare{chirp.imag + length, chirp.imag + 2 * length};
  in_pieces(padded, 1, interrupt, [&](std::int64_t begin, std::int64_t end) {
    for (double* const plane : {chirp.real, chirp.imag}) std::fill(plane + begin, plane + end, 0.0);
  });
  const Roots roots(2 * n_, interrupt);
  factors_.reserve(n_);
  std::int64_t square = 0;  // of k, modulo 2 * n
  in_pieces(n_, 1, interrupt, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const Roots::Root root = roots.at(square);
      factors_.push(root);
      for (const std::int64_t at : {k, (padded - k) % padded}) {
        chirp.real[at] = root.real;
        chirp.imag[at] = -root.imag;
      }
      square = (square + 2 * k + 1) % (2 * n_);
    }
  });
  exact->run(chirp, spare, 1, interrupt);
  const auto divisor = static_cast<double>(padded);
  transformed_chirp_.reserve(padded);
  in_pieces(padded, 1, interrupt, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      transformed_chirp_.push({chirp.real[k] / divisor, chirp.imag[k] / divisor});
  });
}

template <class T>
std::size_t FourierPlan<T>::nbytes() const noexcept {
  const std::size_t own = factors_.real.size() + transformed_chirp_.real.size();
  return own * 2 * sizeof(T) + (inner_ ? inner_->nbytes() : 0);
}

template <class T>
void FourierPlan<T>::run(Planes& data, Planes& spare, std::int64_t width,
                         const InterruptCheck& interrupt) const {
  if (inner_) return convolve(data, spare, width, interrupt);
  for (const Pass& pass : passes_) {
    const std::int64_t stride = pass.stride * width;
    const bool repeats = stride < kernels::kNarrow<T>;
    run_pass({data, spare, pass.radix, pass.groups, stride,
              factors_.at(repeats ? pass.repeated : pass.twiddles), factors_.at(pass.roots), 0,
              pass.groups, stride},
             interrupt);
    std::swap(data, spare);
  }
}

/// In pieces of groups, and of the elements of a group where those are many.
template <class T>
void FourierPlan<T>::run_pass(const kernels::FourierPass<T>& whole,
                              const InterruptCheck& interrupt) const {
  const auto& kernels = fourier_kernels<T>();
  const std::int64_t group = whole.radix * whole.stride;
  if (whole.groups * group <= kPiece) return kernels.pass(whole);
  in_pieces(whole.groups, group, interrupt, [&](std::int64_t first, std::int64_t last) {
    in_pieces(whole.stride, whole.radix, interrupt, [&](std::int64_t begin, std::int64_t end) {
      kernels::FourierPass<T> part = whole;
      part.in = {whole.in.real + begin, whole.in.imag + begin};
      part.out = {whole.out.real + begin, whole.out.imag + begin};
      part.first = first;
      part.last = last;
      part.columns = end - begin;
      kernels.pass(part);
    });
  });
}

template <class T>
void FourierPlan<T>::convolve(Planes& data, Planes& spare, std::int64_t width,
                              const InterruptCheck& interrupt) const {
  const auto multiply = [&](const Factors<T>& factors, std::int64_t count) {
    in_pieces(count, width, interrupt, [&](std::int64_t begin, std::int64_t end) {
      const Planes part{data.real + begin * width, data.imag + begin * width};
      fourier_kernels<T>().multiply(
          {part, part, factors.at(static_cast<std::size_t>(begin)), end - begin, width});
    });
  };
  const std::int64_t padded = inner_->n_;
  multiply(factors_, n_);
  in_pieces(padded - n_, width, interrupt, [&](std::int64_t begin, std::int64_t end) {
    for (T* const plane : {data.real, data.imag})
      std::fill(plane + (n_ + begin) * width, plane + (n_ + end) * width, T{0});
  });
  inner_->run(data, spare, width, interrupt);
  multiply(transformed_chirp_, padded);
  // The transform of exchanged planes is the inverse one, with its planes exchanged.
  Planes swapped = data.swapped(), swapped_spare = spare.swapped();
  inner_->run(swapped, swapped_spare, width, interrupt);
  data = swapped.swapped();
  spare = swapped_spare.swapped();
  multiply(factors_, n_);
}

template struct Factors<float>;
template struct Factors<double>;
template class FourierPlan<float>;
template class FourierPlan<double>;

}  // namespace refarray::core
