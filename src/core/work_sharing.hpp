// Sharing long work: pieces of it are taken by the calling thread and by worker threads, and
// between two of them it can be interrupted.
#pragma once

#include <cstdint>

namespace refarray::core {

/// Called on the calling thread between two pieces of long work, every few milliseconds; returns
/// true to interrupt the work. nullptr: never.
struct InterruptCheck {
  bool (*stops)(void* context) noexcept = nullptr;
  void* context = nullptr;

  bool operator()() const noexcept { return stops != nullptr && stops(context); }
};

/// Number of threads that share a copy or computation of more than 4 MiB, the calling thread
/// included: 1 (the default) to 256. The worker threads exit with the work, so none exists at a
/// later fork(). Thread-safe; does not affect work in progress.
void set_copy_threads(int count) noexcept;
int copy_threads() noexcept;

namespace detail {
bool share(std::int64_t count, int threads, void (*piece)(const void* context, std::int64_t index),
           const void* context, const InterruptCheck& interrupt) noexcept;
}

/// Calls `piece(i)` once for each i in [0, count), in ascending order if `threads` is 1, otherwise
/// on up to `threads` threads in any order. `piece` must not throw. Returns false when `interrupt`
/// stopped the work: some pieces then were not run.
template <class Piece>
bool share_work(std::int64_t count, int threads, const InterruptCheck& interrupt,
                const Piece& piece) noexcept {
  if (threads == 1 || count == 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      piece(i);
      if (interrupt()) return false;
    }
    return true;
  }
  return detail::share(
      count, threads,
      [](const void* context, std::int64_t index) { (*static_cast<const Piece*>(context))(index); },
      &piece, interrupt);
}

}  // namespace refarray::core
