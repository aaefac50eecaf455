// The bounds of a stack on Windows: what is reserved, of which the pages in use are a part.
#include <windows.h>

#include "core/memory/stack_bounds.hpp"

namespace refarray::core {

int find_bounds(StackBounds& out) noexcept {
  ULONG_PTR low = 0, high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  out = {low, high};
  return 0;
}

}  // namespace refarray::core
