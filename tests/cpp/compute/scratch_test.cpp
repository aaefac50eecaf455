// Tests of core/memory/scratch.hpp: memory of the thread, and that which threads without any share.
#include "core/memory/scratch.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

using refarray::core::Scratch;
using namespace refarray::check;

/// Fills two blocks, one inside the other, with `mark`, and returns whether it stays.
bool keeps(std::byte mark, std::size_t bytes) {
  const Scratch outer(bytes), inner(bytes);
  std::fill_n(outer.data(), bytes, mark);
  std::fill_n(inner.data(), bytes, ~mark);
  std::this_thread::yield();
  const auto has = [bytes](const Scratch& block, std::byte wanted) {
    return std::all_of(block.data(), block.data() + bytes,
                       [wanted](std::byte each) { return each == wanted; });
  };
  return has(outer, mark) && has(inner, ~mark);
}

const Case blocks("blocks are aligned, apart, and used again", [] {
  const std::byte* first = nullptr;
  for (const std::size_t bytes : {1, 1024, 1025, 16384, 65536}) {
    const Scratch block(bytes);
    check(reinterpret_cast<std::uintptr_t>(block.data()) % 64 == 0);
    check(keeps(std::byte{0x5A}, std::min<std::size_t>(bytes, 32768)));
    if (bytes <= 1024) continue;
    if (first == nullptr) first = block.data();
    check(block.data() == first);
  }
});

/// Its destructor runs after the thread's own memory was freed.
struct Late {
  std::byte mark{};
  std::atomic<int>* kept = nullptr;
  ~Late() {
    for (int i = 0; kept != nullptr && i < 100; ++i) *kept += keeps(mark, 16384) ? 1 : 0;
  }
};
thread_local Late late;

const Case sharing("threads without memory of their own take turns", [] {
  constexpr int kThreads = 4;
  std::atomic<int> kept{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, &kept] {
      late.mark = static_cast<std::byte>(i + 1);
      late.kept = &kept;
      kept += keeps(late.mark, 16384) ? 1 : 0;
    });
  }
  for (std::thread& each : threads) each.join();
  check(kept == kThreads * 101);
});

}  // namespace
