// Dynamic libraries on Windows.
// clang-format off
#include <windows.h>
#include <psapi.h>  // after it
// clang-format on

#include <algorithm>
#include <array>
#include <span>
#include <system_error>

#include "core/error.hpp"
#include "runtime/drivers/dynamic_library.hpp"
#include "runtime/drivers/library.hpp"

namespace refarray::runtime {

constexpr DriverNames kDriverNames{
    .cuda = "nvcuda.dll",
    .hip = "amdhip64",
    .before_version = "_",
    .hip_end = ".dll",
    .wheel_folder = "bin",
    .system_folder = "",
};

namespace {

std::filesystem::path from_utf8(std::string_view text) {
  return std::u8string(text.begin(), text.end());
}

/// The path of a module of the process; empty if it is longer than Windows allows.
std::filesystem::path path_of(HMODULE module) {
  std::wstring path(32768, L'\0');
  path.resize(GetModuleFileNameW(module, path.data(), static_cast<DWORD>(path.size())));
  return path;
}

/// The modules of the process; those beyond the array are not seen.
class Modules {
 public:
  Modules() noexcept {
    constexpr auto kBytes = static_cast<DWORD>(sizeof all_);
    DWORD needed = 0;
    if (K32EnumProcessModules(GetCurrentProcess(), all_.data(), kBytes, &needed) == 0) return;
    count_ = std::min(needed, kBytes) / sizeof(HMODULE);
  }
  std::span<const HMODULE> span() const noexcept { return {all_.data(), count_}; }

 private:
  std::array<HMODULE, 1024> all_;
  std::size_t count_ = 0;
};

void* address_in(HMODULE module, const char* name) noexcept {
  return reinterpret_cast<void*>(GetProcAddress(module, name));
}

}  // namespace

std::string environment_variable(const char* name) {
  const std::filesystem::path wide = from_utf8(name);
  std::wstring value(GetEnvironmentVariableW(wide.c_str(), nullptr, 0), L'\0');
  if (value.empty()) return {};
  // Another thread may have made it longer since: then it is as good as unset.
  const DWORD length =
      GetEnvironmentVariableW(wide.c_str(), value.data(), static_cast<DWORD>(value.size()));
  value.resize(length < value.size() ? length : 0);
  return to_utf8(value);
}

void* open_library(const std::string& file, bool only_loaded, std::string& why) {
  std::filesystem::path path = from_utf8(file);
  const bool is_name = !path.has_parent_path();
  if (!is_name) path = std::filesystem::absolute(path);
  HMODULE module = nullptr;
  if (only_loaded) {
    GetModuleHandleExW(0, path.c_str(), &module);
  } else {
    // A name is not looked for in the working directory. What a library needs may lie beside it.
    const DWORD beside = is_name ? 0 : LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR;
    module = LoadLibraryExW(path.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | beside);
  }
  if (module == nullptr) {
    const auto code = static_cast<int>(GetLastError());
    why = core::text(file, ": error ", code, ", ", std::system_category().message(code));
  }
  return module;
}

std::string find_loaded(std::string_view name) {
  const Modules modules;
  for (const HMODULE module : modules.span()) {
    const std::filesystem::path path = path_of(module);
    std::string base = to_utf8(path.filename());
    std::ranges::transform(base, base.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    if (base.starts_with(name)) return to_utf8(path);
  }
  return {};
}

std::filesystem::path own_library() {
  HMODULE module = nullptr;
  constexpr DWORD kFlags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (GetModuleHandleExW(kFlags, reinterpret_cast<LPCWSTR>(&own_library), &module) == 0) return {};
  return path_of(module);
}

void* symbol_of(void* library, const char* name) noexcept {
  return address_in(static_cast<HMODULE>(library), name);
}

void* symbol_of_process(const char* name) noexcept {
  const Modules modules;
  for (const HMODULE module : modules.span()) {
    if (void* const found = address_in(module, name)) return found;
  }
  return nullptr;
}

/// A sum that changes with the modules: Windows does not count how often it loaded one.
unsigned long long loaded_libraries() noexcept {
  const Modules modules;
  unsigned long long sum = modules.span().size();
  for (const HMODULE module : modules.span()) sum += reinterpret_cast<std::uintptr_t>(module);
  return sum;
}

}  // namespace refarray::runtime
