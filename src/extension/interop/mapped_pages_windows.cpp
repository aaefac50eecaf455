// Writes the pages of mapped files by FlushViewOfFile(): the disk's own cache may still have them
// when it returns.
#include <windows.h>

#include <algorithm>
#include <cerrno>

#include "extension/interop/mapped_pages.hpp"

namespace refarray::extension {

bool write_mapped_pages(std::uintptr_t low, std::uintptr_t high) noexcept {
  while (low < high) {
    MEMORY_BASIC_INFORMATION region{};
    if (VirtualQuery(reinterpret_cast<void*>(low), &region, sizeof region) == 0) break;
    const std::uintptr_t end =
        std::min(high, reinterpret_cast<std::uintptr_t>(region.BaseAddress) + region.RegionSize);
    if (region.Type == MEM_MAPPED &&
        FlushViewOfFile(reinterpret_cast<void*>(low), end - low) == 0) {
      errno = EIO;
      return false;
    }
    low = end;
  }
  return true;
}

}  // namespace refarray::extension
