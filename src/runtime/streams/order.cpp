// Stream ordering: what the host waits for. Of exchanges: resolves stream=, makes consumers wait
// for pending work, and records when imported data is ready.
#include "runtime/streams/order.hpp"

#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "runtime/copy/device_copy.hpp"
#include "runtime/copy/operation.hpp"
#include "runtime/device_context.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

using core::Device;
using core::DeviceKind;
using Given = GivenStream::Kind;
using Choice = StreamChoice::Kind;

std::string text_of(const GivenStream& given) {
  if (given.kind == Given::kObject) {
    return core::text("an object whose __cuda_stream__ is ", given.value);
  }
  return core::text(given.negative ? "-" : "", given.value);
}

/// Whether only devices access the memory. For it stream=None means the legacy default stream; for
/// other memory, that the host waits.
bool is_device_memory(DeviceKind kind) noexcept {
  return kind == DeviceKind::kCuda || kind == DeviceKind::kRocm;
}

std::uint64_t checked_number(const Device& device, const GivenStream& given) {
  const bool cuda = vendor_of(device.kind) == Vendor::kCuda;
  if (given.negative) {
    core::fail(core::Fault::kValue, "stream is ", text_of(given), "; the minimum is -1");
  }
  // An object with __cuda_stream__ may mean 0, the legacy default stream.
  if (cuda && given.value == 0 && given.kind == Given::kNumber) {
    core::fail(
        core::Fault::kValue,
        "stream is 0, which is ambiguous on CUDA: pass 1 for the legacy default stream, 2 for "
        "the per-thread default stream");
  }
  if (!cuda && (given.value == 1 || given.value == 2)) {
    core::fail(core::Fault::kValue, "stream is ", text_of(given),
               "; on ROCm 0 is the default stream, and 1 and 2 are not defined");
  }
  return given.value;
}

/// Whether only the driver knows the device of a stream.
bool needs_driver_for_device(const DeviceContext& context, const StreamKey& key) noexcept {
  const Driver& driver = context.driver;
  return driver.contexts.size() > 1 && !key.is_default() && driver.api.stream_facts != nullptr;
}

StreamKey key_of(const DeviceContext& context, const StreamChoice& choice) noexcept {
  return choice.object != nullptr ? StreamKey(*choice.object) : StreamKey(context, choice.handle);
}

/// Whether a free can tell without the driver when the consumer's work has finished: see
/// note_consumer().
bool is_consumer_known(const StreamKey& key, const StreamChoice& choice) noexcept {
  return key.is_default() ||
         (choice.object != nullptr && choice.object->kind() == Stream::Kind::kOwn);
}

/// Whoever gets the memory works on its device or, if all devices use it, on any of them.
void mark_exported(TrackedStorage& storage, const Driver& driver, const Device& device) noexcept {
  if (is_device_memory(device.kind))
    return storage.pending.mark_exported(driver.context(device.id));
  for (const auto& context : driver.contexts) storage.pending.mark_exported(*context);
}

/// Remembers what a free of the memory has to know of a consumer's stream: its device, a CUDA
/// context of its own, and whether it captures, which may be known of `context` already. A failed
/// query changes nothing.
void note_consumer(TrackedStorage& storage, DeviceContext& context, Handle stream,
                   bool is_capture_known) {
  StreamFacts facts{context.id};
  query_stream(context, stream, facts);
  DeviceContext& theirs = context.driver.context(facts.device);
  storage.pending.mark_exported(theirs);
  const TryDeviceGuard on_device(theirs);
  if (!on_device) return;
  if (!is_capture_known || &theirs != &context) theirs.note_capture_of(stream);
  if (facts.other_context != nullptr)
    storage.pending.mark_exported_to_other_context(theirs, facts.other_context);
}

}  // namespace

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

