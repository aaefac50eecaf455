// Tests of the device kernel images that are embedded in the runtime layer.
#include "runtime/kernels/images.hpp"

#include <cstdint>
#include <string_view>

#include "check.hpp"
#include "runtime/kernels/names.hpp"

namespace {

using namespace refarray;
using check::Case;
using check::check;

#if defined(__linux__) || defined(_WIN32)
std::string_view text_of(std::span<const std::byte> image) {
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

const Case ptx("the PTX is NUL-terminated and contains every kernel", [] {
  const std::string_view image = text_of(runtime::kernels::ptx_image());
  check(image.size() > 1 && image.find('\0') == image.size() - 1);
  check(image.find(".version 6.0") != image.npos);
  for (const char* name : runtime::kernels::kKernelNames)
    check(image.find(std::string(".entry ") + name + "(") != image.npos, name);
});

const Case amd("the AMD code objects are a page-aligned offload bundle", [] {
  const auto image = runtime::kernels::amd_image();
  check(text_of(image).starts_with("__CLANG_OFFLOAD_BUNDLE__") && image.size() >= 4096);
  check(reinterpret_cast<std::uintptr_t>(image.data()) % 4096 == 0, "aligned");
});
#endif

}  // namespace
