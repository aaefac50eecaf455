// The bounds of a stack on Linux, by the attributes of the thread.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "core/memory/stack_bounds.hpp"

namespace refarray::core {
namespace {

/// Limits the main thread's stack, which grows, to its resource limit. glibc does so itself.
[[maybe_unused]] void limit_main_stack(StackBounds& bounds) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  bounds.low = bounds.high - std::min<std::uintptr_t>(limit.rlim_cur, bounds.high);
}

}  // namespace

int find_bounds(StackBounds& out) noexcept {
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

}  // namespace refarray::core