StreamChoice choose_stream(const Device& device, const GivenStream& given) {
  if (device.kind == DeviceKind::kCpu) {
    if (given.kind == Given::kNone) return {};
    core::fail(core::Fault::kValue, "stream is ", text_of(given), "; arrays on ",
               core::name(device), " have no streams: only None is allowed");
  }
  const Vendor vendor = vendor_of(device.kind);
  if (given.owner && vendor_of(given.owner->kind) != vendor) {
    core::fail(core::Fault::kValue, "stream is of ", core::name(*given.owner),
               ", another vendor's device than ", core::name(device));
  }
  if (given.kind == Given::kNone) {
    if (!is_device_memory(device.kind)) return {};
    return {Choice::kStream, legacy_handle(vendor)};
  }
  if (given.negative && given.value == 1) return {Choice::kNoSync, nullptr};
  const std::uint64_t number = checked_number(device, given);
  auto* const handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  return {Choice::kStream, number == 0 ? legacy_handle(vendor) : handle, nullptr, given.owner};
}

StreamPtr stream_of(const Device& device, const StreamChoice& choice) {
  DeviceContext& context = context_of(device);
  if (choice.handle == legacy_handle(context.driver.vendor)) return legacy_stream(device);
  if (context.driver.vendor == Vendor::kCuda && choice.handle == kPerThreadHandle) {
    return per_thread_stream(device);
  }
  for (const auto& each : context.driver.contexts) {
    if (StreamPtr own = each->own_stream(choice.handle)) return own;
  }
  StreamFacts facts{context.id};
  query_stream(context, choice.handle, facts);
  return foreign_stream(context, choice.handle, facts);
}

void check_copy(const core::ArrayView& array, const Device& target, const StreamPtr& stream,
                const char* what) {
  if (array.size() == 0) return;  // neither allocates nor enqueues anything
  TrackedStorage* storage = tracked(array.storage);
  const auto check_stream_of = [&](const Device& device) {
    DeviceContext& context = context_of(device);
    const StreamPtr used = stream_on(context, stream);
    const DeviceGuard on_device(context);
    refuse_capture(context, used->handle(), what);
    if (storage != nullptr) {
      storage->pending.check_can_wait(context, StreamKey(*used), /*writes=*/false);
    }
  };
  if (target.kind != DeviceKind::kCpu) check_stream_of(target);
  if (stream != nullptr) {  // a stream of another device will wait for the copy
    const DeviceGuard on_device(stream->context());
    refuse_capture(stream->context(), stream->handle(), what);
  }
  const Device source = array.device();
  if (source.is_host()) {
    if (storage != nullptr && target.is_host()) {
      check_host_access(array, /*writes=*/false);
    }
    return;
  }
  // Copies to another device start on the source's stream when the elements are packed first.
  const bool uses_source_stream = target.is_host() ||
                                  vendor_of(source.kind) != vendor_of(target.kind) ||
                                  (source != target && !is_contiguous(array));
  if (uses_source_stream) check_stream_of(source);
}

std::optional<Lent> order_at_once(const core::ArrayView& array, const StreamChoice& choice) {
  TrackedStorage* storage = tracked(array.storage);
  if (storage == nullptr) return Lent();
  if (is_forked()) return std::nullopt;
  const Driver* driver = loaded_driver(vendor_of(array.device().kind));
  if (driver == nullptr) return Lent();  // no driver, so no work
  if (choice.kind == Choice::kHost && is_busy(array)) return std::nullopt;
  const DeviceContext& context = driver->context(array.device().id);
  if (choice.kind == Choice::kStream) {
    const StreamKey key = key_of(context, choice);
    if (!storage->pending.is_ready_on(key, array.writable())) return std::nullopt;
    if (!choice.is_joined && storage->pending.is_allocation_stream(key)) return Lent();
    const bool is_ours = storage->pending.is_sole_stream(key);
    const bool is_device_known = choice.owner || !needs_driver_for_device(context, key);
    if (!is_consumer_known(key, choice) && (!is_ours || !is_device_known)) return std::nullopt;
    if (choice.owner) storage->pending.mark_exported(driver->context(choice.owner->id));
    if (choice.object != nullptr) storage->pending.mark_exported(choice.object->context());
  }
  mark_exported(*storage, *driver, array.device());
  return Lent();
}

