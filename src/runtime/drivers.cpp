// Owns the question whether a vendor's driver is there: opened by dlopen and asked for its devices.
#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include "refarray/core/error.hpp"
#include "refarray/runtime/runtime.hpp"

namespace refarray::runtime {
namespace {

struct Vendor {
  const char* name;
  const char* override_variable;  // names another file: how tests bring a simulated driver
  std::array<const char*, 4> libraries;
  const char* init;          // int init(unsigned flags)
  const char* device_count;  // int count(int* out)
};

// Both drivers return 0 for success from the two calls used here.
constexpr std::array<Vendor, 2> kVendors{{
    {"CUDA",
     "REFARRAY_LIBCUDA",
     {"libcuda.so.1", nullptr, nullptr, nullptr},
     "cuInit",
     "cuDeviceGetCount"},
    {"ROCm",
     "REFARRAY_LIBHIP",
     {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
     "hipInit",
     "hipGetDeviceCount"},
}};

void ask(void* library, const Vendor& vendor, DriverReport& report) {
  auto* init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, vendor.init));
  auto* count = reinterpret_cast<int (*)(int*)>(dlsym(library, vendor.device_count));
  if (init == nullptr || count == nullptr) {
    report.detail =
        core::text("the library has no ", init == nullptr ? vendor.init : vendor.device_count);
    return;
  }
  report.found = true;
  if (const int status = init(0); status != 0) {
    report.detail = core::text(vendor.init, " returned ", status);
    return;
  }
  int devices = 0;
  if (const int status = count(&devices); status != 0) {
    report.detail = core::text(vendor.device_count, " returned ", status);
    return;
  }
  report.devices = devices;
  if (devices == 0) report.detail = "the driver counts no device";
}

DriverReport probe(const Vendor& vendor) {
  DriverReport report{vendor.name, vendor.libraries[0], false, -1, {}};
  const char* chosen = std::getenv(vendor.override_variable);
  const auto candidates = chosen == nullptr
                              ? vendor.libraries
                              : std::array<const char*, 4>{chosen, nullptr, nullptr, nullptr};
  for (const char* file : candidates) {
    if (file == nullptr) continue;
    report.library = file;
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      if (report.detail.empty()) report.detail = why == nullptr ? "dlopen failed" : why;
      continue;
    }
    report.detail.clear();
    ask(library, vendor, report);
    // Left open: a driver that has been initialised does not expect to be unloaded.
    return report;
  }
  return report;
}

}  // namespace

std::vector<DriverReport> probe_drivers() {
  std::vector<DriverReport> reports;
  for (const Vendor& vendor : kVendors) reports.push_back(probe(vendor));
  return reports;
}

}  // namespace refarray::runtime
