// Compares a tensor's device with what the driver knows of its address.
#include "runtime/memory/pointer_device.hpp"

#include "core/error.hpp"
#include "runtime/device_context.hpp"

namespace refarray::runtime {

using core::Device;
using core::DeviceKind;

namespace {

/// Rejects device memory that is labelled as pinned: the CPU would crash reading it.
void refuse_device_memory(const Device& labelled, const void* data) {
  const Driver* driver = loaded_driver(vendor_of(labelled.kind));
  if (driver == nullptr) return;
  PointerFacts facts;
  const DeviceGuard on_device(context_for_lookup(driver->context(0)));
  driver->check(driver->api.pointer_facts(reinterpret_cast<Address>(data), &facts),
                "querying an address");
  if (facts.memory != PointerFacts::Memory::kDevice) return;
  core::fail(core::Fault::kBuffer, "device: the tensor says ", core::name(labelled),
             ", but its data is on ", driver->name(), " device ", facts.device,
             ", where the CPU cannot read it");
}

}  // namespace

Device confirm(const Device& labelled, const void* data) {
  if (labelled.is_host()) {
    refuse_device_memory(labelled, data);
    return labelled;
  }
  DeviceContext& context = context_of(labelled);
  PointerFacts facts;
  const DeviceGuard on_device(context_for_lookup(context));
  context.check(context.api().pointer_facts(reinterpret_cast<Address>(data), &facts),
                "querying an address");
  using Memory = PointerFacts::Memory;
  if (facts.memory != Memory::kDevice && facts.memory != Memory::kManaged) {
    core::fail(core::Fault::kBuffer, "device: the tensor says ", core::name(labelled),
               ", but its data is not device memory known to ", context.driver.name(),
               facts.memory == Memory::kHost ? ": it is host memory" : "");
  }
  if (labelled.kind == DeviceKind::kCudaManaged) return labelled;
  const auto count = static_cast<int>(context.driver.contexts.size());
  if (facts.device < 0 || facts.device >= count) {
    core::fail(core::Fault::kBuffer, "device: the tensor's data is on device ", facts.device,
               "; this process has ", count, count == 1 ? " device" : " devices");
  }
  return {labelled.kind, facts.device};
}

}  // namespace refarray::runtime
