// Owns what comes before a device is used from Python: its driver is loaded without the GIL, and
// the end of the interpreter will wait for what producers of device memory are owed.
#pragma once

#include <Python.h>

#include <optional>

#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "refarray/core/device.hpp"
#include "refarray/dlpack/wire.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

/// Calls of drivers that may wait: other Python threads run while it lives. Producers' deleters may
/// be called meanwhile; a pending exception is kept from them, and one that they leave behind is
/// reported and not taken for ours. `release`: false where no other thread can run any more.
class DriverCalls {
 public:
  explicit DriverCalls(bool release = true) noexcept : others_run_(release) {}

 private:
  const ErrorGuard pending_;
  const GilRelease others_run_;
  const runtime::MayWait here_;
};

[[gnu::cold, gnu::noinline]] void open_without_gil(const core::Device& device) noexcept;

/// Loading a driver and entering a device for the first time may take seconds. What fails is said
/// by whoever needs the device.
inline void open_device(const core::Device& device) noexcept {
  if (!runtime::is_open(device)) open_without_gil(device);
}

/// The device of a tensor's memory, where that memory has streams to be used on.
std::optional<core::Device> streamed(DLDevice device) noexcept;

/// The same for a device as DLPack names it; nothing for kinds of memory that are not ours.
void open_device(DLDevice device) noexcept;

/// Producers of memory that devices use may have to wait for our work on it, at last at the end of
/// this interpreter. Leaves no exception behind.
[[gnu::cold, gnu::noinline]] void prepare_for(DLDevice device) noexcept;

/// Before a tensor is validated; reads what a tensor of our major version has.
template <class M>
void prepare_import(const M& tensor) noexcept {
  if (!dlpack::Wire<M>::is_known_major(tensor)) return;
  const DLDevice device = tensor.dl_tensor.device;
  if (device.device_type != kDLCPU) [[unlikely]]
    prepare_for(device);
}

}  // namespace refarray::extension
