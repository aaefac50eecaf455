// Reserves two address ranges: public device addresses are never backed by memory, their aliases
// are.
#include "memory/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace fakegpu {
namespace {

constexpr std::size_t kPage = Memory::kPage;
constexpr std::size_t kAlignment = 256;  // alignment of device addresses, as cuMemAlloc guarantees
constexpr std::uint64_t kArena = std::uint64_t{64} << 30;
constexpr std::size_t kFreedPages = std::size_t{512} << 20;
constexpr int kFresh = 0xCD;
constexpr int kFreed = 0xDD;

// Written once, before the first allocation; workers read it without a lock.
std::uint64_t arena_base = 0;
std::uint64_t arena_next = 0;
// The same for host memory, whose two ranges map the same pages; 0 if the host is not watched.
std::uint64_t host_base = 0;
std::uint64_t host_next = 0;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

void* bytes_at(std::uint64_t address) { return reinterpret_cast<void*>(address); }

/// Both ranges of host memory.
std::uint64_t reserve_host() {
  const int file = memfd_create("fakegpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kArena) != 0) std::abort();
  void* at =
      mmap(nullptr, 2 * kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) std::abort();
  const auto begin = reinterpret_cast<std::uint64_t>(at);
  for (const std::uint64_t part : {begin, begin + kArena}) {
    const int flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
    if (mmap(bytes_at(part), kArena, PROT_NONE, flags, file, 0) == MAP_FAILED) std::abort();
  }
  close(file);
  return begin;
}

std::uint64_t map_watched(std::size_t bytes) {
  if (host_next + bytes + kPage > host_base + kArena) return 0;
  const std::uint64_t at = host_next;
  if (mprotect(bytes_at(at + kArena), bytes, PROT_READ | PROT_WRITE) != 0) return 0;
  host_next += bytes + kPage;  // guard page between neighbours
  return at;
}

std::uint64_t map_host(std::size_t bytes) {
  if (Memory::kWatches) return map_watched(bytes);
  void* at = mmap(nullptr, bytes + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return 0;
  if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) return 0;
  return reinterpret_cast<std::uint64_t>(at);
}

std::uint64_t map_device(std::size_t bytes) {
  if (arena_next + bytes + kPage > arena_base + kArena) return 0;
  const std::uint64_t at = arena_next;
  if (mprotect(bytes_at(at + kArena), bytes, PROT_READ | PROT_WRITE) != 0) return 0;
  arena_next += bytes + kPage;  // guard page between neighbours
  return at;
}

}  // namespace

Memory::Memory() {
  if (arena_base != 0) return;
  void* at =
      mmap(nullptr, 2 * kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) std::abort();  // without address space nothing can be simulated
  arena_base = arena_next = reinterpret_cast<std::uint64_t>(at);
  if (kWatches) host_base = host_next = reserve_host();
}

std::uint64_t Memory::reserve(std::size_t bytes, std::size_t alignment) {
  const std::uint64_t at = round_up(arena_next, alignment);
  if (at + bytes + kPage > arena_base + kArena) return 0;
  arena_next = at + bytes + kPage;
  return at;
}

bool Memory::map_file(std::uint64_t begin, std::size_t bytes, int file) {
  return mmap(bytes_at(alias(begin)), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
              0) != MAP_FAILED;
}

void Memory::unmap_file(std::uint64_t begin, std::size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  mmap(bytes_at(alias(begin)), bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  poison(begin, std::min(bytes, kPage));  // a late reader sees it; the rest reads as zeros
}

bool Memory::is_device_address(std::uint64_t address) { return address - arena_base < kArena; }

bool Memory::is_host_address(std::uint64_t address) {
  return kWatches && address - host_base < kArena;
}

std::uint64_t Memory::alias(std::uint64_t address) {
  return is_device_address(address) || is_host_address(address) ? address + kArena : address;
}

void Memory::protect(std::uint64_t begin, std::size_t bytes, int protection) {
  mprotect(bytes_at(begin), bytes, protection);
}

void Memory::poison(std::uint64_t begin, std::size_t bytes) {
  std::memset(bytes_at(alias(begin)), kFreed, bytes);
}

void Memory::fill(std::uint64_t begin, std::size_t bytes) {
  std::memset(bytes_at(alias(begin)), kFresh, bytes);
}

void Memory::unmap(std::uint64_t reserved_begin, std::size_t reserved_bytes) {
  mprotect(bytes_at(alias(reserved_begin)), reserved_bytes, PROT_NONE);
}

void Memory::open(const Allocation& allocation) {
  if (!is_host_address(allocation.reserved_begin)) return;
  protect(allocation.reserved_begin, allocation.reserved_bytes, PROT_READ | PROT_WRITE);
}

/// Gives the pages back to the system.
void Memory::release(const Allocation& allocation) {
  const bool shared = is_host_address(allocation.reserved_begin);
  madvise(bytes_at(alias(allocation.reserved_begin)), allocation.reserved_bytes,
          shared ? MADV_REMOVE : MADV_DONTNEED);
}

Allocation* Memory::reused(std::size_t reserved, MemoryKind kind, const Device* device,
                           const Clock& clock) {
  if (reuse_ != Reuse::kLifo || unmap_) return nullptr;
  for (auto it = freed_.rbegin(); it != freed_.rend(); ++it) {
    Allocation* old = *it;
    if (old->reserved_bytes != reserved || old->kind != kind || old->device != device) continue;
    if (old->adopted || !old->released.moment.before(clock)) continue;
    const auto at = std::next(it).base();
    if (static_cast<std::size_t>(at - freed_.begin()) < trimmed_)
      --trimmed_;
    else
      freed_bytes_ -= old->reserved_bytes;
    freed_.erase(at);
    return old;
  }
  return nullptr;
}

Allocation* Memory::add(Allocation allocation) {
  allocation.id = next_id_++;
  auto& slot = allocations_[allocation.reserved_begin];
  slot = std::make_unique<Allocation>(std::move(allocation));
  return slot.get();
}

Allocation* Memory::allocate(std::size_t bytes, MemoryKind kind, Device* device, const Clock& clock,
                             bool fill_now) {
  const std::size_t reserved = round_up(bytes, kPage);
  Allocation fresh;
  if (const Allocation* old = reused(reserved, kind, device, clock)) {
    fresh.reserved_begin = old->reserved_begin;
  } else {
    fresh.reserved_begin = kind == MemoryKind::kDevice ? map_device(reserved) : map_host(reserved);
    if (fresh.reserved_begin == 0) return nullptr;
  }
  if (fill_now) fill(fresh.reserved_begin, reserved);
  fresh.reserved_bytes = reserved;
  // As close to the guard page at the end as the alignment allows.
  fresh.begin = fresh.reserved_begin + (reserved - round_up(bytes, kAlignment));
  fresh.bytes = bytes;
  fresh.kind = kind;
  fresh.device = device;
  open(fresh);
  return add(std::move(fresh));
}

Allocation* Memory::add_mapping(std::uint64_t begin, std::size_t bytes, Device* device) {
  Allocation own;
  own.begin = own.reserved_begin = begin;
  own.bytes = own.reserved_bytes = bytes;
  own.device = device;
  return add(std::move(own));
}

Allocation* Memory::adopt(void* pointer, std::size_t bytes, Device* device) {
  Allocation own;
  own.begin = own.reserved_begin = reinterpret_cast<std::uint64_t>(pointer);
  own.bytes = own.reserved_bytes = bytes;
  own.kind = MemoryKind::kPinned;
  own.device = device;
  own.adopted = true;
  return add(std::move(own));
}

void Memory::free(Allocation& allocation) {
  if (allocation.adopted) {
    allocations_.erase(allocation.reserved_begin);  // malloc may reuse it
    return;
  }
  allocation.freed = true;
  freed_.push_back(&allocation);
  freed_bytes_ += allocation.reserved_bytes;
  trim();
}

/// Bound the memory of long runs: the oldest freed allocations invalidate_with their pages and read
/// as zeros.
void Memory::trim() {
  for (; freed_bytes_ > kFreedPages && trimmed_ < freed_.size(); ++trimmed_) {
    const Allocation& oldest = *freed_[trimmed_];
    release(oldest);
    freed_bytes_ -= oldest.reserved_bytes;
  }
}

Allocation* Memory::find(std::uint64_t address) const {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  Allocation* found = std::prev(it)->second.get();
  const bool inside = address >= found->begin && address < found->end();
  return inside ? found : nullptr;
}

std::vector<Allocation*> Memory::alive() const {
  std::vector<Allocation*> result;
  for (const auto& [begin, allocation] : allocations_)
    if (!allocation->freed) result.push_back(allocation.get());
  return result;
}

void Memory::forget() {
  for (const auto& [begin, allocation] : allocations_) {
    if (allocation->adopted) continue;
    if (allocation->physical != nullptr) {
      unmap_file(begin, allocation->reserved_bytes);
    } else if (is_device_address(begin)) {
      unmap(begin, allocation->reserved_bytes);
    } else if (is_host_address(begin)) {
      protect(begin, allocation->reserved_bytes, PROT_NONE);
      mprotect(bytes_at(alias(begin)), allocation->reserved_bytes, PROT_READ | PROT_WRITE);
      release(*allocation);
    } else
      munmap(bytes_at(begin), allocation->reserved_bytes + kPage);
  }
  allocations_.clear();
  freed_.clear();
  freed_bytes_ = trimmed_ = 0;
}

}  // namespace fakegpu
