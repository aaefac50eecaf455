// Whether the calling thread has stack left for code that may call us again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace refarray::core {

/// What code that we call must have, in bytes; on a small stack, the part of it that
/// `smallest_share` says.
inline constexpr std::size_t kStackReserve = 32 * 1024;

/// One in how many bytes of a stack the reserve is at most. To be set before the first call only.
inline constinit std::uintptr_t smallest_share = 4;

/// The lowest address on the calling thread's stack that is known to have the reserve below it. At
/// first none is.
inline constinit thread_local std::uintptr_t lowest_known =
    std::numeric_limits<std::uintptr_t>::max();

/// has_stack_left() for an address below lowest_known.
[[gnu::cold]] bool measure_stack(std::uintptr_t here) noexcept;

/// The stack pointer, or nearly so: of a frame with large objects, __builtin_frame_address() is the
/// other end.
inline std::uintptr_t stack_pointer() noexcept {
#if defined(__x86_64__)
  std::uintptr_t out;
  asm volatile("mov %%rsp, %0" : "=r"(out));
  return out;
#elif defined(__aarch64__)
  std::uintptr_t out;
  asm volatile("mov %0, sp" : "=r"(out));
  return out;
#else
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
}

/// Whether the reserve is left to the caller. True on a stack that is not the thread's own, such as
/// a coroutine's, and where the system does not tell.
inline bool has_stack_left() noexcept {
  const std::uintptr_t here = stack_pointer();
  return here >= lowest_known || measure_stack(here);
}

}  // namespace refarray::core
