// Where the calling thread's stack lies. Each system has a file of its own.
#pragma once

#include <cstdint>

namespace refarray::core {

struct StackBounds {
  std::uintptr_t low;   // the lowest address
  std::uintptr_t high;  // one past the highest
};

/// 0, or an error of <cerrno>.
int find_bounds(StackBounds& out) noexcept;

}  // namespace refarray::core
