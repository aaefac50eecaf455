// Tests of core/memory: storages, allocators and the caches of freed blocks.
#include "core/memory/storage.hpp"

#if defined(__linux__)
#include <pthread.h>
#if __has_include(<ucontext.h>)
#include <ucontext.h>
#endif
#elif defined(_WIN32)
#include <windows.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "check.hpp"
#include "core/memory/aligned_block.hpp"
#include "core/memory/thread_stack.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

bool all_zero(const StoragePtr& storage, std::size_t nbytes) {
  for (std::size_t i = 0; i < nbytes; ++i) {
    if (storage->data()[i] != std::byte{0}) return false;
  }
  return true;
}

const Case sizes("storages of all sizes are aligned and writable", [] {
  for (const std::int64_t edge :
       {1, 8, 16, 200, 208, 248, 256, 1000, 4096, 65536, 131072, 1 << 20, 4 << 20}) {
    for (const std::int64_t nbytes : {edge - 1, edge, edge + 1, edge + 4096 * 3 + 5}) {
      for (const bool zeroed : {false, true}) {
        const StoragePtr storage = new_storage(nbytes, zeroed);
        const auto size = static_cast<std::size_t>(nbytes);
        expect(reinterpret_cast<std::uintptr_t>(storage->data()) % kAlignment, 0U, text(nbytes));
        check(storage->data() != nullptr && storage->writable() && !storage->foreign());
        check(storage->device() == Device{} && storage->is_last_reference());
        if (zeroed) check(all_zero(storage, size), text(nbytes));
        std::memset(storage->data(), 0xA5, size);  // must not overwrite the header after the data
        check(storage->is_last_reference() && storage->writable());
      }
    }
  }
});

const Case zeroed_again("a reused block is zeroed if requested", [] {
  for (const std::int64_t nbytes : {1, 16, 200, 201, 1024, 40000, 300000}) {
    for (int round = 0; round < 40; ++round) {
      const StoragePtr dirty = new_storage(nbytes, false);
      std::memset(dirty->data(), 0xFF, static_cast<std::size_t>(nbytes));
    }
    for (int round = 0; round < 40; ++round) {
      check(all_zero(new_storage(nbytes, true), static_cast<std::size_t>(nbytes)), text(nbytes));
    }
  }
});

const Case large_blocks("large freed blocks are reused, and zeroed if requested", [] {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (int round = 0; round < 3; ++round) {
    std::vector<StoragePtr> storages;
    for (const std::size_t size : {32 * kMiB, 40 * kMiB, 48 * kMiB, 64 * kMiB, 160 * kMiB}) {
      storages.push_back(new_storage(static_cast<std::int64_t>(size), false));
      storages.back()->data()[0] = storages.back()->data()[size - 1] = std::byte{0xFF};
    }
    // Frees more than the cache keeps, in an order that changes.
    if (round % 2 == 1) std::reverse(storages.begin(), storages.end());
    for (StoragePtr& each : storages) each = StoragePtr();
    const StoragePtr zeroed = new_storage(static_cast<std::int64_t>(40 * kMiB), true);
    check(zeroed->data()[0] == std::byte{0} && zeroed->data()[40 * kMiB - 1] == std::byte{0});
  }
});

const Case alive_together("storages do not share bytes", [] {
  std::vector<StoragePtr> storages;
  for (int i = 0; i < 300; ++i) {
    storages.push_back(new_storage(i, false));
    std::memset(storages.back()->data(), i & 0xFF, static_cast<std::size_t>(i));
  }
  for (std::size_t i = 0; i < storages.size(); i += 2)
    storages[i] = StoragePtr();  // free every second one, then allocate it again
  for (std::size_t i = 0; i < storages.size(); i += 2) {
    storages[i] = new_storage(static_cast<std::int64_t>(i), false);
    std::memset(storages[i]->data(), static_cast<int>(i & 0xFF), i);
  }
  for (std::size_t i = 0; i < storages.size(); ++i) {
    bool own = true;
    for (std::size_t b = 0; b < i; ++b)
      own &= storages[i]->data()[b] == static_cast<std::byte>(i & 0xFF);
    check(own, text("storage ", i));
  }
});