namespace {

/// Makes the consumer's stream wait, and remembers the stream for the free. Returns true if the
/// free comes after its work anyway, because it is the stream that the memory is freed on.
bool order_stream(TrackedStorage& storage, DeviceContext& context, const StreamChoice& choice,
                  bool writes) {
  const StreamKey key = key_of(context, choice);
  const bool is_ready = storage.pending.is_ready_on(key, writes);
  const bool frees_there = !choice.is_joined && storage.pending.is_allocation_stream(key);
  // HIP before 5.6 does not tell a stream's device.
  if (choice.owner) storage.pending.mark_exported(context.driver.context(choice.owner->id));
  if (is_ready && (frees_there || key.is_default())) return frees_there;
  const DeviceGuard on_device(context);
  bool is_capture_known = false;
  if (!is_ready) storage.pending.make_stream_wait(context, key, writes, &is_capture_known);
  if (frees_there) return true;
  if (!key.is_default()) note_consumer(storage, context, choice.handle, is_capture_known);
  return false;
}

}  // namespace

Lent order(const core::ArrayView& array, const StreamChoice& choice) {
  TrackedStorage* storage = tracked(array.storage);
  if (storage == nullptr) return {};
  if (is_forked()) require(array.device());  // throws: drivers do not survive a fork
  const Driver* driver = loaded_driver(vendor_of(array.device().kind));
  if (driver == nullptr) return {};
  DeviceContext& context = driver->context(array.device().id);
  if (choice.kind == Choice::kHost) wait_on_host(array, array.writable());
  if (choice.kind == Choice::kStream) {
    if (order_stream(*storage, context, choice, array.writable())) return {};
  }
  mark_exported(*storage, *driver, array.device());
  return {};
}

Lent lend(const core::ArrayView& array) noexcept {
  TrackedStorage* storage = tracked(array.storage);
  if (storage == nullptr) return {};
  const Driver* driver = loaded_driver(vendor_of(array.device().kind));
  if (driver != nullptr) mark_exported(*storage, *driver, array.device());
  return {};
}

std::int64_t stream_to_pass(const Device& device) {
  DeviceContext& context = context_of(device);
  const StreamPtr stream = current_stream_of(context);
  const DeviceGuard on_device(context);
  const Capture capture = capture_of(*stream);
  if (capture.active && capture.id == 0) {
    core::fail(core::Fault::kBuffer,
               "the current stream cannot be used while a graph is captured: work in it would "
               "invalidate the capture; select the capturing stream with use_stream(), or "
               "import before the capture begins");
  }
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(stream->give_handle()));
}

namespace {

/// The imported data is ready once the work now in `stream` has finished.
void add_import(TrackedStorage& into, const StreamPtr& stream) {
  Capture capture;
  if (stream->kind() != Stream::Kind::kLegacy) {  // which cannot be captured
    std::optional<DeviceGuard> on_device;         // for the per-thread default stream
    if (StreamKey(*stream).is_default()) on_device.emplace(stream->context());
    capture = capture_of(*stream);
  }
  into.pending.add(unrecorded_use(stream, /*writes=*/true, capture), /*waited_for=*/0);
}

}  // namespace

void adopt(core::Storage& storage) {
  TrackedStorage* into = tracked(&storage);
  if (into == nullptr || storage.data() == nullptr) return;
  // Our own array came back: its pending work is more precise.
  if (!into->pending.is_empty()) return;
  add_import(*into, current_stream_of(context_of(storage.device())));
}

void adopt_from(core::Storage& storage, void* handle) {
  TrackedStorage* into = tracked(&storage);
  if (into == nullptr || storage.data() == nullptr || !into->pending.is_empty()) return;
  DeviceContext& context = context_of(storage.device());
  // An exchange table may return either handle for the default stream. HIP must not be passed 1
  // (hipStreamLegacy), which released versions dereference.
  if (handle == nullptr || handle == kLegacyHandle) handle = legacy_handle(context.driver.vendor);
  const StreamKey key(context, handle);
  const StreamPtr current = current_stream_of(context);
  if (key == StreamKey(context, current->handle())) return adopt(storage);
  add_import(*into, stream_of(device_of(context), {Choice::kStream, handle}));
}

}  // namespace refarray::runtime
