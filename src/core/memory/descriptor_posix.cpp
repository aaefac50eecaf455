// File descriptors of POSIX.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/memory/descriptor.hpp"

namespace refarray::core {

Descriptor Descriptor::close_on_exec(int owned) noexcept {
  fcntl(owned, F_SETFD, FD_CLOEXEC);
  return Descriptor(owned);
}

Descriptor Descriptor::copy_of(int number) {
  const int copy = fcntl(number, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    fail(Fault::kBuffer, "descriptor ", number, " is not open: ", std::strerror(errno));
  }
  return Descriptor(copy);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

}  // namespace refarray::core
