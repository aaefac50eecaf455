// Owns what a device can do for us: allocate, order work on streams, and say why it cannot be used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "refarray/core/array.hpp"

namespace refarray::runtime {

/// Whether this process can allocate on `device`.
bool can_allocate(const core::Device& device) noexcept;

/// A new row-major array on `device`. Throws kBuffer naming the device and the reason when it
/// cannot be used.
core::Array new_array(const core::DType& dtype, core::Extents shape, const core::Device& device,
                      bool zeroed);

/// Step 3: makes everything that was done to the memory so far happen before what the consumer does
/// on `stream`. Host memory has no streams: only None is legal there, -1 included (STRM-14, A-15).
/// Throws kValue naming the stream.
void order(const core::Device& device, const std::optional<std::int64_t>& stream);

/// One vendor driver, as a person asking "why is there no GPU?" wants to read it.
struct DriverReport {
  std::string name;     // "CUDA", "ROCm"
  std::string library;  // the file name that was tried last, or that was opened
  bool found;           // the library could be opened and has the entry points we look for
  int devices;          // what the driver counts; -1 when it could not be asked
  std::string detail;  // why not, in the loader's or the driver's own words; empty when all is well
};

/// Asks each vendor's driver, opening its library (it stays open). Nothing is opened before this.
std::vector<DriverReport> probe_drivers();

}  // namespace refarray::runtime
