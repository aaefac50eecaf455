// A free list per thread of small blocks: for small arrays and for exported managed tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/memory/aligned_block.hpp"

namespace refarray::core {

#if defined(REFARRAY_KEEP_MEMORY) && REFARRAY_KEEP_MEMORY
inline constexpr bool kKeepsMemory = true;
#else
inline constexpr bool kKeepsMemory = false;  // memory checkers must see every free()
#endif

/// Every small block has this alignment and this size. With the 8 bytes that malloc stores in front
/// of a block they are packed at every 256 bytes.
inline constexpr std::size_t kSmallBlockAlignment = 256;
inline constexpr std::size_t kSmallBlockSize = kSmallBlockAlignment - sizeof(void*);

/// Each thread keeps up to kDepth freed blocks for its next allocations (docs/adr/0010). A block
/// may be freed on another thread than the one that allocated it, with or without the GIL.
class SmallBlocks {
 public:
  /// nullptr when there is no memory.
  static void* allocate() noexcept {
    if constexpr (kKeepsMemory) {
      FreeList& list = free_list_;
      if (list.count > 0) return list.blocks[--list.count];
    }
    return allocate_new();
  }
  static void free(void* block) noexcept {
    if constexpr (!kKeepsMemory) return free_aligned(block);
    FreeList& list = free_list_;
    if (list.count == 0 || list.count == kDepth) return free_slow(list, block);
    list.blocks[list.count++] = block;
  }

 private:
  static constexpr std::size_t kDepth = 32;
  enum class State : std::uint8_t { kUnused, kOpen, kClosed };

  /// Trivially destructible, because destructors of the thread's other thread_locals may free
  /// blocks.
  struct FreeList {
    std::size_t count;
    State state;
    std::array<void*, kDepth> blocks;
  };

  /// Empties the list when its thread ends. The thread frees later blocks at once.
  struct Closer {
    ~Closer() {
      FreeList& list = free_list_;
      list.state = State::kClosed;
      while (list.count > 0) free_aligned(list.blocks[--list.count]);
    }
  };

  [[gnu::noinline]] static void* allocate_new() noexcept {
    return allocate_aligned(kSmallBlockAlignment, kSmallBlockSize);
  }

  [[gnu::noinline]] static void free_slow(FreeList& list, void* block) noexcept {
    if (list.state == State::kUnused) {
      static thread_local const Closer closer;
      static_cast<void>(closer);
      list.state = State::kOpen;
    }
    if (list.state == State::kClosed || list.count == kDepth) return free_aligned(block);
    list.blocks[list.count++] = block;
  }

  static inline constinit thread_local FreeList free_list_{};
};

}  // namespace refarray::core
