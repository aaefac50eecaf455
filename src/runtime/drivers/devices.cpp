// Looks up the context of a device, loading and initialising its driver on first use.
#include "runtime/drivers/devices.hpp"

#include <exception>
#include <string>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/drivers/driver.hpp"
#include "runtime/drivers/registry.hpp"

namespace refarray::runtime {

void open(const core::Device& device) noexcept {
  if (is_open(device)) return;
  try {  // boundary: the operation that needs the device reports the failure
    DeviceContext& context = context_of(device);
    const DeviceGuard on_device(context);  // the first one initialises the device
    context.is_ready.store(true, std::memory_order_release);
  } catch (const std::exception&) {
  }
}

bool is_open(const core::Device& device) noexcept {
  if (device.kind == core::DeviceKind::kCpu || is_forked()) return true;
  const Driver* driver = loaded_driver(vendor_of(device.kind));
  if (driver == nullptr) return false;
  if (device.id < 0 || device.id >= static_cast<int>(driver->contexts.size())) return true;
  return driver->context(device.id).is_ready.load(std::memory_order_acquire);
}

DeviceContext& context_for_lookup(DeviceContext& preferred) noexcept {
  const DriverTable& api = preferred.api();
  if (api.is_active == nullptr) return preferred;
  const auto is_active = [&api](const DeviceContext& context) {
    if (context.is_ready.load(std::memory_order_acquire)) return true;
    int active = 0;
    return api.is_active(context.id, &active) == kSuccess && active != 0;
  };
  if (is_active(preferred)) return preferred;
  for (const auto& context : preferred.driver.contexts) {
    if (is_active(*context)) return *context;
  }
  return preferred;
}

void open_for_lookup(const core::Device& labelled) noexcept {
  if (is_open(labelled)) return;
  try {  // boundary: the import reports the failure
    const DeviceContext& context = context_for_lookup(context_of(labelled));
    open({labelled.kind, context.id});
  } catch (const std::exception&) {
  }
}

bool can_allocate(const core::Device& device) noexcept {
  if (device == core::Device{}) return true;
  try {  // boundary: the caller asks yes or no
    context_of(device);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void require(const core::Device& device) {
  if (device == core::Device{}) return;
  if (device.kind == core::DeviceKind::kCpu) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device),
               " does not exist: the only CPU device is cpu");
  }
  context_of(device);
}

DeviceContext& context_of(const core::Device& device) {
  std::string why;
  Driver* driver = find_driver(vendor_of(device.kind), &why);
  if (driver == nullptr) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device), " cannot be used: ", why,
               "; run `refarray doctor` for details");
  }
  const auto count = static_cast<int>(driver->contexts.size());
  const bool numbered =
      device.kind == core::DeviceKind::kCuda || device.kind == core::DeviceKind::kRocm;
  if (device.id < 0 || device.id >= (numbered ? count : 1)) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device), " does not exist: ",
               numbered
                   ? core::text(driver->name(), " has ", count, " device", count == 1 ? "" : "s")
                   : core::text("memory of this kind has only device number 0"));
  }
  return driver->context(device.id);
}

}  // namespace refarray::runtime
