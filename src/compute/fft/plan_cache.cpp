// Implements the cache of planned Fourier transforms.
#include "compute/fft/plan_cache.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "compute/fft/pieces.hpp"
#include "core/error.hpp"

namespace refarray::core {
namespace {

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

template struct FourierTables<float>;
template struct FourierTables<double>;
template std::shared_ptr<const FourierTables<float>> fourier_tables(
    std::int64_t n, bool is_real, const InterruptCheck& interrupt);
template std::shared_ptr<const FourierTables<double>> fourier_tables(
    std::int64_t n, bool is_real, const InterruptCheck& interrupt);

}  // namespace refarray::core
