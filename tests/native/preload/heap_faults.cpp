// LD_PRELOAD library: replaces the C heap functions, makes chosen allocations fail, and counts the
// live blocks that watched code allocated.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

// glibc's own functions: dlsym() would allocate.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

struct Range {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
  bool contains(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= first && at < end;
  }
};

/// The failures planned for the calling thread. Other threads are not affected.
struct Plan {
  bool armed = false;
  long seen = 0;
  long first = 0;
  long count = 0;
  long failed = 0;
  void (*on_failure)() = nullptr;
};

[[gnu::tls_model("initial-exec")]] constinit thread_local Plan plan;
constexpr int kRanges = 4;
constinit Range watched[kRanges];  // whose blocks are counted
constinit Range exempt[kRanges];   // whose allocations never fail, such as the interpreter's

bool in_any(const Range (&ranges)[kRanges], const void* address) noexcept {
  for (const Range& range : ranges) {
    if (range.contains(address)) return true;
  }
  return false;
}

/// The live blocks of watched code: an open-addressing set of addresses behind a spin lock.
class LiveBlocks {
 public:
  void add(void* block, const void* caller) noexcept {
    if (block == nullptr || !in_any(watched, caller)) return;
    lock();
    if (const std::size_t at = find(block); used_ < kSlots / 2 && slots_[at] != key(block)) {
      slots_[at] = key(block);
      ++used_;
      ++live_;
    }
    unlock();
  }
  void remove(void* block) noexcept {
    if (block == nullptr || live_.load(std::memory_order_relaxed) == 0) return;
    lock();
    const std::size_t at = find(block);
    if (slots_[at] == key(block)) {
      slots_[at] = kTombstone;
      --live_;
    }
    if (live_ == 0 && used_ > kSlots / 4) clear();  // only tombstones are left
    unlock();
  }
  long live() const noexcept { return live_.load(); }
  bool full() const noexcept { return used_ >= kSlots / 2; }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 20;
  static constexpr std::uintptr_t kTombstone = 1;

  static std::uintptr_t key(const void* block) noexcept {
    return reinterpret_cast<std::uintptr_t>(block);
  }
  /// The block's slot, or the first empty slot of its probe sequence.
  std::size_t find(const void* block) const noexcept {
    std::size_t at = (key(block) >> 4) * 0x9E3779B97F4A7C15U >> 44;
    while (slots_[at] != 0 && slots_[at] != key(block)) at = (at + 1) % kSlots;
    return at;
  }
  void clear() noexcept {
    std::memset(slots_, 0, sizeof slots_);
    used_ = 0;
  }
  void lock() noexcept {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() noexcept { busy_.clear(std::memory_order_release); }

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::atomic<long> live_{0};
  std::size_t used_ = 0;
  std::uintptr_t slots_[kSlots] = {};
};

constinit LiveBlocks live_blocks;

/// Whether to fail this allocation.
bool fails(const void* caller) noexcept {
  Plan& mine = plan;
  if (!mine.armed || in_any(exempt, caller)) return false;
  const long number = mine.seen++;
  if (number < mine.first || (mine.count >= 0 && number >= mine.first + mine.count)) return false;
  ++mine.failed;
  mine.armed = false;  // the callback may allocate
  mine.on_failure();
  mine.armed = true;
  errno = ENOMEM;
  return true;
}

void* tracked(void* block, const void* caller) noexcept {
  live_blocks.add(block, caller);
  return block;
}

void set_range(Range (&ranges)[kRanges], int slot, std::uintptr_t first, std::uintptr_t end) {
  ranges[slot] = Range{first, end};
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
  const void* caller = __builtin_return_address(0);
  return fails(caller) ? nullptr : tracked(__libc_malloc(size), caller);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  const void* caller = __builtin_return_address(0);
  return fails(caller) ? nullptr : tracked(__libc_calloc(count, size), caller);
}
void* realloc(void* block, std::size_t size) noexcept {
  const void* caller = __builtin_return_address(0);
  if (fails(caller)) return nullptr;
  live_blocks.remove(block);
  return tracked(__libc_realloc(block, size), caller);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  const void* caller = __builtin_return_address(0);
  void* block = fails(caller) ? nullptr : tracked(__libc_memalign(alignment, size), caller);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  const void* caller = __builtin_return_address(0);
  return fails(caller) ? nullptr : tracked(__libc_memalign(alignment, size), caller);
}
void free(void* block) noexcept {
  live_blocks.remove(block);
  __libc_free(block);
}

// The interface for faults.cpp, which looks the functions up by dlsym().

void heap_faults_watch(int slot, std::uintptr_t first, std::uintptr_t end) {
  set_range(watched, slot, first, end);
}
void heap_faults_exempt(int slot, std::uintptr_t first, std::uintptr_t end) {
  set_range(exempt, slot, first, end);
}
/// Makes `count` allocations of this thread from number `first` on fail (all if negative). Calls
/// `on_failure` for each.
void heap_faults_arm(long first, long count, void (*on_failure)()) {
  plan = Plan{true, 0, first, count, 0, on_failure};
}
void heap_faults_disarm(long* seen, long* failed) {
  plan.armed = false;
  *seen = plan.seen;
  *failed = plan.failed;
}
/// Live blocks of watched code; -1 if the table overflowed.
long heap_faults_live() { return live_blocks.full() ? -1 : live_blocks.live(); }

}  // extern "C"
