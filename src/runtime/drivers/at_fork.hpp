// What is called in forked children. Nothing forks on Windows.
#pragma once

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace refarray::runtime {

#if defined(_WIN32)
inline void call_in_forked_children(void (*)()) noexcept {}
#else
inline void call_in_forked_children(void (*function)()) noexcept {
  pthread_atfork(nullptr, nullptr, function);
}
#endif

}  // namespace refarray::runtime
