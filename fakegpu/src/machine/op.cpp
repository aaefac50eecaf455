// Queued operations and their workers: a futex for "done", a semaphore for "may run", no other
// shared state.
#include "machine/op.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <ctime>

namespace fakegpu {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Op::run() {
  for (const Op* op : waits_for_)
    while (!op->wait(1000)) continue;
  if (work_) work_();
  finished_at_ = now_ns();
  done_.store(1, std::memory_order_release);
  syscall(SYS_futex, &done_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

bool Op::wait(std::int64_t milliseconds) const {
  const std::int64_t deadline = now_ns() + milliseconds * 1'000'000;
  while (!done()) {
    const std::int64_t left = deadline - now_ns();
    if (left <= 0) return false;
    const timespec time{left / 1'000'000'000, left % 1'000'000'000};
    syscall(SYS_futex, &done_, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0);
  }
  return true;
}

bool Op::ready() const {
  return std::all_of(waits_for_.begin(), waits_for_.end(), [](const Op* op) { return op->done(); });
}

Worker::Worker() : first_({}, {}), last_(&first_), seen_(&first_) { sem_init(&tokens_, 0, 0); }

Worker::~Worker() {
  finish();
  if (thread_.joinable()) thread_.join();
  sem_destroy(&tokens_);
}

void Worker::push(Op* op) {
  if (!thread_.joinable()) start();
  last_->next_.store(op, std::memory_order_release);
  last_ = op;
  if (held_)
    ++kept_back_;
  else
    sem_post(&tokens_);
}

void Worker::start() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);          // signals are delivered to the program's threads
  sigdelset(&all, SIGSEGV);  // of host functions that touch closed pages
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Worker::let(std::uint64_t count) {
  for (; count > 0 && kept_back_ > 0; --count, --kept_back_) sem_post(&tokens_);
}

void Worker::release() {
  held_ = false;
  let(kept_back_);
}

Op* Worker::head() const {
  while (Op* next = seen_->next_.load(std::memory_order_relaxed)) {
    if (next->done_.load(std::memory_order_relaxed) == 0) return next;
    seen_ = next;
  }
  return nullptr;
}

void Worker::set_delay(unsigned microseconds, std::uint64_t seed) {
  seed_ = seed * 2 + 1;
  delay_ = microseconds;
}

void Worker::finish() {
  if (!thread_.joinable() || closing_) return;
  release();
  closing_ = true;
  sem_post(&tokens_);
}

void Worker::loop() {
  Op* at = &first_;
  std::uint64_t random = 0;
  while (true) {
    while (sem_wait(&tokens_) != 0) continue;
    Op* op = at->next_.load(std::memory_order_acquire);
    if (op == nullptr) return;  // finish()'s token
    if (const unsigned limit = delay_.load(std::memory_order_relaxed)) {
      random = (random ^ seed_.load(std::memory_order_relaxed)) * 6364136223846793005U +
               1442695040888963407U;
      usleep(static_cast<unsigned>(random >> 33) % limit);
    }
    op->run();
    at = op;
  }
}

}  // namespace fakegpu
