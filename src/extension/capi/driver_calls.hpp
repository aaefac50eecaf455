// Driver calls from Python: the GIL is released around them, and an exit hook waits for work on
// imported device memory.
#pragma once

#include "extension/capi/gil.hpp"
#include "refarray/core/device.hpp"
#include "refarray/dlpack/wire.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

/// RAII: releases the GIL around driver calls that may block. Producers' deleters may run in this
/// scope: they do not see the pending exception, and an exception that they leave set is reported
/// as unraisable. Pass `release` false during finalization, when no other thread can run.
class DriverCalls {
 public:
  explicit DriverCalls(bool release = true) noexcept : gil_(release) {}

 private:
  const ErrorGuard pending_;
  const GilRelease gil_;
  const runtime::MayWait here_;
};

[[gnu::cold, gnu::noinline]] void open_without_gil(const core::Device& device) noexcept;

/// Loads the device's driver and initializes the device, without the GIL: the first time may take
/// seconds. Errors are reported later, by the operation that uses the device.
inline void open_device(const core::Device& device) noexcept {
  if (!runtime::is_open(device)) open_without_gil(device);
}

/// runtime::stream_of() without the GIL.
[[gnu::noinline]] runtime::StreamPtr stream_without_gil(const core::Device& device,
                                                        const runtime::StreamChoice& choice);

/// The same for a DLDevice. Does nothing for unsupported device types.
void open_device(DLDevice device) noexcept;

/// Opens the device and registers the exit hook: the deleters of imported device memory wait for
/// our pending work, and must run before the interpreter ends. Leaves no exception set.
[[gnu::cold, gnu::noinline]] void prepare_for(DLDevice device) noexcept;

/// The same for an import whose device the driver finds by the address; `labelled` is a guess.
void prepare_for_lookup(const core::Device& labelled) noexcept;

/// Call this before validating a tensor. Does nothing for an unknown major version.
template <class M>
void prepare_import(const M& tensor) noexcept {
  if (!dlpack::Wire<M>::is_known_major(tensor)) return;
  // The type alone: a load of the whole device stalls behind the two stores of a producer.
  if (tensor.dl_tensor.device.device_type != kDLCPU) [[unlikely]]
    prepare_for(tensor.dl_tensor.device);
}

}  // namespace refarray::extension
