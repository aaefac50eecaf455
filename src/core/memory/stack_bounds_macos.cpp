// The bounds of a stack on macOS.
#include <pthread.h>

#include "core/memory/stack_bounds.hpp"

namespace refarray::core {

int find_bounds(StackBounds& out) noexcept {
  const pthread_t self = pthread_self();
  out.high = reinterpret_cast<std::uintptr_t>(pthread_get_stackaddr_np(self));
  out.low = out.high - pthread_get_stacksize_np(self);
  return 0;
}

}  // namespace refarray::core
