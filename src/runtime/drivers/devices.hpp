// Which devices this process can use, and making them ready.
#pragma once

#include "refarray/core/device.hpp"

namespace refarray::runtime {

class DeviceContext;

/// Loads the device's driver and initialises the device, which may take seconds: do not hold the
/// GIL. Failures are ignored; the next operation that needs the device reports them.
void open(const core::Device& device) noexcept;
/// Whether open() would have nothing to do.
bool is_open(const core::Device& device) noexcept;

/// Whether this process can allocate on `device`. Loads its driver.
bool can_allocate(const core::Device& device) noexcept;
/// Throws kBuffer naming the device and the reason if arrays cannot be on it. Loads its driver.
void require(const core::Device& device);

/// The context of a GPU, pinned or managed device. Loads its driver. Throws kBuffer naming the
/// device and the reason.
DeviceContext& context_of(const core::Device& device);

/// A device of the driver on which an address can be looked up: `preferred`, unless only others
/// have been initialised. The driver answers for addresses of all devices, and initialising one for
/// the question alone would take seconds and hundreds of MB.
DeviceContext& context_for_lookup(DeviceContext& preferred) noexcept;
/// open() before an import of memory that the driver has yet to find the device of.
void open_for_lookup(const core::Device& labelled) noexcept;

}  // namespace refarray::runtime
