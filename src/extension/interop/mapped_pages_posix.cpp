// Writes the pages of mapped files by msync().
#include <sys/mman.h>
#include <unistd.h>

#include "extension/interop/mapped_pages.hpp"

namespace refarray::extension {

bool write_mapped_pages(std::uintptr_t low, std::uintptr_t high) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  low &= ~(page - 1);
  return msync(reinterpret_cast<void*>(low), high - low, MS_SYNC) == 0;
}

}  // namespace refarray::extension
