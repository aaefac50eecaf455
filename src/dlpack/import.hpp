// Owns the consumer's side: the one validator for every way in, and the storage that keeps a
// foreign tensor. Steps 7, 8.
#pragma once

#include <cstdint>
#include <string>

#include "core/array.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::dlpack {

/// What surrounds a DLTensor: flags, and the minor version it was written for (0 and !versioned for
/// a legacy struct).
struct TensorContext {
  std::uint64_t flags = 0;
  std::uint32_t minor = 0;
  bool versioned = false;
};

/// An array that came in, not yet with a storage, and what its producer said about it.
struct Imported {
  core::Array array;    // storage empty after validate(), filled by to_array()
  core::Device device;  // host memory of any label; ids of host memory are normalised to 0
  bool copied = false;  // IS_COPIED
  bool as_cpu =
      false;  // in: label host memory of any kind as the CPU's, because that was asked for
};

/// "(2, 0) = kDLCUDA", for messages; any number is survivable.
std::string device_text(DLDevice device);

/// The one validator: `__dlpack__`, the exchange API, buffers and the allocator's prototype all
/// pass here. Reads every field once; never reads an element. Throws kBuffer naming the field, the
/// value seen and the limit. Clauses: TENS-01, 04..10, 14, DTYPE-01..14, DEV-07, DEV-10, FLAG-07,
/// FLAG-08, VERS-03, VERS-11.
void validate(const DLTensor& tensor, const TensorContext& context, Imported& out);

/// The checks of validate() that a prototype needs (CAPI-20): dtype, device, ndim and shape;
/// nothing else is read.
core::Array allocate_like(const DLTensor& prototype);

/// Refuses a foreign major version having read nothing else (VERS-02), then validate().
template <class M>
void check_tensor(const M& tensor, Imported& out);

/// A storage that keeps a checked tensor until its last array has gone. The tensor moves in; it
/// stays where it is when this throws (std::bad_alloc).
template <class M>
core::StoragePtr keep(Managed<M>& tensor, const Imported& checked);

/// Step 7: check_tensor and keep. Takes the tensor: from here the deleter runs exactly once, at
/// once when this throws, else when the last array over it dies (step 8).
template <class M>
void to_array(Managed<M> tensor, Imported& out);

}  // namespace refarray::dlpack
