// Owns what loading a vendor's library comes to: a table of its functions, or the reason why there
// is none.
#pragma once

#include <string>

#include "runtime/drivers/driver_table.hpp"
#include "runtime/drivers/library.hpp"

namespace refarray::runtime {

struct Loaded {
  Api api;
  std::string library;
  std::string why;         // empty: it can be used
  bool found = false;      // it could be opened and has every function that we need
  int version = 0;         // 12020 is CUDA 12.2; 50221153 is HIP 5.2.21153
  int devices = -1;        // -1: it could not be asked
  bool retriable = false;  // no library was there; one may come with a package imported later
};

/// Opens the library, resolves the functions, initialises it and counts its devices. Once each per
/// process after success; after a failure they may be called again.
Loaded load_cuda();
Loaded load_hip();

}  // namespace refarray::runtime
