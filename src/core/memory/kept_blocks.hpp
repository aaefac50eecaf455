// Owns the small blocks of memory that each thread keeps when it frees them, for its next ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace refarray::core {

#if defined(REFARRAY_KEEP_MEMORY) && REFARRAY_KEEP_MEMORY
inline constexpr bool kKeepsMemory = true;
#else
inline constexpr bool kKeepsMemory = false;  // a checker of memory must see every free()
#endif

/// Blocks of one size from malloc's family, at most kDepth a thread. `Use` is any type that tells
/// one such store from another.
template <class Use, std::size_t kDepth>
class KeptBlocks {
 public:
  /// nullptr when none is kept.
  static void* take() noexcept {
    if constexpr (!kKeepsMemory) return nullptr;
    Kept& kept = kept_;
    return kept.count > 0 ? kept.blocks[--kept.count] : nullptr;
  }
  /// Keeps the block or frees it.
  static void give(void* block) noexcept {
    if constexpr (!kKeepsMemory) return std::free(block);
    Kept& kept = kept_;
    if (kept.count == 0 || kept.count == kDepth) return give_rarely(kept, block);
    kept.blocks[kept.count++] = block;
  }

 private:
  enum class State : std::uint8_t { kUnused, kOpen, kClosed };

  /// Trivially destructible: blocks may be given while the thread's other thread_locals are being
  /// destroyed.
  struct Kept {
    std::size_t count = 0;
    State state = State::kUnused;
    std::array<void*, kDepth> blocks{};
  };

  /// Frees a thread's blocks when it ends; from then on the thread keeps none.
  struct Closer {
    ~Closer() {
      Kept& kept = kept_;
      kept.state = State::kClosed;
      while (kept.count > 0) std::free(kept.blocks[--kept.count]);
    }
  };

  [[gnu::noinline]] static void give_rarely(Kept& kept, void* block) noexcept {
    if (kept.state == State::kUnused) {
      static thread_local const Closer closer;
      static_cast<void>(closer);
      kept.state = State::kOpen;
    }
    if (kept.state == State::kClosed || kept.count == kDepth) return std::free(block);
    kept.blocks[kept.count++] = block;
  }

  static inline constinit thread_local Kept kept_{};
};

}  // namespace refarray::core
