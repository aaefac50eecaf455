// The working memory of Fourier transforms.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "compute/fft/tile_copies.hpp"
#include "core/array.hpp"

namespace refarray::core {

/// Memory for a tile in each thread.
template <class T>
class Workspaces {
 public:
  /// `plane`: elements. Throws kMemory.
  Workspaces(int threads, std::int64_t plane)
      : threads_(threads), is_taken_(new std::atomic<bool>[static_cast<std::size_t>(threads)]()) {
    plane_ = (plane + kLine - 1) / kLine * kLine;
    const std::int64_t size = std::int64_t{threads} * 4 * plane_;
    const std::int64_t shape[] = {size};
    memory_ = new_array({Kind::kFloat, sizeof(T) * 8}, shape, /*zeroed=*/false);
  }

  /// Calls `work` with memory that no other thread has.
  template <class Work>
  void use(const Work& work) const noexcept {
    int i = 0;
    while (is_taken_[i].exchange(true, std::memory_order_acquire)) i = (i + 1) % threads_;
    auto* const at = reinterpret_cast<T*>(memory_.data) + i * 4 * plane_;
    work(Buffers<T>{{at, at + plane_}, {at + 2 * plane_, at + 3 * plane_}});
    is_taken_[i].store(false, std::memory_order_release);
  }

 private:
  static constexpr std::int64_t kLine = 64 / sizeof(T);

  int threads_;
  std::unique_ptr<std::atomic<bool>[]> is_taken_;
  std::int64_t plane_;
  Array memory_;
};

}  // namespace refarray::core
