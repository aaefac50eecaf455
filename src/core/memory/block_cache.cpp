// Owns the slots of the kept blocks.
//
// A block is owned by whoever took its pointer out of a slot, by one atomic exchange. Its size
// stands in its first bytes.
#include "core/memory/block_cache.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace refarray::core {

namespace {

constexpr std::size_t kSlots = 8;
constinit std::array<std::atomic<void*>, kSlots> slots{};
constinit std::atomic<std::size_t> kept{0};  // bytes, in slots or on their way
constinit std::atomic<std::size_t> next_slot{0};

std::size_t size_of_block(const void* block) noexcept {
  std::size_t size = 0;
  std::memcpy(&size, block, sizeof size);
  return size;
}

/// The pages may be taken when memory is short. Not the first one, which says the size.
void offer_pages([[maybe_unused]] void* block, [[maybe_unused]] std::size_t size) noexcept {
#if defined(__linux__) && defined(MADV_FREE)
  constexpr std::uintptr_t kPage = 4096;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = (address + sizeof size + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = (address + size) / kPage * kPage;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_FREE);
#endif
}

void drop(void* block) noexcept {
  if (block == nullptr) return;
  kept.fetch_sub(size_of_block(block), std::memory_order_relaxed);
  std::free(block);
}

/// Puts the block where the oldest one is, or nowhere.
void put(void* block) noexcept {
  const std::size_t at = next_slot.fetch_add(1, std::memory_order_relaxed) % kSlots;
  drop(slots[at].exchange(block, std::memory_order_acq_rel));
}

}  // namespace

void* take_cached_block(std::size_t size) noexcept {
  for (std::atomic<void*>& slot : slots) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    void* const block = slot.exchange(nullptr, std::memory_order_acq_rel);
    if (block == nullptr) continue;
    if (size_of_block(block) == size) {
      kept.fetch_sub(size, std::memory_order_relaxed);
      return block;
    }
    put(block);
  }
  return nullptr;
}

void give_cached_block(void* block, std::size_t size) noexcept {
  if (size > kMostCached) return std::free(block);
  std::memcpy(block, &size, sizeof size);
  offer_pages(block, size);
  kept.fetch_add(size, std::memory_order_relaxed);
  put(block);
  for (std::size_t i = 0; i < kSlots && kept.load(std::memory_order_relaxed) > kMostCached; ++i) {
    const std::size_t at = (next_slot.load(std::memory_order_relaxed) + i) % kSlots;
    drop(slots[at].exchange(nullptr, std::memory_order_acq_rel));
  }
}

}  // namespace refarray::core
