// Kernel images: what a driver reads in PTX text and in AMD code objects before it loads them.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "control/codes.hpp"

namespace fakegpu {

/// What an image says of a kernel; 0: nothing.
struct KernelFacts {
  unsigned max_threads = 0;         // .maxntid
  std::size_t parameter_bytes = 0;  // of all parameters
};

struct Image {
  std::map<std::string, KernelFacts> kernels{};
  const char* wrong = nullptr;  // why no device of this vendor can load it
};

/// Reads an image as the vendor's driver does. Returns the status of loading it.
int read_image(Vendor vendor, int cuda_version, const void* bytes, Image& out);

}  // namespace fakegpu
