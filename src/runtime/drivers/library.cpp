// Searches for libcuda and libamdhip64: in the process, next to our package and in the system. On
// Linux only; elsewhere nothing is found.
#include "runtime/drivers/library.hpp"

#if !defined(_WIN32)
#include <dlfcn.h>
#endif
#if defined(__linux__)
#include <link.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.hpp"

namespace refarray::runtime {

std::string chosen_library(Vendor vendor) {
  const char* chosen =
      std::getenv(vendor == Vendor::kCuda ? "REFARRAY_LIBCUDA" : "REFARRAY_LIBHIP");
  return chosen == nullptr ? "" : chosen;
}

#if defined(_WIN32)
void* symbol_of(void* /*library*/, const char* /*name*/) noexcept { return nullptr; }
void* symbol_of_process(const char* /*name*/) noexcept { return nullptr; }
#else
void* symbol_of(void* library, const char* name) noexcept { return ::dlsym(library, name); }
void* symbol_of_process(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }
#endif

#if defined(__linux__)
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHip = "libamdhip64.so";

bool open(const std::string& file, Library& out, int flags = 0) {
  out.file = file;
  out.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (out.handle != nullptr) {
    out.why.clear();
    return true;
  }
  const char* why = dlerror();
  if (out.why.empty()) out.why = why == nullptr ? "dlopen failed" : why;
  return false;
}

/// The path of a mapped library whose file name begins with `name`; empty if there is none.
std::string find_mapped(std::string_view name) {
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

/// The N of libamdhip64.so.N; -1 without a number and for other files.
long version_of(std::string_view file) {
  if (!file.starts_with(kHip) || file.size() < kHip.size() + 2) return -1;
  const std::string digits(file.substr(kHip.size() + 1));
  char* end = nullptr;
  const long number = std::strtol(digits.c_str(), &end, 10);
  return end == digits.c_str() ? -1 : number;
}

/// The paths of the HIP libraries in a folder, the highest version first (10 before 9).
std::vector<std::string> hip_libraries_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code ignored;  // missing or unreadable folders count as empty
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name == kHip || version_of(name) >= 0) found.push_back(name);
  }
  std::ranges::sort(found, [](const std::string& a, const std::string& b) {
    return version_of(a) != version_of(b) ? version_of(a) > version_of(b) : a < b;
  });
  for (std::string& name : found) name = (folder / name).string();
  return found;
}

/// site-packages: the parent of our package, which AMD's and PyTorch's wheels share.
fs::path site_packages() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&open_hip_library), &self) == 0 || self.dli_fname == nullptr) {
    return {};
  }
  return fs::path(self.dli_fname).parent_path().parent_path();
}

bool open_first(const std::vector<std::string>& files, Library& out) {
  return std::ranges::any_of(files, [&](const std::string& file) { return open(file, out); });
}

/// SONAME versions to try. kHighest is beyond any release; a failed dlopen costs microseconds.
constexpr int kHighest = 99;
constexpr int kLowest = 5;

}  // namespace

Library open_cuda_library() {
  Library out;
  const std::string chosen = chosen_library(Vendor::kCuda);
  open(chosen.empty() ? "libcuda.so.1" : chosen, out);
  return out;
}

Library open_hip_library() {
  Library out;
  if (const std::string chosen = chosen_library(Vendor::kHip); !chosen.empty()) {
    open(chosen, out);
    return out;
  }
  if (const std::string mapped = find_mapped(kHip); !mapped.empty()) {
    if (open(mapped, out, RTLD_NOLOAD)) return out;
  }
  if (const fs::path site = site_packages(); !site.empty()) {
    if (open_first(hip_libraries_in(site / "_rocm_sdk_core" / "lib"), out)) return out;
    if (open_first(hip_libraries_in(site / "torch" / "lib"), out)) return out;
  }
  for (int version = kHighest; version >= kLowest; --version) {
    out.why.clear();
    if (open(core::text(kHip, ".", version), out)) return out;
  }
  if (open_first(hip_libraries_in("/opt/rocm/lib"), out)) return out;
  out.why.clear();
  open(std::string(kHip), out);
  return out;
}

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
#else
Library open_cuda_library() { return {nullptr, "", "GPU drivers are searched for on Linux only"}; }
Library open_hip_library() { return open_cuda_library(); }
unsigned long long loaded_libraries() noexcept { return 0; }
#endif

}  // namespace refarray::runtime
