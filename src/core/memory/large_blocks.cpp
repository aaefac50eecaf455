// The slots of the cache of large blocks.
//
// Taking a pointer out of a slot, by one atomic exchange, takes ownership of the block. The first
// bytes of a cached block store its size.
#include "core/memory/large_blocks.hpp"

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
constinit std::atomic<std::size_t> cached_bytes{0};  // in slots or in transit
constinit std::atomic<std::size_t> next_slot{0};

std::size_t size_of_block(const void* block) noexcept {
  std::size_t size = 0;
  std::memcpy(&size, block, sizeof size);
  return size;
}

/// Allows the kernel to reclaim the pages, except the first one, which stores the size.
void mark_reclaimable([[maybe_unused]] void* block, [[maybe_unused]] std::size_t size) noexcept {
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
  cached_bytes.fetch_sub(size_of_block(block), std::memory_order_relaxed);
  std::free(block);
}

/// Replaces the oldest block, which is freed.
void put(void* block) noexcept {
  const std::size_t at = next_slot.fetch_add(1, std::memory_order_relaxed) % kSlots;
  drop(slots[at].exchange(block, std::memory_order_acq_rel));
}

}  // namespace

void* take_large_block(std::size_t size) noexcept {
  for (std::atomic<void*>& slot : slots) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    void* const block = slot.exchange(nullptr, std::memory_order_acq_rel);
    if (block == nullptr) continue;
    if (size_of_block(block) == size) {
      cached_bytes.fetch_sub(size, std::memory_order_relaxed);
      return block;
    }
    put(block);
  }
  return nullptr;
}

void free_large_block(void* block, std::size_t size) noexcept {
  if (size > kMaxCachedBytes) return std::free(block);
  std::memcpy(block, &size, sizeof size);
  mark_reclaimable(block, size);
  cached_bytes.fetch_add(size, std::memory_order_relaxed);
  put(block);
  for (std::size_t i = 0;
       i < kSlots && cached_bytes.load(std::memory_order_relaxed) > kMaxCachedBytes; ++i) {
    const std::size_t at = (next_slot.load(std::memory_order_relaxed) + i) % kSlots;
    drop(slots[at].exchange(nullptr, std::memory_order_acq_rel));
  }
}

}  // namespace refarray::core