const Case refused("invalid sizes are rejected", [] {
  fails(Fault::kValue, "-1", [] { new_storage(-1, false); });
  fails(Fault::kValue, "-9223372036854775808",
        [] { new_storage(std::numeric_limits<std::int64_t>::min(), true); });
  fails(Fault::kMemory, "9223372036854775807", [] { new_storage(kLargest, false); });
  fails(Fault::kMemory, "9223372036854775807", [] { new_storage(kLargest, true); });
  fails(Fault::kMemory, "the limit is",
        [] { new_storage(std::numeric_limits<std::ptrdiff_t>::max() - 4000, false); });
});

int destroyed = 0;

const Case pointers("StoragePtr owns exactly one reference", [] {
  destroyed = 0;
  std::byte bytes[4]{};
  Storage storage(bytes, Device{DeviceKind::kCuda, 3}, false, true,
                  [](Storage*) noexcept { ++destroyed; });
  check(!storage.writable() && storage.foreign() && storage.data() == bytes);
  check(storage.device() == Device{DeviceKind::kCuda, 3});
  {
    StoragePtr first = StoragePtr::steal(&storage);
    check(storage.is_last_reference());
    StoragePtr second = first;
    check(!storage.is_last_reference());
    StoragePtr third = std::move(first);
    check(!first &&
          third.get() == &storage);  // NOLINT: a moved-from StoragePtr is empty, by contract
    second = StoragePtr();
    check(storage.is_last_reference());
    third = *&third;  // self-assignment
    expect(destroyed, 0);
    Storage* raw = third.release();
    check(raw == &storage && !third);
    third = StoragePtr::share(raw);
    check(!storage.is_last_reference());
    raw->release();
    check(storage.is_last_reference() && static_cast<bool>(third));
  }
  expect(destroyed, 1);
  check(!StoragePtr::share(nullptr) && StoragePtr().get() == nullptr);
});

/// An allocator that counts its calls, can be made to fail, and checks the arguments of
/// deallocate(), and that nothing was written behind the elements.
struct Counting {
  std::atomic<long> allocations{0};
  std::atomic<long> deallocations{0};
  std::atomic<long> live_bytes{0};
  std::atomic<long> wrong{0};
  std::atomic<bool> exhausted{false};
  std::atomic<std::size_t> shift{0};  // to return misaligned memory
  AllocatorPtr allocator = std::make_shared<Allocator>(Allocator{&allocate, &deallocate, this});

  static void* allocate(std::size_t nbytes, std::size_t alignment, void* context) noexcept {
    auto& self = *static_cast<Counting*>(context);
    if (self.exhausted) return nullptr;
    if (alignment != kAlignment || nbytes == 0) ++self.wrong;
    // The size is stored in front of the data, to be compared in deallocate().
    const std::size_t whole = (nbytes + 4 * alignment - 1) / alignment * alignment;
    auto* raw = static_cast<std::byte*>(allocate_aligned(alignment, whole));
    if (raw == nullptr) return nullptr;
    std::memset(raw, 0xCD, whole);
    std::memcpy(raw, &nbytes, sizeof nbytes);
    ++self.allocations;
    self.live_bytes += static_cast<long>(nbytes);
    return raw + alignment + self.shift;
  }

  static void deallocate(void* pointer, std::size_t nbytes, void* context) noexcept {
    auto& self = *static_cast<Counting*>(context);
    std::byte* raw = static_cast<std::byte*>(pointer) - kAlignment - self.shift;
    std::size_t was = 0;
    std::memcpy(&was, raw, sizeof was);
    if (was != nbytes) ++self.wrong;
    for (std::size_t i = 0; i < kAlignment; ++i)
      if (raw[kAlignment + self.shift + nbytes + i] != std::byte{0xCD}) ++self.wrong;
    ++self.deallocations;
    self.live_bytes -= static_cast<long>(nbytes);
    free_aligned(raw);
  }
};

const Case custom("each storage is freed by the allocator that it came from", [] {
  Counting first;
  Counting second;
  check(!exchange_allocator(first.allocator));
  StoragePtr a = new_storage(16, true);
  StoragePtr b = new_storage(100000, false);
  check(!a->foreign() && all_zero(a, 16) && a->host_block() > 16);
  std::memset(b->data(), 0xA5, 100000);
  check(exchange_allocator(second.allocator) == first.allocator);
  StoragePtr c = new_storage(0, false);
  std::thread([] { check(!exchange_allocator({})); }).join();  // other threads have none
  check(exchange_allocator({}) == second.allocator);
  StoragePtr d = new_storage(16, false);
  StoragePtr e, f;
  {
    const WithAllocator for_one(first.allocator);
    e = new_storage(24, true);
    const WithAllocator own({});
    f = new_storage(24, true);
  }
  check(!exchange_allocator({}));
  expect(first.allocations.load(), 3);
  expect(second.allocations.load(), 1);
  expect(first.live_bytes.load(), 16 + 100000 + 24);  // elements only: no header
  expect(second.live_bytes.load(), 1);
  a = b = c = d = e = f = StoragePtr();
  expect(first.deallocations.load(), 3);
  expect(second.deallocations.load(), 1);
  expect(first.live_bytes.load() + second.live_bytes.load(), 0);
  expect(first.wrong.load() + second.wrong.load(), 0);
});

