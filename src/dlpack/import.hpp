// DLPack import without Python: the one validator of incoming tensors, and the storage that owns a
// foreign tensor (steps 7 and 8).
#pragma once

#include <cstdint>
#include <string>

#include "core/array.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::dlpack {

/// The members of a managed tensor outside its DLTensor. Both are 0 for a legacy struct.
struct TensorContext {
  std::uint64_t flags = 0;
  std::uint32_t minor = 0;  // of the version that the producer wrote the struct for
};

/// The device of imported host memory: its own label, or the CPU because the consumer asked for
/// that.
enum class HostLabel { kAsLabelled, kCpu };

/// The result of a validation. to_array() fills in the array's storage, validate() does not.
struct Imported {
  core::Array array;
  core::Device device;  // ids of host memory are 0
  bool copied = false;  // IS_COPIED
};

/// "(2, 0) = kDLCUDA", for messages. Accepts any number.
std::string device_text(DLDevice device);

/// The one validator: `__dlpack__`, the exchange API, buffers and array interfaces all end here.
/// Reads every field once and no element; the arithmetic is checked. For memory that is not the
/// CPU's it loads the driver and asks it about the pointer. Throws kBuffer naming the field, the
/// value and the limit. Clauses: TENS-01, 04..10, 14, DTYPE-01..14, DEV-07, DEV-10, FLAG-07,
/// FLAG-08, VERS-03, VERS-11.
void validate(const DLTensor& tensor, const TensorContext& context, Imported& out,
              HostLabel label = HostLabel::kAsLabelled);

/// A new array like the allocator's prototype (CAPI-20), of which only dtype, device, ndim and
/// shape are read and validated.
core::Array allocate_like(const DLTensor& prototype);

/// Refuses a foreign major version before reading anything else (VERS-02), then validates.
template <class M>
void check_tensor(const M& tensor, Imported& out, HostLabel label = HostLabel::kAsLabelled);

/// A storage that owns a validated tensor. Takes the tensor only on success: when this throws
/// (std::bad_alloc) the caller still owns it.
template <class M>
core::StoragePtr make_storage(Managed<M>& tensor, const Imported& checked);

/// Step 7: check_tensor() and make_storage(). Takes the tensor: its deleter runs exactly once,
/// during this call when it throws, else with the last array over the tensor (step 8).
template <class M>
void to_array(Managed<M> tensor, Imported& out, HostLabel label = HostLabel::kAsLabelled);

}  // namespace refarray::dlpack
