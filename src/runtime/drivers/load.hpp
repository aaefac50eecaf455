// Loading a vendor's driver: a filled DriverTable, or the reason why there is none.
#pragma once

#include <string>

#include "runtime/drivers/driver_table.hpp"
#include "runtime/drivers/library.hpp"

namespace refarray::runtime {

struct LoadedDriver {
  DriverTable api;
  std::string library;     // the file that was opened, or the last one tried
  std::string why;         // why the driver cannot be used; empty if it can
  bool found = false;      // the library was opened and has every function we need
  int version = 0;         // 12020 is CUDA 12.2; 50221153 is HIP 5.2.21153
  int devices = -1;        // -1: could not be queried
  bool retriable = false;  // no library was found; a package imported later may bring one
};

/// Opens the library, resolves its functions, initialises it and counts its devices. Not to be
/// called again after success. Not thread-safe.
LoadedDriver load_cuda();
LoadedDriver load_hip();

}  // namespace refarray::runtime
