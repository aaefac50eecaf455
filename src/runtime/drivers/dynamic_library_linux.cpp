// Dynamic libraries on Linux.
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

#include "runtime/drivers/dynamic_library.hpp"
#include "runtime/drivers/library.hpp"

namespace refarray::runtime {

constexpr DriverNames kDriverNames{
    .cuda = "libcuda.so.1",
    .hip = "libamdhip64.so",
    .before_version = ".",
    .hip_end = "",
    .wheel_folder = "lib",
    .system_folder = "/opt/rocm/lib",
};

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void* open_library(const std::string& file, bool only_loaded, std::string& why) {
  void* const handle =
      dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | (only_loaded ? RTLD_NOLOAD : 0));
  if (handle != nullptr) return handle;
  const char* message = dlerror();
  why = message == nullptr ? "dlopen failed" : message;
  return nullptr;
}

std::string find_loaded(std::string_view name) {
  struct Search {
    std::string_view name;
    std::string path;
  } search{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& wanted = *static_cast<Search*>(context);
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        const std::string_view base = path.substr(path.rfind('/') + 1);
        if (!base.starts_with(wanted.name)) return 0;
        wanted.path = path;
        return 1;
      },
      &search);
  return search.path;
}

std::filesystem::path own_library() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&own_library), &self) == 0 || self.dli_fname == nullptr) {
    return {};
  }
  return self.dli_fname;
}

void* symbol_of(void* library, const char* name) noexcept { return ::dlsym(library, name); }
void* symbol_of_process(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

unsigned long long loaded_libraries() noexcept {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        *static_cast<unsigned long long*>(context) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

}  // namespace refarray::runtime
