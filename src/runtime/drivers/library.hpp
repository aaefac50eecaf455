// Owns finding a vendor's driver library: which files are tried, in which order, and what is said
// when none can be opened.
#pragma once

#include <string>

namespace refarray::runtime {

/// An opened library, never closed: a driver that was initialised does not expect to be unloaded.
struct Library {
  void* handle = nullptr;
  std::string file;  // what was opened, or what was tried last
  std::string why;   // the loader's words when nothing could be opened
};

/// What REFARRAY_LIBCUDA (vendor 0) or REFARRAY_LIBHIP (1) names now; empty: nothing.
std::string chosen_library(int vendor);

/// The file that REFARRAY_LIBCUDA names, else libcuda.so.1. Never libcuda.so: that name is the
/// toolkit's stub, whose functions fail without writing their results.
Library open_cuda_library();

/// The file that REFARRAY_LIBHIP names, else a copy that is mapped already (streams and pointers
/// belong to one loaded HIP: a second copy would know none of PyTorch's), else what the wheels
/// beside us brought, else the highest version that the loader finds.
Library open_hip_library();

/// Grows whenever a library is loaded into the process: after a failure, asking again before that
/// is useless.
unsigned long long loaded_libraries() noexcept;

}  // namespace refarray::runtime
