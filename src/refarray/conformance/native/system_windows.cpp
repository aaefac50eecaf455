// Pages, functions and descriptors of Windows.
// clang-format off
#include <windows.h>
#include <psapi.h>  // after it
// clang-format on
#include <io.h>

#include <algorithm>
#include <array>

#include "system.hpp"

namespace adversary {

std::size_t page_size() noexcept {
  SYSTEM_INFO info{};
  GetSystemInfo(&info);
  return info.dwPageSize;
}

void* map_pages(std::size_t bytes) noexcept {
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

bool protect_pages(void* begin, std::size_t bytes, Access access) noexcept {
  const DWORD protection = access == Access::kNone   ? PAGE_NOACCESS
                           : access == Access::kRead ? PAGE_READONLY
                                                     : PAGE_READWRITE;
  DWORD before = 0;
  return VirtualProtect(begin, bytes, protection, &before) != 0;
}

void unmap_pages(void* begin, std::size_t) noexcept { VirtualFree(begin, 0, MEM_RELEASE); }

void* find_symbol(const char* name) noexcept {
  std::array<HMODULE, 1024> modules;
  constexpr auto kBytes = static_cast<DWORD>(sizeof modules);
  DWORD needed = 0;
  if (K32EnumProcessModules(GetCurrentProcess(), modules.data(), kBytes, &needed) == 0)
    return nullptr;
  for (std::size_t i = 0; i < std::min(needed, kBytes) / sizeof(HMODULE); ++i) {
    if (const auto found = GetProcAddress(modules[i], name)) return reinterpret_cast<void*>(found);
  }
  return nullptr;
}

void write_text(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const auto count = ::_write(descriptor, text.data(), static_cast<unsigned>(text.size()));
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace adversary
