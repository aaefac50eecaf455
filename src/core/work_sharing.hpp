// Sharing long work: pieces of it are taken by the calling thread and by worker threads, and
// between two of them it can be interrupted.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

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
/// The threads that share work on so many bytes.
inline int threads_for(std::int64_t bytes) noexcept {
  return bytes < (std::int64_t{4} << 20) ? 1 : copy_threads();
}

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

/// What pieces of work tell each other that may take long, or fail.
class SharedState {
 public:
  explicit SharedState(const InterruptCheck& interrupt) noexcept
      : interrupt_(interrupt), caller_(std::this_thread::get_id()) {}
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;

  /// For any thread: true from when the calling thread was interrupted, or a piece failed.
  InterruptCheck interrupt() noexcept {
    return {[](void* self) noexcept { return static_cast<SharedState*>(self)->asks(); }, this};
  }
  bool has_stopped() const noexcept { return has_stopped_; }
  void fail(std::exception_ptr with) noexcept {
    const std::scoped_lock lock(mutex_);
    if (error_ == nullptr) error_ = with;
    has_stopped_ = true;
  }
  /// Throws what the first piece has failed with.
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  bool asks() noexcept {
    if (!has_stopped_ && std::this_thread::get_id() == caller_ && interrupt_()) has_stopped_ = true;
    return has_stopped_;
  }

  const InterruptCheck& interrupt_;
  const std::thread::id caller_;
  std::atomic<bool> has_stopped_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

/// share_work() for pieces that may throw, and be interrupted by the check that they are given, as
/// `piece(i, interrupt)`. Throws what one of them has thrown.
template <class Piece>
bool share_fallible_work(std::int64_t count, int threads, const InterruptCheck& interrupt,
                         const Piece& piece) {
  SharedState state(interrupt);
  const InterruptCheck check = state.interrupt();
  share_work(count, threads, check, [&](std::int64_t index) noexcept {
    if (state.has_stopped()) return;
    try {  // boundary: threads of their own take no exceptions
      piece(index, check);
    } catch (...) {
      state.fail(std::current_exception());
    }
  });
  state.rethrow();
  return !state.has_stopped();
}

}  // namespace refarray::core
