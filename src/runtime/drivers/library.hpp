// Finds and opens a vendor's driver library.
#pragma once

#include <string>

#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

/// An opened library. Never closed: an initialised driver cannot be unloaded.
struct Library {
  void* handle = nullptr;
  std::string file;  // the file that was opened, or the last one tried
  std::string why;   // the loader's message if nothing could be opened
};

/// The value of REFARRAY_LIBCUDA or REFARRAY_LIBHIP; empty if unset.
std::string chosen_library(Vendor vendor);

/// Opens the file in REFARRAY_LIBCUDA, else libcuda.so.1, on Windows nvcuda.dll. Never libcuda.so:
/// that is the CUDA Toolkit's stub, whose functions fail without writing their results.
Library open_cuda_library();

/// Opens the first of: the file in REFARRAY_LIBHIP; a copy that is already mapped, since a second
/// copy would not know the streams and pointers of the one PyTorch uses; a copy from AMD's or
/// PyTorch's wheel in our site-packages; the highest version that the dynamic loader finds.
Library open_hip_library();

/// A function of an opened library, or nullptr.
void* symbol_of(void* library, const char* name) noexcept;

/// A function that the process already has, or nullptr.
void* symbol_of_process(const char* name) noexcept;

/// Changes whenever a library is loaded into the process. While it is unchanged, a failed search
/// need not be repeated.
unsigned long long loaded_libraries() noexcept;

}  // namespace refarray::runtime
