// Host storages, their memory layout, the built-in allocator and those of other libraries.
//
// A storage of the built-in allocator is one block: [data, rounded up][HostStorage]. The header
// follows the data, so that the data has the alignment of the block. Memory of another allocator
// holds elements only, for others may write to it; its header is an object of its own.
#include "core/memory/storage.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "core/memory/large_blocks.hpp"
#include "core/memory/small_blocks.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace refarray::core {
namespace {

static_assert(sizeof(void*) != 8 || sizeof(Storage) == 32);
static_assert(kSmallBlockAlignment == kAlignment);

[[noreturn]] void fail_memory(std::int64_t nbytes) {
  fail(Fault::kMemory, "cannot allocate ", nbytes, " bytes");
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
std::size_t large_size(std::size_t nbytes) noexcept {
  std::size_t whole = 0;
  constexpr std::size_t kExtra = kAlignment + sizeof(LargeHeader) + kLargeBlockStep;
  if (__builtin_add_overflow(nbytes, kExtra, &whole)) return 0;
  if (whole > std::size_t{std::numeric_limits<std::ptrdiff_t>::max()}) return 0;
  if (whole - kLargeBlockStep < kLargeBlockMin) return whole - kLargeBlockStep;
  return (whole - 1) / kLargeBlockStep * kLargeBlockStep;
}

bool is_cached(std::size_t whole) noexcept { return kKeepsMemory && whole >= kLargeBlockMin; }

/// Aligns by hand instead of calling posix_memalign(), because only calloc() avoids clearing fresh
/// pages a second time.
void* allocate_large(std::size_t nbytes, bool zeroed) noexcept {
  const std::size_t whole = large_size(nbytes);
  if (whole == 0) return nullptr;
  void* block = is_cached(whole) && !zeroed ? take_large_block(whole) : nullptr;
  const bool is_fresh = block == nullptr;
  if (is_fresh) block = zeroed ? std::calloc(1, whole) : std::malloc(whole);
  if (block == nullptr) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(block) + sizeof(LargeHeader);
  const std::size_t gap = (kAlignment - first % kAlignment) % kAlignment;
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

void* allocate(std::size_t nbytes, bool zeroed) noexcept {
  if (nbytes > kSmallBlockSize) return allocate_large(nbytes, zeroed);
  void* const block = SmallBlocks::allocate();
  if (block != nullptr && zeroed) std::memset(block, 0, nbytes);
  return block;
}

void deallocate(void* pointer, std::size_t nbytes) noexcept {
  nbytes > kSmallBlockSize ? free_large(pointer) : SmallBlocks::free(pointer);
}

class HostStorage final : public Storage {
 public:
  HostStorage(std::byte* data, std::size_t block) noexcept
      : Storage(data, Device{}, true, /*foreign=*/false, &destroy), block_(block) {}

  std::size_t block() const noexcept { return block_; }
  static void destroy(Storage* storage) noexcept {
    auto* host = static_cast<HostStorage*>(storage);
    const std::size_t block = host->block_;
    void* const data = reinterpret_cast<std::byte*>(host + 1) - block;  // the header is at the end
    host->~HostStorage();
    deallocate(data, block);
  }

 private:
  std::size_t block_;
};

/// Over memory of another library's allocator.
class AllocatedStorage final : public Storage {
 public:
  /// Throws kMemory, also for memory that is not aligned.
  static StoragePtr make(const AllocatorPtr& allocator, std::int64_t nbytes, bool zeroed) {
    const std::size_t size = std::max<std::size_t>(static_cast<std::size_t>(nbytes), 1);
    // The object comes first: what allocate() returned is freed by its destructor.
    std::unique_ptr<AllocatedStorage> out(new AllocatedStorage(
        allocator, size, allocator->allocate(size, kAlignment, allocator->context)));
    if (out->data() == nullptr) fail_memory(nbytes);
    if (reinterpret_cast<std::uintptr_t>(out->data()) % kAlignment != 0)
      fail(Fault::kMemory, "the allocator's memory is not aligned to ", kAlignment, " bytes");
    if (zeroed) std::memset(out->data(), 0, size);
    return StoragePtr::steal(out.release());
  }
  ~AllocatedStorage() {
    if (data() != nullptr) allocator_->deallocate(data(), size_, allocator_->context);
  }

  std::size_t block() const noexcept { return size_ + sizeof *this; }
  static void destroy(Storage* storage) noexcept { delete static_cast<AllocatedStorage*>(storage); }

 private:
  AllocatedStorage(const AllocatorPtr& allocator, std::size_t size, void* memory) noexcept
      : Storage(static_cast<std::byte*>(memory), Device{}, true, /*foreign=*/false, &destroy),
        size_(size),
        allocator_(allocator) {}

  std::size_t size_;
  AllocatorPtr allocator_;
};

/// Threads that have an allocator of their own: while there are none, an allocation pays one load.
constinit std::atomic<int> threads_with_allocator{0};
/// Trivially destructible, because destructors of the thread's other thread_locals may make arrays.
constinit thread_local bool has_allocator = false;

struct ThreadAllocator {
  AllocatorPtr allocator;
  ~ThreadAllocator() { exchange_allocator({}); }
};
AllocatorPtr& allocator_of_thread() noexcept {
  static thread_local ThreadAllocator own;
  return own.allocator;
}

/// Throws unless 0 <= nbytes <= the limit.
void check_size(std::int64_t nbytes) {
  if (nbytes < 0) fail(Fault::kValue, "nbytes is ", nbytes, "; the minimum is 0");
  constexpr std::int64_t kMost = std::numeric_limits<std::ptrdiff_t>::max() - 4096;
  if (nbytes > kMost)
    fail(Fault::kMemory, "cannot allocate ", nbytes, " bytes; the limit is ", kMost);
}

/// A storage of the built-in allocator.
StoragePtr new_host_storage(std::int64_t nbytes, bool zeroed) {
  check_size(nbytes);
  note_attempt(Entry::kAllocation, nbytes);
  constexpr std::size_t kRound = alignof(HostStorage) - 1;
  const std::size_t data_size = (static_cast<std::size_t>(nbytes) + kRound) & ~kRound;
  const std::size_t block = data_size + sizeof(HostStorage);
  auto* const data = static_cast<std::byte*>(allocate(block, zeroed));
  if (data == nullptr) fail_memory(nbytes);
  note(Entry::kAllocation, nbytes);
  return StoragePtr::steal(::new (data + data_size) HostStorage(data, block));
}

/// `allocator` is a copy: allocate() may set another.
StoragePtr new_allocated_storage(AllocatorPtr allocator, std::int64_t nbytes, bool zeroed) {
  check_size(nbytes);
  note_attempt(Entry::kAllocation, nbytes);
  StoragePtr out = AllocatedStorage::make(allocator, nbytes, zeroed);
  note(Entry::kAllocation, nbytes);
  return out;
}

}  // namespace

std::size_t Storage::host_block() const noexcept {
  if (destroy_ == &HostStorage::destroy) return static_cast<const HostStorage*>(this)->block();
  if (destroy_ != &AllocatedStorage::destroy) return 0;
  return static_cast<const AllocatedStorage*>(this)->block();
}

AllocatorPtr exchange_allocator(AllocatorPtr allocator) noexcept {
  const bool has = allocator != nullptr;
  if (!has && !has_allocator) return {};
  threads_with_allocator.fetch_add(int{has} - int{has_allocator}, std::memory_order_relaxed);
  has_allocator = has;
  return std::exchange(allocator_of_thread(), std::move(allocator));
}

StoragePtr new_storage(std::int64_t nbytes, bool zeroed) {
  if (threads_with_allocator.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    if (has_allocator) return new_allocated_storage(allocator_of_thread(), nbytes, zeroed);
  }
  return new_host_storage(nbytes, zeroed);
}

}  // namespace refarray::core
