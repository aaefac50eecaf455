// File descriptors, on systems that have them. No driver gives one elsewhere.
#include "runtime/drivers/descriptor.hpp"

#if !defined(_WIN32)
#include <fcntl.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace refarray::runtime {

#if defined(_WIN32)

Descriptor::Descriptor(int owned) noexcept : number_(owned) {}
Descriptor Descriptor::copy_of(int number) {
  core::fail(core::Fault::kBuffer, "descriptor ", number, " is not open: Windows has none");
}
Descriptor::~Descriptor() {}

#else

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

#endif

}  // namespace refarray::runtime
