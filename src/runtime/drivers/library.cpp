// Searches for libcuda and libamdhip64: in the process, next to our package and in the system.
#include "runtime/drivers/library.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "runtime/drivers/dynamic_library.hpp"

namespace refarray::runtime {

std::string chosen_library(Vendor vendor) {
  return environment_variable(vendor == Vendor::kCuda ? "REFARRAY_LIBCUDA" : "REFARRAY_LIBHIP");
}

namespace {

namespace fs = std::filesystem;

/// Keeps the first failure's message.
bool open(const std::string& file, Library& out, bool only_loaded = false) {
  std::string why;
  out.file = file;
  out.handle = open_library(file, only_loaded, why);
  if (out.handle != nullptr) {
    out.why.clear();
    return true;
  }
  if (out.why.empty()) out.why = why;
  return false;
}

/// The file name of HIP's library, without a version or with one.
std::string hip_name() { return core::text(kDriverNames.hip, kDriverNames.hip_end); }
std::string hip_name(int version) {
  return core::text(kDriverNames.hip, kDriverNames.before_version, version, kDriverNames.hip_end);
}

/// The N of libamdhip64.so.N; -1 without a number and for other files.
long version_of(std::string_view file) {
  const std::string start = core::text(kDriverNames.hip, kDriverNames.before_version);
  if (!file.starts_with(start) || !file.ends_with(kDriverNames.hip_end)) return -1;
  const std::string digits(file.substr(start.size()));
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
    const std::string name = to_utf8(at->path().filename());
    if (name == hip_name() || version_of(name) >= 0) found.push_back(name);
  }
  std::ranges::sort(found, [](const std::string& a, const std::string& b) {
    return version_of(a) != version_of(b) ? version_of(a) > version_of(b) : a < b;
  });
  for (std::string& name : found) name = to_utf8(folder / name);
  return found;
}

bool open_first(const std::vector<std::string>& files, Library& out) {
  return std::ranges::any_of(files, [&](const std::string& file) { return open(file, out); });
}

/// Versions to try. kHighest is beyond any release; a failed search costs microseconds.
constexpr int kHighest = 99;
constexpr int kLowest = 5;

}  // namespace

Library open_cuda_library() {
  Library out;
  const std::string chosen = chosen_library(Vendor::kCuda);
  open(chosen.empty() ? std::string(kDriverNames.cuda) : chosen, out);
  return out;
}

Library open_hip_library() {
  Library out;
  if (const std::string chosen = chosen_library(Vendor::kHip); !chosen.empty()) {
    open(chosen, out);
    return out;
  }
  if (const std::string loaded = find_loaded(kDriverNames.hip); !loaded.empty()) {
    if (open(loaded, out, /*only_loaded=*/true)) return out;
  }
  // site-packages: the parent of our package, which AMD's and PyTorch's wheels share.
  if (const fs::path own = own_library(); !own.empty()) {
    const fs::path site = own.parent_path().parent_path();
    if (open_first(hip_libraries_in(site / "_rocm_sdk_core" / kDriverNames.wheel_folder), out))
      return out;
    if (open_first(hip_libraries_in(site / "torch" / "lib"), out)) return out;
  }
  for (int version = kHighest; version >= kLowest; --version) {
    out.why.clear();
    if (open(hip_name(version), out)) return out;
  }
  if (open_first(hip_libraries_in(kDriverNames.system_folder), out)) return out;
  out.why.clear();
  open(hip_name(), out);
  return out;
}

}  // namespace refarray::runtime
