// Implements the search for the end of a thread's stack.
#include "core/memory/thread_stack.hpp"

#include <algorithm>
#include <cerrno>

#include "core/memory/stack_bounds.hpp"

namespace refarray::core {
namespace {

/// Of a stack without a limit this much is used, so that endless recursion does not fill the
/// memory.
constexpr std::uintptr_t kLargest = std::uintptr_t{1} << 30;

/// The bounds that measure_stack() found last in this thread, by which it knows foreign stacks.
constinit thread_local StackBounds last_bounds{0, 0};

}  // namespace

bool measure_stack(std::uintptr_t here) noexcept {
  const auto is_in = [here](const StackBounds& bounds) {
    return here - bounds.low < bounds.high - bounds.low;
  };
  if (last_bounds.high != 0 && !is_in(last_bounds)) return true;
  StackBounds found{};
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
