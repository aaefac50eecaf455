// Implements the plans of Fourier transforms: factorization, Stockham's and Bluestein's algorithms.
#include "core/fft/plan.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/fft/kernels.hpp"

namespace refarray::core {
namespace {

using kernels::kMaxRadix;

constexpr std::int64_t kLongPass = std::int64_t{1} << 18;  // elements; takes about a millisecond

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

}  // namespace

template <class T>
void Factors<T>::push(const Roots::Root& root, int repeats) {
  real.insert(real.end(), static_cast<std::size_t>(repeats), static_cast<T>(root.real));
  imag.insert(imag.end(), static_cast<std::size_t>(repeats), static_cast<T>(root.imag));
}

template <class T>
FourierPlan<T>::FourierPlan(std::int64_t n) : n_(n) {
  const std::vector<int> factors = radices(n);
  if (const std::int64_t padded = bluestein_length(n, factors)) {
    add_chirp(padded);
    return;
  }
  const Roots roots(n);
  std::int64_t stride = 1;
  for (const int radix : factors) {
    add_pass(roots, radix, stride);
    stride *= radix;
  }
}

template <class T>
void FourierPlan<T>::add_pass(const Roots& roots, int radix, std::int64_t stride) {
  Pass pass{radix, n_ / (stride * radix), stride, factors_.real.size(), 0, 0};
  add_twiddles(roots, pass, 1);
  pass.repeated = pass.twiddles;
  if (stride > 1 && stride < kernels::kNarrow<T>) {
    pass.repeated = factors_.real.size();
    add_twiddles(roots, pass, static_cast<int>(stride));
  }
  pass.roots = factors_.real.size();
  for (int i = 0; i < radix; ++i) factors_.push(roots.at(n_ / radix * i));
  passes_.push_back(pass);
}

template <class T>
void FourierPlan<T>::add_twiddles(const Roots& roots, const Pass& pass, int repeats) {
  if (pass.groups == 1) return;
  for (int j = 1; j < pass.radix; ++j) {
    for (std::int64_t k = 0; k < pass.groups; ++k)
      factors_.push(roots.at(pass.stride * j * k), repeats);
  }
}

template <class T>
void FourierPlan<T>::add_chirp(std::int64_t padded) {
  inner_ = std::make_unique<const FourierPlan>(padded);
  // In double precision for float too: the rounding then is that of one product.
  const FourierPlan<double>* exact = nullptr;
  std::unique_ptr<const FourierPlan<double>> made;
  if constexpr (std::is_same_v<T, double>) {
    exact = inner_.get();
  } else {
    made = std::make_unique<const FourierPlan<double>>(padded);
    exact = made.get();
  }
  const auto length = static_cast<std::size_t>(padded);
  std::vector<double> memory(4 * length);
  kernels::Planes<double> chirp{memory.data(), memory.data() + length};
  kernels::Planes<double> spare{chirp.imag + length, chirp.imag + 2 * length};
  const Roots roots(2 * n_);
  std::int64_t square = 0;  // of k, modulo 2 * n
  for (std::int64_t k = 0; k < n_; ++k) {
    const Roots::Root root = roots.at(square);
    factors_.push(root);
    for (const std::int64_t at : {k, (padded - k) % padded}) {
      chirp.real[at] = root.real;
      chirp.imag[at] = -root.imag;
    }
    square = (square + 2 * k + 1) % (2 * n_);
  }
  exact->run(chirp, spare, 1, {});
  const auto divisor = static_cast<double>(padded);
  for (std::int64_t k = 0; k < padded; ++k)
    transformed_chirp_.push({chirp.real[k] / divisor, chirp.imag[k] / divisor});
}

template <class T>
std::size_t FourierPlan<T>::nbytes() const noexcept {
  const std::size_t own = factors_.real.size() + transformed_chirp_.real.size();
  return own * 2 * sizeof(T) + (inner_ ? inner_->nbytes() : 0);
}

template <class T>
bool FourierPlan<T>::run(Planes& data, Planes& spare, std::int64_t width,
                         const InterruptCheck& interrupt) const noexcept {
  if (inner_) return convolve(data, spare, width, interrupt);
  const auto& kernels = fourier_kernels<T>();
  for (const Pass& pass : passes_) {
    const std::int64_t stride = pass.stride * width;
    const bool repeats = stride < kernels::kNarrow<T>;
    kernels.pass({data, spare, pass.radix, pass.groups, stride,
                  factors_.at(repeats ? pass.repeated : pass.twiddles), factors_.at(pass.roots)});
    std::swap(data, spare);
    if (n_ * width >= kLongPass && interrupt()) return false;
  }
  return true;
}

template <class T>
bool FourierPlan<T>::convolve(Planes& data, Planes& spare, std::int64_t width,
                              const InterruptCheck& interrupt) const noexcept {
  const auto& kernels = fourier_kernels<T>();
  const auto chirp = [&] { kernels.multiply({data, data, factors_.at(0), n_, width}); };
  const std::int64_t padded = inner_->n_;
  chirp();
  for (T* const plane : {data.real, data.imag})
    std::fill(plane + n_ * width, plane + padded * width, T{0});
  if (!inner_->run(data, spare, width, interrupt)) return false;
  kernels.multiply({data, data, transformed_chirp_.at(0), padded, width});
  // The transform of exchanged planes is the inverse one, with its planes exchanged.
  Planes swapped = data.swapped(), swapped_spare = spare.swapped();
  if (!inner_->run(swapped, swapped_spare, width, interrupt)) return false;
  data = swapped.swapped();
  spare = swapped_spare.swapped();
  chirp();
  return true;
}

template struct Factors<float>;
template struct Factors<double>;
template class FourierPlan<float>;
template class FourierPlan<double>;

}  // namespace refarray::core
