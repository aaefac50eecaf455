// The worker threads of long work, and how many there are.
#include "core/work_sharing.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>

namespace refarray::core {
namespace {

constexpr int kMaxThreads = 256;
constinit std::atomic<int> requested_threads{1};

/// Threads that live only as long as one piece of work, so that none exists at a later fork().
class WorkerThreads {
 public:
  template <class Work>
  WorkerThreads(int extra, const Work& work) noexcept {
    try {  // boundary: failing to start a thread is no error; the work only takes longer
      while (size_ < extra) {
        threads_[size_] = std::thread(work);
        ++size_;
      }
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  ~WorkerThreads() {
    for (int i = 0; i < size_; ++i) threads_[i].join();
  }

 private:
  int size_ = 0;
  std::thread threads_[kMaxThreads];
};

}  // namespace

void set_copy_threads(int count) noexcept {
  requested_threads.store(std::clamp(count, 1, kMaxThreads), std::memory_order_relaxed);
}
int copy_threads() noexcept { return requested_threads.load(std::memory_order_relaxed); }

bool detail::share(std::int64_t count, int threads,
                   void (*piece)(const void* context, std::int64_t index), const void* context,
                   const InterruptCheck& interrupt) noexcept {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stops{false};
  const auto work = [&] {
    while (!stops.load(std::memory_order_relaxed)) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      piece(context, i);
    }
  };
  const auto work_and_poll = [&] {
    for (;;) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      piece(context, i);
      if (interrupt()) {
        stops.store(true, std::memory_order_relaxed);
        return;
      }
    }
  };
  {  // at the end of the block the workers are joined
    const WorkerThreads workers(static_cast<int>(std::min<std::int64_t>(threads, count)) - 1, work);
    work_and_poll();
  }
  return !stops.load(std::memory_order_relaxed);
}

}  // namespace refarray::core
