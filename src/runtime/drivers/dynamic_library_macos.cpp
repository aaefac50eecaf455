// Dynamic libraries on macOS, which has none of the drivers.
#include <dlfcn.h>

#include <cstdlib>

#include "runtime/drivers/dynamic_library.hpp"
#include "runtime/drivers/library.hpp"

namespace refarray::runtime {

constexpr DriverNames kDriverNames{};

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void* open_library(const std::string&, bool, std::string& why) {
  why = "GPU drivers are searched for on Linux and Windows only";
  return nullptr;
}

std::string find_loaded(std::string_view) { return {}; }
std::filesystem::path own_library() { return {}; }

void* symbol_of(void* library, const char* name) noexcept { return ::dlsym(library, name); }
void* symbol_of_process(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }
unsigned long long loaded_libraries() noexcept { return 0; }

}  // namespace refarray::runtime
