// Pages, functions and descriptors of POSIX.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "system.hpp"

namespace adversary {

std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

void* map_pages(std::size_t bytes) noexcept {
  void* out = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return out == MAP_FAILED ? nullptr : out;
}

bool protect_pages(void* begin, std::size_t bytes, Access access) noexcept {
  const int protection = access == Access::kNone   ? PROT_NONE
                         : access == Access::kRead ? PROT_READ
                                                   : PROT_READ | PROT_WRITE;
  return ::mprotect(begin, bytes, protection) == 0;
}

void unmap_pages(void* begin, std::size_t bytes) noexcept { ::munmap(begin, bytes); }

void* find_symbol(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

void write_text(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const auto count = ::write(descriptor, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace adversary
