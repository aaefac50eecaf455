// A thread that is ended inside a call of foreign code: it is parked instead of unwinding our
// frames. Header-only, without Python; ships in the wheel.
#pragma once

#if __cplusplus <= 201703L
#error "refarray's C++ headers need C++20; compile with -std=c++20 or newer"
#endif

#include <chrono>
#include <thread>

#if defined(__has_include) && __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace refarray::core {

#if defined(__GLIBCXX__)
/// What ends a thread from inside, by unwinding its stack; catch it before `...`.
using ForcedUnwind = abi::__forced_unwind;
#else
/// Thrown by nobody: with this C++ library the end of a thread does not unwind.
struct ForcedUnwind {};
#endif

/// Blocks the calling thread forever.
[[noreturn]] inline void park() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(24));
}

/// Runs `body`, which calls foreign code. During finalization, CPython before 3.14 ends a daemon
/// thread that acquires the GIL with pthread_exit(). With glibc that unwinds the stack: destructors
/// would run without the GIL, and a noexcept function would terminate the process. The thread is
/// parked instead, as in CPython 3.14. Every destructor that may run foreign code calls it through
/// this function.
template <class Body>
auto park_at_exit(Body body) {
  try {  // boundary: glibc implements pthread_exit() as a forced unwind
    return body();
  } catch (const ForcedUnwind&) {  // boundary: as above; must not be swallowed
    park();
  }
}

}  // namespace refarray::core
