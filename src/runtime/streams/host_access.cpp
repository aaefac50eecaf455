// The host's use of memory that devices use too: what it waits for, and what it must not wait for.
#include "runtime/streams/host_access.hpp"

#include "core/ledger.hpp"
#include "runtime/device_context.hpp"
#include "runtime/memory/tracked_storage.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {

using core::DeviceKind;

namespace {

/// Calls `visit` for each device that must be idle while the host uses the array: with managed
/// memory, those that cannot share it with the host.
template <class Visit>
void for_each_exclusive_device(const core::ArrayView& array, Visit visit) {
  if (array.device().kind != DeviceKind::kCudaManaged) return;
  const Driver* driver = loaded_driver(Vendor::kCuda);
  if (driver == nullptr) return;
  for (const auto& context : driver->contexts) {
    if (!context->traits.concurrent_managed) visit(*context);
  }
}

void check_exclusive_devices(const core::ArrayView& array) {
  for_each_exclusive_device(array, [](DeviceContext& context) {
    if (!context.is_in_use()) return;
    const DeviceGuard on_device(context);
    refuse_capture_on(context, "use of managed memory by the host");
  });
}

void wait_for_exclusive_devices(const core::ArrayView& array) {
  for_each_exclusive_device(array, [](DeviceContext& context) {
    if (!context.is_in_use()) return;
    const DeviceGuard on_device(context);
    refuse_capture_on(context, "use of managed memory by the host");
    context.check(context.api().device_synchronize(), "waiting for a device");
  });
}

}  // namespace

bool is_busy(const core::ArrayView& array) {
  TrackedStorage* storage = tracked(array.storage);
  bool is_exclusive = false;
  for_each_exclusive_device(array, [&](const DeviceContext&) { is_exclusive = true; });
  return storage != nullptr && (is_exclusive || !storage->pending.is_empty());
}

void wait_on_host(const core::ArrayView& array, bool writes) {
  TrackedStorage* storage = tracked(array.storage);
  if (storage == nullptr) return;
  if (core::is_any_ledger_open() && is_busy(array)) core::note(core::Entry::kSynchronization, 0);
  storage->pending.wait_on_host(writes);
  wait_for_exclusive_devices(array);
}

void check_host_access(const core::ArrayView& array, bool writes) {
  TrackedStorage* storage = tracked(array.storage);
  if (storage == nullptr) return;
  storage->pending.check_can_wait_on_host(writes);
  check_exclusive_devices(array);
}

}  // namespace refarray::runtime