const Case owned("storages keep their allocator, and threads drop theirs when they end", [] {
  std::atomic<int> dropped{0};
  Counting counting;
  StoragePtr storage;
  std::thread([&] {
    exchange_allocator(AllocatorPtr(new Allocator(*counting.allocator), [&](const Allocator* each) {
      ++dropped;
      delete each;
    }));
    storage = new_storage(16, false);
  }).join();
  expect(dropped.load(), 0);
  storage = StoragePtr();
  expect(dropped.load(), 1);
  expect(counting.deallocations.load(), 1);
});

const Case out_of_memory("allocator failures are kMemory errors", [] {
  Counting counting;
  exchange_allocator(counting.allocator);
  counting.exhausted = true;
  fails(Fault::kMemory, "cannot allocate 12345 bytes", [] { new_storage(12345, false); });
  fails(Fault::kValue, "-1", [] { new_storage(-1, false); });
  counting.exhausted = false;
  counting.shift = 64;
  fails(Fault::kMemory, "aligned", [] { new_storage(16, false); });
  exchange_allocator({});
  expect(counting.allocations.load(), 1);
  expect(counting.deallocations.load(), 1);  // the misaligned block was freed
  expect(counting.wrong.load(), 0);
});

const Case threads("references dropped on many threads destroy the storage once, after all reads",
                   [] {
                     Counting counting;
                     std::atomic<int> seen{0};
                     exchange_allocator(counting.allocator);
                     constexpr int kThreads = 4;
                     constexpr int kRounds = 2000;
                     {
                       std::vector<StoragePtr> shared;
                       for (int i = 0; i < 8; ++i) shared.push_back(new_storage(16, true));
                       std::vector<std::thread> running;
                       for (int t = 0; t < kThreads; ++t) {
                         running.emplace_back([mine = shared, &seen]() mutable {
                           int sum = 0;
                           for (int round = 0; round < kRounds; ++round) {
                             StoragePtr again = mine[static_cast<std::size_t>(round) % mine.size()];
                             StoragePtr moved = std::move(again);
                             again = moved;
                             sum += std::to_integer<int>(*again->data());
                           }
                           seen += sum;
                           mine.clear();
                         });
                       }
                       shared.clear();  // so that one of the threads drops the last reference
                       for (std::thread& each : running) each.join();
                     }
                     exchange_allocator({});
                     expect(counting.allocations.load(), 8);
                     expect(counting.deallocations.load(), 8);
                     expect(counting.wrong.load(), 0);
                     expect(seen.load(), 0);
                   });

const Case crossing("small storages allocated on one thread and freed on another", [] {
  constexpr int kEach = 500;
  std::vector<std::vector<StoragePtr>> boxes(4);
  const auto run_all = [&](auto body) {
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < boxes.size(); ++t) running.emplace_back([&, t] { body(t); });
    for (std::thread& each : running) each.join();
  };
  for (int round = 0; round < 3; ++round) {
    run_all([&](std::size_t t) {
      for (int i = 0; i < kEach; ++i) {
        boxes[t].push_back(new_storage(i % 300, false));
        std::memset(boxes[t].back()->data(), static_cast<int>(t),
                    static_cast<std::size_t>(i % 300));
      }
    });
    for (std::size_t t = 0; t < boxes.size(); ++t) {
      bool own = true;
      for (std::size_t i = 1; i < boxes[t].size(); ++i) {
        if (i % 300 > 0) own &= boxes[t][i]->data()[i % 300 - 1] == static_cast<std::byte>(t);
      }
      check(own && boxes[t].size() == kEach);
    }
    run_all([&](std::size_t t) { boxes[(t + 1) % boxes.size()].clear(); });
  }
});

/// Destroyed with the thread_locals of a thread, before or after the free list of that thread.
struct Late {
  StoragePtr storage;
};
thread_local Late late_early;

