// Random bytes of the system.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/error.hpp"

#if defined(_WIN32)
#include <random>
#else
#include <sys/random.h>
#include <unistd.h>
#endif

namespace refarray::core {

// fill_random() fills at most 256 bytes. It throws kBuffer if the system gives none.

#if defined(_WIN32)

inline void fill_random(std::span<std::uint8_t> out) {
  std::random_device source;
  for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(source());
}

#else

/// Not by std::random_device: that of new C++ libraries calls functions that an old glibc lacks.
inline void fill_random(std::span<std::uint8_t> out) {
  if (getentropy(out.data(), out.size()) != 0)
    fail(Fault::kBuffer, "getentropy() failed: ", std::strerror(errno));
}

#endif

}  // namespace refarray::core
