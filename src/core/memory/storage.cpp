// Owns host storages of our own: their one block, the built-in allocator, and which allocator is
// the default.
//
// A block is [data, rounded up][OwnStorage]: the header lies after the data, so that the data keeps
// the block's alignment and a small array costs one allocation. The block belongs to the OwnStorage
// in it, which gives it back to the allocator that it came from.
#include "core/memory/storage.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "core/error.hpp"
#include "core/memory/block_cache.hpp"
#include "core/memory/kept_blocks.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace refarray::core {
namespace {

static_assert(sizeof(void*) != 8 || sizeof(Storage) == 32);

class OwnStorage final : public Storage {
 public:
  OwnStorage(std::byte* data, std::size_t block, const Allocator* allocator, bool foreign) noexcept
      : Storage(data, Device{}, true, foreign, &destroy), block_(block), allocator_(allocator) {}

 private:
  static void destroy(Storage* storage) noexcept {
    auto* own = static_cast<OwnStorage*>(storage);
    void* const data = own->data();
    const std::size_t block = own->block_;
    const Allocator* const allocator = own->allocator_;
    own->~OwnStorage();
    allocator->deallocate(data, block, allocator->context);
  }

  std::size_t block_;
  const Allocator* allocator_;
};

/// Small blocks all have this size: with the 8 bytes that malloc keeps beside each, they pack at
/// every 256 bytes.
constexpr std::size_t kSmallBlock = kAlignment - sizeof(void*);

/// Aligned allocation takes several times as long as a plain one, so each thread keeps a few freed
/// small blocks.
struct SmallBlock;
using SmallBlocks = KeptBlocks<SmallBlock, 32>;

void* take_small_block(std::size_t alignment) noexcept {
  if (alignment <= kAlignment) {
    if (void* kept = SmallBlocks::take()) return kept;
  }
  void* block = nullptr;
  const std::size_t at = alignment > kAlignment ? alignment : kAlignment;
  return posix_memalign(&block, at, kSmallBlock) == 0 ? block : nullptr;
}

/// Asks for huge pages, without which page faults dominate the first pass over a large array. The
/// pages at both ends are left out: the headers there are written at once, and must not cost the
/// clearing of a huge page each.
void advise_huge_pages([[maybe_unused]] std::byte* data,
                       [[maybe_unused]] std::size_t nbytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kFrom = std::size_t{4} << 20;
  if (nbytes < kFrom) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::size_t skip = (kPage - address % kPage) % kPage;
  const std::size_t tail = (address + nbytes) % kPage + kPage;
  madvise(data + skip, nbytes - skip - tail,
          MADV_HUGEPAGE);  // advice only: failure costs nothing but time
#endif
}

/// What stands right before the data of a large block: where malloc's block begins, and its size.
struct LargeHeader {
  void* block;
  std::size_t size;
};

/// What allocate_large asks malloc for; 0 when there is no such size.
std::size_t large_size(std::size_t nbytes, std::size_t alignment) noexcept {
  std::size_t whole = 0;
  const std::size_t extra = alignment + sizeof(LargeHeader) + kCachedStep;
  if (__builtin_add_overflow(nbytes, extra, &whole)) return 0;
  if (whole > std::size_t{std::numeric_limits<std::ptrdiff_t>::max()}) return 0;
  if (whole - kCachedStep < kCachedFrom) return whole - kCachedStep;
  return (whole - 1) / kCachedStep * kCachedStep;
}

bool is_cached(std::size_t whole) noexcept { return kKeepsMemory && whole >= kCachedFrom; }

/// Aligned by hand, because calloc alone can hand out fresh pages without clearing them again.
void* allocate_large(std::size_t nbytes, std::size_t alignment, bool zeroed) noexcept {
  const std::size_t whole = large_size(nbytes, alignment);
  if (whole == 0) return nullptr;
  void* block = is_cached(whole) && !zeroed ? take_cached_block(whole) : nullptr;
  const bool is_fresh = block == nullptr;
  if (is_fresh) block = zeroed ? std::calloc(1, whole) : std::malloc(whole);
  if (block == nullptr) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(block) + sizeof(LargeHeader);
  const std::size_t gap = (alignment - first % alignment) % alignment;
  std::byte* const data = static_cast<std::byte*>(block) + sizeof(LargeHeader) + gap;
  const LargeHeader header{block, whole};
  std::memcpy(data - sizeof header, &header, sizeof header);
  if (is_fresh) advise_huge_pages(data, nbytes);
  return data;
}

void free_large(void* data) noexcept {
  LargeHeader header;
  std::memcpy(&header, static_cast<std::byte*>(data) - sizeof header, sizeof header);
  is_cached(header.size) ? give_cached_block(header.block, header.size) : std::free(header.block);
}

void* allocate(std::size_t nbytes, std::size_t alignment, bool zeroed, void* /*context*/) noexcept {
  if (nbytes > kSmallBlock) return allocate_large(nbytes, alignment, zeroed);
  void* const block = take_small_block(alignment);
  if (block != nullptr && zeroed) std::memset(block, 0, nbytes);
  return block;
}

void deallocate(void* pointer, std::size_t nbytes, void* /*context*/) noexcept {
  nbytes > kSmallBlock ? free_large(pointer) : SmallBlocks::give(pointer);
}

constexpr Allocator kBuiltIn{&allocate, &deallocate, nullptr};
constinit std::atomic<const Allocator*> current_allocator{&kBuiltIn};

}  // namespace

const Allocator& default_allocator() noexcept {
  return *current_allocator.load(std::memory_order_acquire);
}

void set_default_allocator(const Allocator* allocator) noexcept {
  current_allocator.store(allocator == nullptr ? &kBuiltIn : allocator, std::memory_order_release);
}

StoragePtr new_storage(std::int64_t nbytes, bool zeroed) {
  if (nbytes < 0) fail(Fault::kValue, "nbytes is ", nbytes, "; the least is 0");
  constexpr std::int64_t kMost = std::numeric_limits<std::ptrdiff_t>::max() - 4096;
  if (nbytes > kMost)
    fail(Fault::kMemory, "cannot allocate ", nbytes, " bytes; the limit is ", kMost);
  constexpr std::size_t kRound = alignof(OwnStorage) - 1;
  const std::size_t data_size = (static_cast<std::size_t>(nbytes) + kRound) & ~kRound;
  const std::size_t block = data_size + sizeof(OwnStorage);
  const Allocator& from = default_allocator();
  void* const data = from.allocate(block, kAlignment, zeroed, from.context);
  if (data == nullptr) fail(Fault::kMemory, "cannot allocate ", nbytes, " bytes");
  if (reinterpret_cast<std::uintptr_t>(data) % kAlignment != 0) {
    from.deallocate(data, block, from.context);
    fail(Fault::kMemory, "the allocator's memory is not aligned to ", kAlignment, " bytes");
  }
  std::byte* const bytes = static_cast<std::byte*>(data);
  return StoragePtr::steal(::new (bytes + data_size)
                               OwnStorage(bytes, block, &from, &from != &kBuiltIn));
}

}  // namespace refarray::core