const Case thread_end("storages may be freed while the thread_locals of a thread are destroyed",
                      [] {
                        for (int round = 0; round < 3; ++round) {
                          std::thread([round] {
                            if (round == 0)
                              late_early.storage =
                                  new_storage(16, false);  // before the free list is registered
                            {
                              const StoragePtr gone = new_storage(16, false);
                            }
                            static thread_local Late late_after;
                            late_after.storage = new_storage(round == 1 ? 16 : 5000, false);
                          }).join();
                        }
                        check(new_storage(16, true)->is_last_reference());
                      });

// --- The thread's stack.

constexpr std::size_t kFrame = 512;

/// Calls itself while has_stack_left(), at most `most` times; returns the address of the deepest
/// frame.
[[gnu::noinline]] std::uintptr_t descend(int most) {
  volatile std::byte frame[kFrame];
  frame[0] = std::byte{1};
  volatile auto address =
      reinterpret_cast<std::uintptr_t>(&frame[0]);  // clang warns of returning it
  if (most == 0 || !has_stack_left()) return address;
  const std::uintptr_t out = descend(most - 1);
  return out + std::to_integer<unsigned>(frame[0]) - 1;  // after the call: no tail call
}

struct Seen {
  std::size_t left = 0;
  std::size_t size = 0;  // sanitizers give a thread more than was asked for
};

#if defined(__linux__)
void* descend_in_thread(void* argument) {
  auto& out = *static_cast<Seen*>(argument);
  const std::uintptr_t deepest = descend(-1);
  pthread_attr_t own;
  void* low = nullptr;
  pthread_getattr_np(pthread_self(), &own);
  pthread_attr_getstack(&own, &low, &out.size);
  pthread_attr_destroy(&own);
  out.left = deepest - reinterpret_cast<std::uintptr_t>(low);
  return nullptr;
}

void run_on_stack(std::size_t size, Seen& seen) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size);
  pthread_t thread;
  expect(pthread_create(&thread, &attributes, &descend_in_thread, &seen), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}
#elif defined(_WIN32)
DWORD WINAPI descend_in_thread(void* argument) {
  auto& out = *static_cast<Seen*>(argument);
  const std::uintptr_t deepest = descend(-1);
  ULONG_PTR low = 0, high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  out = {deepest - low, high - low};
  return 0;
}

void run_on_stack(std::size_t size, Seen& seen) {
  const HANDLE thread = CreateThread(nullptr, size, &descend_in_thread, &seen,
                                     STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  check(thread != nullptr);
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
}
#endif

#if defined(__linux__) || defined(_WIN32)
const Case reserve("has_stack_left() is false while 32 KiB, or a quarter, are left", [] {
  for (const std::size_t size : {64, 100, 128, 512, 8192}) {
    Seen seen;
    run_on_stack(size * 1024, seen);
    check(seen.size != 0);
    const std::size_t wanted = std::min<std::size_t>(seen.size / 4, 32 * 1024);
    // The stack pointer that is compared may lie a frame below the address that descend() returns.
    check(seen.left < wanted + kFrame && seen.left + 4 * kFrame > wanted,
          std::to_string(seen.left));
  }
});
#endif

const Case main_stack("the main thread's stack has its reserve too", [] {
  char here = 0;
  const std::uintptr_t top = reinterpret_cast<std::uintptr_t>(&here);
  check(top - descend(-1) > std::size_t{64} * 1024);
  check(has_stack_left());
});

#if defined(__GLIBC__)  // musl has no contexts, and Windows other ones
ucontext_t of_thread, of_coroutine;
std::uintptr_t deepest_of_coroutine;

const Case coroutine("a stack that is not the thread's own is not measured", [] {
  check(has_stack_left());
  std::vector<char> stack(std::size_t{256} * 1024);
  getcontext(&of_coroutine);
  of_coroutine.uc_stack.ss_sp = stack.data();
  of_coroutine.uc_stack.ss_size = stack.size();
  of_coroutine.uc_link = &of_thread;
  makecontext(&of_coroutine, [] { deepest_of_coroutine = descend(100); }, 0);
  swapcontext(&of_thread, &of_coroutine);
  const auto low = reinterpret_cast<std::uintptr_t>(stack.data());
  check(deepest_of_coroutine - low < stack.size() - 100 * kFrame);
  check(has_stack_left());
});
#endif

}  // namespace
