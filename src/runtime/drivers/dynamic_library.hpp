// The system's loader of dynamic libraries, and how the vendors' drivers are named there. Each
// system has a file of its own. Names and paths are UTF-8.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace refarray::runtime {

/// Where the drivers are. All empty on a system that has none.
struct DriverNames {
  std::string_view cuda;
  std::string_view hip;  // how HIP's names begin; then comes the version, if there is one
  std::string_view before_version;  // between the two
  std::string_view hip_end;         // how they end
  std::string_view wheel_folder;    // of HIP, in AMD's wheel
  std::string_view system_folder;   // of HIP without a wheel; empty: only the loader's folders
};
extern const DriverNames kDriverNames;

inline std::string to_utf8(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

/// The value of an environment variable; empty if unset.
std::string environment_variable(const char* name);

/// Loads the library of a path, or finds one of a name; `only_loaded`: one that the process has.
/// nullptr and the loader's message in `why` if that fails.
void* open_library(const std::string& file, bool only_loaded, std::string& why);

/// The path of a library of the process whose file name begins with `name`; empty if there is none.
std::string find_loaded(std::string_view name);

/// The path of the library that this function is in; empty if the system does not tell.
std::filesystem::path own_library();

}  // namespace refarray::runtime
