// Random bytes of the system.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(_WIN32)
#include <random>
#else
#include <sys/random.h>
#include <unistd.h>
#endif

#include "core/error.hpp"

namespace refarray::core {

/// Fills at most 256 bytes. Throws kBuffer if the system gives none.
inline void fill_random(std::span<std::uint8_t> out) {
#if defined(_WIN32)
  std::random_device source;
  for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(source());
#else
  // std::random_device of newer C++ libraries calls functions that an old glibc lacks.
  if (getentropy(out.data(), out.size()) != 0)
    fail(Fault::kBuffer, "getentropy() failed: ", std::strerror(errno));
#endif
}

}  // namespace refarray::core
