// Implements the plans of Fourier transforms: roots of unity, factorization, Stockham's and
// Bluestein's algorithms, and the cache of plans.
#include "compute/fft/fourier_plan.hpp"

#include <cmath>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#include "core/error.hpp"

namespace refarray::core {
namespace {

using kernels::kMaxRadix;

// --- roots of unity

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

// --- factorization

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

// --- the cache

constexpr std::size_t kEntries = 16;
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;  // of all entries of a type

template <class T>
struct Entry {
  std::int64_t n = 0;
  bool is_real = false;
  std::shared_ptr<const FourierTables<T>> tables;
  std::size_t nbytes = 0;
};

/// The last used entry is the first.
template <class T>
class Cache {
 public:
  using Tables = std::shared_ptr<const FourierTables<T>>;

  Tables find(std::int64_t n, bool is_real) noexcept {
    // A lock that is taken, perhaps by a thread that a fork() left behind, is not waited for.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return nullptr;
    const auto found = std::find_if(entries_, entries_ + kEntries, [&](const Entry<T>& entry) {
      return entry.tables && entry.n == n && entry.is_real == is_real;
    });
    if (found == entries_ + kEntries) return nullptr;
    std::rotate(entries_, found, found + 1);
    return entries_[0].tables;
  }

  void add(Entry<T> added) noexcept {
    Entry<T> dropped[kEntries];  // freed after the lock
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || added.nbytes > kMaxBytes) return;
    std::rotate(entries_, entries_ + kEntries - 1, entries_ + kEntries);
    std::swap(entries_[0], added);
    std::size_t total = 0;
    for (std::size_t i = 0; i < kEntries; ++i) {
      total += entries_[i].nbytes;
      if (total > kMaxBytes) std::swap(entries_[i], dropped[i]);
    }
  }

 private:
  std::mutex mutex_;
  Entry<T> entries_[kEntries];
};

template <class T>
Cache<T>& cache() {
  static auto& out = *new Cache<T>;  // never destroyed: threads may still transform at exit
  return out;
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

template <class T>
FourierTables<T>::FourierTables(std::int64_t n, bool is_real, const InterruptCheck& interrupt)
    : is_halved(is_real && n % 2 == 0), plan(is_halved ? n / 2 : n, interrupt) {
  if (!is_halved) return;
  const Roots all(n, interrupt);
  roots.reserve(n / 2 + 1);
  in_pieces(n / 2 + 1, 1, interrupt, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) roots.push(all.at(k));
  });
}

template <class T>
std::shared_ptr<const FourierTables<T>> fourier_tables(std::int64_t n, bool is_real,
                                                       const InterruptCheck& interrupt) {
  try {  // boundary: std::bad_alloc becomes the core's error
    if (auto found = cache<T>().find(n, is_real)) return found;
    auto made = std::make_shared<const FourierTables<T>>(n, is_real, interrupt);
    const std::size_t nbytes = made->plan.nbytes() + made->roots.real.size() * 2 * sizeof(T);
    cache<T>().add({n, is_real, made, nbytes});
    return made;
  } catch (const std::bad_alloc&) {
    fail(Fault::kMemory, "no memory for the factors of a Fourier transform of ", n, " elements");
  }
}

template struct Factors<float>;
template struct Factors<double>;
template class FourierPlan<float>;
template class FourierPlan<double>;
template struct FourierTables<float>;
template struct FourierTables<double>;
template std::shared_ptr<const FourierTables<float>> fourier_tables(
    std::int64_t n, bool is_real, const InterruptCheck& interrupt);
template std::shared_ptr<const FourierTables<double>> fourier_tables(
    std::int64_t n, bool is_real, const InterruptCheck& interrupt);

}  // namespace refarray::core
