// Reads the entry points of PTX text, and the kernels of AMD code objects and bundles of them.
#include "machine/images.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace fakegpu {
namespace {

constexpr unsigned kTarget = 90;             // compute capability of the simulated CUDA devices
constexpr std::string_view kGfx = "gfx90a";  // the simulated HIP devices
constexpr std::uint64_t kMaxEntries = 64;    // of a bundle
constexpr std::string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kElf =
    "\x7f"
    "ELF";

/// The latest PTX version of a driver, times ten.
unsigned ptx_version(int cuda_version) {
  const auto major = static_cast<unsigned>(cuda_version / 1000);
  const auto minor = static_cast<unsigned>(cuda_version % 1000 / 10);
  if (major < 12) return 70 + minor;
  return major == 12 ? 80 + (minor < 6 ? minor : minor - 1) : 90 + minor;
}

/// The number that follows the word, `.` left out: 60 of ".version 6.0"; 0 if there is none.
unsigned number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  unsigned value = 0;
  if (at == std::string_view::npos) return value;
  text.remove_prefix(at + word.size());
  for (const char c : text) {
    if (c >= '0' && c <= '9')
      value = value * 10 + static_cast<unsigned>(c - '0');
    else if (c != '.' && c != ' ')
      break;
  }
  return value;
}

bool is_ptx(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start != std::string_view::npos && line.substr(start, 2) != "//")
      return line.substr(start).starts_with(".version ");
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  }
  return false;
}

std::string_view up_to(std::string_view text, char end) { return text.substr(0, text.find(end)); }

void read_entries(std::string_view text, Image& out) {
  constexpr std::string_view kEntry = ".entry ";
  for (std::size_t at = text.find(kEntry); at != std::string_view::npos; at = text.find(kEntry)) {
    text.remove_prefix(at + kEntry.size());
    const std::string_view head = up_to(text, '{');
    KernelFacts& facts = out.kernels[std::string(up_to(head, '('))];
    facts.max_threads = number_after(head, ".maxntid ");
    facts.parameter_bytes = number_after(head, "_param_0[");
  }
}

int read_ptx(std::string_view text, int cuda_version, Image& out) {
  if (!is_ptx(text)) {
    out.wrong = "neither PTX nor another image for NVIDIA devices";
    return kInvalidImage;
  }
  if (number_after(text, ".version ") > ptx_version(cuda_version)) return kUnsupportedPtxVersion;
  if (number_after(text, ".target sm_") > kTarget) return kNoBinaryForGpu;
  read_entries(text, out);
  return kSuccess;
}

std::uint64_t number_at(const char* bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// A kernel has a descriptor, the symbol "NAME.kd".
void read_descriptors(std::string_view code, Image& out) {
  constexpr std::string_view kSuffix{".kd\0", 4};
  for (std::size_t end = code.find(kSuffix); end != std::string_view::npos;
       end = code.find(kSuffix, end + 1)) {
    const std::size_t begin = code.rfind('\0', end) + 1;
    out.kernels[std::string(code.substr(begin, end - begin))] = {};
  }
}

int read_bundle(const char* bytes, Image& out) {
  const std::uint64_t entries = number_at(bytes + kBundle.size());
  const char* at = bytes + kBundle.size() + 8;
  if (entries > kMaxEntries) return kInvalidImage;
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::string_view id(at + 24, number_at(at + 16));
    if (id.starts_with("hip") && id.ends_with(kGfx)) {
      read_descriptors({bytes + number_at(at), number_at(at + 8)}, out);
      return kSuccess;
    }
    at += 24 + id.size();
  }
  return kNoBinaryForGpu;
}

}  // namespace

int read_image(Vendor vendor, int cuda_version, const void* bytes, Image& out) {
  const char* text = static_cast<const char*>(bytes);
  if (vendor == Vendor::kCuda) return read_ptx(text, cuda_version, out);
  if (std::strncmp(text, kBundle.data(), kBundle.size()) == 0) return read_bundle(text, out);
  if (std::strncmp(text, kElf.data(), kElf.size()) == 0) return kNoBinaryForGpu;
  out.wrong = "no code object for AMD devices";
  return kInvalidImage;
}

}  // namespace fakegpu
