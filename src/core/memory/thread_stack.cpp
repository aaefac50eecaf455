// Implements the search for the end of a thread's stack.
#include "core/memory/thread_stack.hpp"

#if defined(_WIN32)
#include <windows.h>
#elif defined(__APPLE__)
#include <pthread.h>
#else
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>

namespace refarray::core {
namespace {

/// Of a stack without a limit this much is used, so that endless recursion does not fill the
/// memory.
constexpr std::uintptr_t kLargest = std::uintptr_t{1} << 30;

struct Bounds {
  std::uintptr_t low;   // the lowest address
  std::uintptr_t high;  // one past the highest
};

#if defined(_WIN32)
int find_bounds(Bounds& out) noexcept {
  ULONG_PTR low = 0, high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  out = {low, high};
  return 0;
}
#elif defined(__APPLE__)
int find_bounds(Bounds& out) noexcept {
  const pthread_t self = pthread_self();
  out.high = reinterpret_cast<std::uintptr_t>(pthread_get_stackaddr_np(self));
  out.low = out.high - pthread_get_stacksize_np(self);
  return 0;
}
#else
/// Limits the main thread's stack, which grows, to its resource limit. glibc does so itself.
[[maybe_unused]] void limit_main_stack(Bounds& bounds) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  bounds.low = bounds.high - std::min<std::uintptr_t>(limit.rlim_cur, bounds.high);
}

int find_bounds(Bounds& out) noexcept {
  pthread_attr_t attributes;
  if (const int error = pthread_getattr_np(pthread_self(), &attributes); error != 0) return error;
  void* low = nullptr;
  std::size_t size = 0;
  const int error = pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  out.low = reinterpret_cast<std::uintptr_t>(low);
  out.high = out.low + size;
#if !defined(__GLIBC__)  // musl: `size` is what is mapped now
  if (syscall(SYS_gettid) == getpid()) limit_main_stack(out);
#endif
  return error;
}
#endif

/// The bounds that measure_stack() found last in this thread, by which it knows foreign stacks.
constinit thread_local Bounds last_bounds{0, 0};

}  // namespace

bool measure_stack(std::uintptr_t here) noexcept {
  const auto is_in = [here](const Bounds& bounds) {
    return here - bounds.low < bounds.high - bounds.low;
  };
  if (last_bounds.high != 0 && !is_in(last_bounds)) return true;
  Bounds found{};
  if (const int error = find_bounds(found); error != 0) {
    if (error != ENOMEM) lowest_known = 0;  // there is no /proc, for instance
    return true;
  }
  found.low = std::max(found.low, found.high - std::min(kLargest, found.high));
  last_bounds = found;
  if (!is_in(found)) return true;
  const std::uintptr_t reserve =
      std::min<std::uintptr_t>(kStackReserve, (found.high - found.low) / smallest_share);
  const std::uintptr_t end = found.low + reserve;
  if (here < end) return false;
  // Only a step below, because the main thread's limit may be changed: setrlimit().
  lowest_known = std::max(end, here - std::min<std::uintptr_t>(here, kStackReserve));
  return true;
}

}  // namespace refarray::core
