// Storage over a producer's memory: its deleter runs after our work on the memory has finished. The
// tensor's device is compared with what the driver knows of its address.
#include "runtime/memory/foreign_storage.hpp"

#include <exception>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/memory/deferred_free.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

using core::Device;
using core::DeviceKind;

class ForeignStorage final : public TrackedStorage {
 public:
  ForeignStorage(std::byte* data, core::Device device, bool writable,
                 void (*deleter)(void*) noexcept, void* owner) noexcept
      : TrackedStorage(data, device, writable, /*foreign=*/true, &destroy, &free_now),
        deleter_(deleter),
        owner_(owner) {}

 private:
  static void destroy(Storage* base) noexcept {
    auto* self = static_cast<ForeignStorage*>(base);
    if (is_forked()) return delete self;  // memory and deleter belong to the parent process
    // An import's use without an event is not our work: the producer said the data is ready.
    std::erase_if(self->pending.uses(), [](const PendingUse& use) { return use.event == nullptr; });
    std::vector<EventPtr> events;
    self->pending.cover_exports(vendor_of(self->device().kind), events);
    if (self->pending.exported_to() == 0 && self->pending.is_finished()) {
      return static_cast<void>(free_now(self));
    }
    defer_free(self, 0);
  }

  static bool free_now(TrackedStorage* base) noexcept {
    auto* self = static_cast<ForeignStorage*>(base);
    const auto deleter = self->deleter_;
    void* const owner = self->owner_;
    delete self;
    deleter(owner);  // [8] last release: the producer's deleter
    return true;
  }

  void (*deleter_)(void*) noexcept;
  void* owner_;
};

}  // namespace

core::StoragePtr new_foreign_storage(std::byte* data, const core::Device& device, bool writable,
                                     void (*deleter)(void* owner) noexcept, void* owner) {
  return core::StoragePtr::steal(new ForeignStorage(data, device, writable, deleter, owner));
}

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
