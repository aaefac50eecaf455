// Host storages, their memory layout, the built-in allocator and the choice of the default one.
//
// A host storage is one block: [data, rounded up][HostStorage]. The header follows the data, so
// that the data has the alignment of the block. HostStorage owns the block and returns it to the
// allocator that it came from.
#include "core/memory/storage.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "core/memory/aligned_block.hpp"
#include "core/memory/large_blocks.hpp"
#include "core/memory/small_blocks.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace refarray::core {
namespace {

static_assert(sizeof(void*) != 8 || sizeof(Storage) == 32);

class HostStorage final : public Storage {
 public:
  HostStorage(std::byte* data, std::size_t block, const Allocator* allocator, bool foreign) noexcept
      : Storage(data, Device{}, true, foreign, &destroy), block_(block), allocator_(allocator) {}

  std::size_t block() const noexcept { return block_; }
  static void destroy(Storage* storage) noexcept {
    auto* host = static_cast<HostStorage*>(storage);
    const std::size_t block = host->block_;
    void* const data = reinterpret_cast<std::byte*>(host + 1) - block;  // the header is at the end
    const Allocator* const allocator = host->allocator_;
    host->~HostStorage();
    allocator->deallocate(data, block, allocator->context);
  }

 private:
  std::size_t block_;
  const Allocator* allocator_;
};

static_assert(kSmallBlockAlignment == kAlignment);

void* allocate_small(std::size_t alignment) noexcept {
  if (alignment <= kSmallBlockAlignment) return SmallBlocks::allocate();
  return allocate_aligned(alignment, kSmallBlockSize);
}

/// Requests huge pages: with small ones, page faults dominate the first pass over a large array.
/// The first and the last page are left out, because writing the headers there must not clear a
/// whole huge page.
void advise_huge_pages([[maybe_unused]] std::byte* data,
                       [[maybe_unused]] std::size_t nbytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kMinBytes = std::size_t{4} << 20;
  if (nbytes < kMinBytes) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::size_t skip = (kPage - address % kPage) % kPage;
  const std::size_t tail = (address + nbytes) % kPage + kPage;
  madvise(data + skip, nbytes - skip - tail, MADV_HUGEPAGE);  // failure costs only time
#endif
}

/// Stored immediately before the data of a large block: the block that malloc returned, and its
/// size.
struct LargeHeader {
  void* block;
  std::size_t size;
};

/// The size that allocate_large() requests from malloc; 0 when it would overflow.
std::size_t large_size(std::size_t nbytes, std::size_t alignment) noexcept {
  std::size_t whole = 0;
  const std::size_t extra = alignment + sizeof(LargeHeader) + kLargeBlockStep;
  if (__builtin_add_overflow(nbytes, extra, &whole)) return 0;
  if (whole > std::size_t{std::numeric_limits<std::ptrdiff_t>::max()}) return 0;
  if (whole - kLargeBlockStep < kLargeBlockMin) return whole - kLargeBlockStep;
  return (whole - 1) / kLargeBlockStep * kLargeBlockStep;
}

bool is_cached(std::size_t whole) noexcept { return kKeepsMemory && whole >= kLargeBlockMin; }

/// Aligns by hand instead of calling posix_memalign(), because only calloc() avoids clearing fresh
/// pages a second time.
void* allocate_large(std::size_t nbytes, std::size_t alignment, bool zeroed) noexcept {
  const std::size_t whole = large_size(nbytes, alignment);
  if (whole == 0) return nullptr;
  void* block = is_cached(whole) && !zeroed ? take_large_block(whole) : nullptr;
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
  is_cached(header.size) ? free_large_block(header.block, header.size) : std::free(header.block);
}

void* allocate(std::size_t nbytes, std::size_t alignment, bool zeroed, void* /*context*/) noexcept {
  if (nbytes > kSmallBlockSize) return allocate_large(nbytes, alignment, zeroed);
  void* const block = allocate_small(alignment);
  if (block != nullptr && zeroed) std::memset(block, 0, nbytes);
  return block;
}

void deallocate(void* pointer, std::size_t nbytes, void* /*context*/) noexcept {
  nbytes > kSmallBlockSize ? free_large(pointer) : SmallBlocks::free(pointer);
}

constexpr Allocator kBuiltIn{&allocate, &deallocate, nullptr};
constinit std::atomic<const Allocator*> current_allocator{&kBuiltIn};

}  // namespace

std::size_t Storage::host_block() const noexcept {
  return destroy_ == &HostStorage::destroy ? static_cast<const HostStorage*>(this)->block() : 0;
}

const Allocator& default_allocator() noexcept {
  return *current_allocator.load(std::memory_order_acquire);
}

void set_default_allocator(const Allocator* allocator) noexcept {
  current_allocator.store(allocator == nullptr ? &kBuiltIn : allocator, std::memory_order_release);
}

StoragePtr new_storage(std::int64_t nbytes, bool zeroed) {
  if (nbytes < 0) fail(Fault::kValue, "nbytes is ", nbytes, "; the minimum is 0");
  constexpr std::int64_t kMost = std::numeric_limits<std::ptrdiff_t>::max() - 4096;
  if (nbytes > kMost)
    fail(Fault::kMemory, "cannot allocate ", nbytes, " bytes; the limit is ", kMost);
  note_attempt(Entry::kAllocation, nbytes);
  constexpr std::size_t kRound = alignof(HostStorage) - 1;
  const std::size_t data_size = (static_cast<std::size_t>(nbytes) + kRound) & ~kRound;
  const std::size_t block = data_size + sizeof(HostStorage);
  const Allocator& from = default_allocator();
  void* const data = from.allocate(block, kAlignment, zeroed, from.context);
  if (data == nullptr) fail(Fault::kMemory, "cannot allocate ", nbytes, " bytes");
  if (reinterpret_cast<std::uintptr_t>(data) % kAlignment != 0) {
    from.deallocate(data, block, from.context);
    fail(Fault::kMemory, "the allocator's memory is not aligned to ", kAlignment, " bytes");
  }
  std::byte* const bytes = static_cast<std::byte*>(data);
  note(Entry::kAllocation, nbytes);
  return StoragePtr::steal(::new (bytes + data_size)
                               HostStorage(bytes, block, &from, &from != &kBuiltIn));
}

}  // namespace refarray::core
