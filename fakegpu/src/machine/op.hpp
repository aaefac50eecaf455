// Op: one queued operation; Worker: the thread that runs a stream's operations in order.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace fakegpu {

/// A queued operation. Threads synchronize only through `done` and the worker's tokens, which are
/// one-way, so that ThreadSanitizer sees exactly the order that the driver's rules establish.
class Op {
 public:
  using Work = std::function<void()>;

  Op(Work work, std::vector<const Op*> waits_for)
      : work_(std::move(work)), waits_for_(std::move(waits_for)) {}

  void run();
  /// False on timeout.
  bool wait(std::int64_t milliseconds) const;
  bool done() const { return done_.load(std::memory_order_acquire) != 0; }
  bool ready() const;
  const std::vector<const Op*>& waits_for() const { return waits_for_; }
  std::int64_t finished_at() const { return finished_at_; }

  std::uint64_t call = 0;  // number of the call that queued it

 private:
  friend class Worker;
  Work work_;
  std::vector<const Op*> waits_for_;
  std::int64_t finished_at_ = 0;  // steady clock, nanoseconds
  std::atomic<std::uint32_t> done_{0};
  std::atomic<Op*> next_{nullptr};
};

/// The thread of a stream. It runs one operation per token; a held stream gets no tokens.
class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void push(Op* op);
  void hold() { held_ = true; }
  bool held() const { return held_; }
  void let(std::uint64_t count);  // releases that many held tokens
  void release();                 // releases all tokens and stops holding
  std::uint64_t kept_back() const { return kept_back_; }
  Op* head() const;  // the first operation that has not finished
  void set_delay(unsigned microseconds, std::uint64_t seed);
  void finish();  // the thread exits after its queue; then the object may be destroyed

 private:
  void start();
  void loop();

  sem_t tokens_;
  Op first_;
  Op* last_;          // the host's end of the queue
  mutable Op* seen_;  // the host's view of the first unfinished operation
  std::uint64_t kept_back_ = 0;
  bool held_ = false;
  std::atomic<unsigned> delay_{0};
  std::atomic<std::uint64_t> seed_{1};
  std::atomic<bool> closing_{false};
  std::thread thread_;
};

}  // namespace fakegpu
