// Copies of array elements on any device, and access to elements from the CPU.
#pragma once

#include <utility>

#include "core/array.hpp"
#include "runtime/streams/order.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::extension {

// The functions below that are marked noinline must stay out of line: the whole copy engine inlined
// into several callers made the linker use 8 GB of memory.

/// core::copy for arrays on any device. The caller keeps both arrays alive.
///
/// Host memory: a copy of kReleaseGilAbove bytes or more releases the GIL and runs pending signal
/// handlers several times in 100 ms. If one raises, the copy stops, dst is partly written, and
/// ErrorSet is thrown. Device memory: the copy releases the GIL and is ordered after all unfinished
/// work on both arrays and on the current stream.
///
/// Ledgers count it as a copy, or as a transfer if the devices differ.
[[gnu::noinline]] void copy_elements(const core::ArrayView& dst, const core::ArrayView& src);
/// copy_elements() as a step of a computation, or of a copy that was counted: ledgers count
/// transfers only.
[[gnu::noinline]] void move_elements(const core::ArrayView& dst, const core::ArrayView& src);

/// A new, writable, row-major array on `device` with the elements converted to `dtype`, made by
/// copy_elements. Throws kBuffer if this build cannot allocate on `device`.
[[gnu::noinline]] core::Array copy_to_new(const core::ArrayView& array, const core::DType& dtype,
                                          const core::Device& device = {});

/// copy_to_new() with move_elements().
[[gnu::noinline]] core::Array working_copy(const core::ArrayView& array, const core::DType& dtype,
                                           const core::Device& device = {});

/// As copy_to_new with the array's own dtype, ordered on `stream`.
[[gnu::noinline]] core::Array copy_to_new_on(const core::ArrayView& array,
                                             const core::Device& device,
                                             const runtime::StreamPtr& stream);

/// RAII: a new array until its elements have arrived. If that fails, its memory is freed without
/// the GIL: freeing a device's memory may wait for a thread that needs it.
class Unfinished {
 public:
  explicit Unfinished(core::Array made) noexcept : array_(std::move(made)) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished();
  const core::Array& array() const noexcept { return array_; }
  core::Array finish() noexcept { return std::move(array_); }

 private:
  core::Array array_;
};

/// The device of a copy when the caller names none: the array's own device, but the CPU for pinned
/// memory, which is scarce and must be requested explicitly.
inline core::Device default_copy_device(const core::Device& device) noexcept {
  return device.is_host() ? core::Device{} : device;
}

/// runtime::new_array; releases the GIL where a driver allocates.
[[gnu::noinline]] core::Array allocate_on(const core::Device& device, const core::DType& dtype,
                                          core::Extents shape, bool zeroed);

/// Requires memory that the CPU can address, and waits for device work on it: for pending writes,
/// and if the CPU `writes` for pending reads as well. Throws kBuffer for device memory; `operation`
/// names the failed operation in the message ("tolist()").
void require_host(const core::ArrayView& array, const char* operation, bool writes = true);

/// require_host() for functions that have no kernels for devices yet: throws ErrorSet with
/// NotImplementedError for memory that the CPU cannot address.
void require_computable_memory(const core::ArrayView& array, const char* function,
                               bool writes = false);

/// require_host() before an address is given to others. They may pass pinned memory on to a device,
/// and it is freed after all devices' work.
runtime::Lent lend_to_host(const core::ArrayView& array, const char* operation, bool writes);

/// The elements in memory that the CPU can read. Host memory: the array itself, after pending
/// writes. Device memory: a copy, ordered after all unfinished work on the array and owned by
/// `owner`. Throws kBuffer naming `operation` while a graph is being captured, kMemory,
/// DriverError.
core::ArrayView to_readable(const core::ArrayView& array, const char* operation,
                            core::Array& owner);

}  // namespace refarray::extension
