// Vectors as wide as the instruction set, for elementwise kernels that loops do not vectorize.
#pragma once

#include "compute/kernels/loops.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

template <class T>
using Lanes = typename VectorOf<T, kWidth>::type;

/// Whether all lanes of a mask are set.
[[gnu::always_inline]] inline bool all(Lanes<std::int64_t> mask) noexcept {
#if defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)mask) == 0xF;
#elif defined(__SSE2__)
  return _mm_movemask_pd((__m128d)mask) == 0x3;
#else
  return (mask[0] & mask[1]) != 0;
#endif
}

/// An input of a kernel that takes `kCount` elements at a time: of a scalar always the same ones.
template <class T, int kCount>
class Blocks {
 public:
  Blocks(const std::byte* from, bool is_scalar) noexcept
      : from_(from), step_(is_scalar ? 0 : static_cast<std::int64_t>(sizeof(T))) {
    if (!is_scalar) return;
    for (T& value : repeated_) value = load<T>(from, 0);
    from_ = reinterpret_cast<const std::byte*>(repeated_);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  /// The elements from `index` on.
  const std::byte* at(std::int64_t index) const noexcept { return from_ + index * step_; }

 private:
  const std::byte* from_;
  std::int64_t step_;
  T repeated_[kCount];
};

}  // namespace
}  // namespace refarray::core::kernels
