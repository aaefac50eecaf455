// Aligned blocks of the C library: posix_memalign(), or Windows' own pair of functions.
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace refarray::core {

// allocate_aligned() returns nullptr when there is no memory. Only free_aligned() frees the block.

#if defined(_WIN32)

inline void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
  return _aligned_malloc(size, alignment);
}
inline void free_aligned(void* block) noexcept { _aligned_free(block); }

#else

inline void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
  void* block = nullptr;
  return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}
inline void free_aligned(void* block) noexcept { std::free(block); }

#endif

}  // namespace refarray::core
