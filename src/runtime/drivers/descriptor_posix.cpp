// File descriptors of POSIX.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "runtime/drivers/descriptor.hpp"

namespace refarray::runtime {

Descriptor::Descriptor(int owned) noexcept : number_(owned) { fcntl(owned, F_SETFD, FD_CLOEXEC); }

Descriptor Descriptor::copy_of(int number) {
  const int copy = fcntl(number, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    core::fail(core::Fault::kBuffer, "descriptor ", number, " is not open: ", std::strerror(errno));
  }
  return Descriptor(copy);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

}  // namespace refarray::runtime
