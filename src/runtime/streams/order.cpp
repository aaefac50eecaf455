// Owns step 3, ordering an exchange: what a consumer's stream= means, what is waited for, and what
// an import is known to come after.
#include <exception>

#include "core/error.hpp"
#include "runtime/runtime.hpp"
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

/// Memory that only the device reads: there `None` means a stream, elsewhere the host.
bool is_device_memory(DeviceKind kind) noexcept {
  return kind == DeviceKind::kCuda || kind == DeviceKind::kRocm;
}

std::uint64_t checked_number(const Device& device, const GivenStream& given) {
  const bool cuda = vendor_of(device.kind) == Vendor::kCuda;
  if (given.negative) {
    core::fail(core::Fault::kValue, "stream is ", text_of(given), "; the least is -1");
  }
  // An object says which stream it means: its 0 is not the ambiguous number.
  if (cuda && given.value == 0 && given.kind == Given::kNumber) {
    core::fail(core::Fault::kValue,
               "stream is 0, which is ambiguous with CUDA: pass 1 for the legacy default stream, 2 "
               "for the calling thread's");
  }
  if (!cuda && (given.value == 1 || given.value == 2)) {
    core::fail(core::Fault::kValue, "stream is ", text_of(given),
               "; with ROCm 0 is the default stream, and 1 and 2 mean nothing");
  }
  return given.value;
}

/// Whether only the driver can tell which device a stream is of.
bool is_asked_for_device(const DeviceContext& home, const StreamKey& key) noexcept {
  const Driver& driver = home.driver;
  return driver.units.size() > 1 && !key.is_default() && driver.api.stream_device != nullptr;
}

/// The device that a foreign stream's work is on, for the day when the memory is given back.
const DeviceContext& unit_of_stream(const DeviceContext& home, void* handle) noexcept {
  const Driver& driver = home.driver;
  if (!is_asked_for_device(home, StreamKey(home, handle))) return home;
  int id = home.id;
  const TryOnDevice here(home);
  const bool known = driver.api.stream_device(handle, &id) == kSuccess && id >= 0 &&
                     id < static_cast<int>(driver.units.size());
  return known ? driver.unit(id) : home;
}

}  // namespace

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
  if (number == 0) return {Choice::kStream, legacy_handle(vendor)};
  return {Choice::kStream, reinterpret_cast<void*>(static_cast<std::uintptr_t>(number))};
}

StreamPtr stream_of(const Device& device, const StreamChoice& choice) {
  DeviceContext& unit = unit_of(device);
  if (choice.handle == legacy_handle(unit.driver.vendor)) return legacy_stream(device);
  if (unit.driver.vendor == Vendor::kCuda && choice.handle == kPerThreadHandle) {
    return per_thread_stream(device);
  }
  return std::make_shared<Stream>(unit, Stream::Kind::kExternal, choice.handle);
}

bool order_at_once(const core::ArrayView& array, const StreamChoice& choice) {
  TrackedStorage* storage = tracked(array.storage);
  if (storage == nullptr) return true;
  if (is_forked()) return false;
  const Driver* driver = loaded_driver(vendor_of(array.device().kind));
  if (driver == nullptr) return true;  // there has been no work
  if (choice.kind == Choice::kHost) return !is_busy(array);
  const DeviceContext& unit = driver->unit(array.device().id);
  if (choice.kind == Choice::kStream) {
    const StreamKey key(unit, choice.handle);
    if (!storage->uses.is_ready_on(key, array.writable())) return false;
    if (storage->uses.is_home(key)) return true;
    if (is_asked_for_device(unit, key)) return false;
  }
  storage->uses.lend(unit);
  return true;
}

void order(const core::ArrayView& array, const StreamChoice& choice) {
  TrackedStorage* storage = tracked(array.storage);
  if (storage == nullptr) return;
  if (is_forked()) require(array.device());  // says why not
  const Driver* driver = loaded_driver(vendor_of(array.device().kind));
  if (driver == nullptr) return;
  DeviceContext& unit = driver->unit(array.device().id);
  if (choice.kind == Choice::kHost) wait_on_host(array, array.writable());
  if (choice.kind != Choice::kStream) return storage->uses.lend(unit);
  const StreamKey key(unit, choice.handle);
  if (!storage->uses.is_ready_on(key, array.writable())) {
    const OnDevice here(unit);
    storage->uses.order_before(unit, choice.handle, array.writable());
  }
  if (!storage->uses.is_home(key)) {
    storage->uses.lend(unit);
    storage->uses.lend(unit_of_stream(unit, choice.handle));
  }
}

bool is_busy(const core::ArrayView& array) {
  TrackedStorage* storage = tracked(array.storage);
  return storage != nullptr && !storage->uses.is_empty();
}

void wait_on_host(const core::ArrayView& array, bool writes) {
  if (TrackedStorage* storage = tracked(array.storage)) storage->uses.wait_on_host(writes);
}

std::int64_t stream_to_pass(const Device& device) {
  DeviceContext& unit = unit_of(device);
  const StreamPtr stream = current_stream_of(unit);
  const OnDevice here(unit);
  const Capture capture = capture_of(unit, stream->handle());
  if (capture.active && capture.id == 0) {
    core::fail(core::Fault::kBuffer,
               "the current stream cannot be used while a graph is captured: work in it would "
               "invalidate the capture; choose the stream that captures with use_stream(), or "
               "import before the capture begins");
  }
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(stream->handle()));
}

namespace {

/// What came in is ready where the stream is now.
void note_arrival(TrackedStorage& into, const StreamPtr& stream) {
  DeviceContext& unit = stream->unit();
  const OnDevice here(unit);
  into.uses.add(promise(stream, /*writes=*/true, capture_of(unit, stream->handle())));
}

}  // namespace

void adopt(core::Storage& storage) {
  TrackedStorage* into = tracked(&storage);
  if (into == nullptr || storage.data() == nullptr) return;
  if (!into->uses.is_empty()) return;  // one of our own came back: its books are better
  note_arrival(*into, current_stream_of(unit_of(storage.device())));
}

void adopt_from(core::Storage& storage, void* handle) {
  TrackedStorage* into = tracked(&storage);
  if (into == nullptr || storage.data() == nullptr || !into->uses.is_empty()) return;
  DeviceContext& unit = unit_of(storage.device());
  // A table may write the default stream either way. HIP is never passed 1 (hipStreamLegacy), which
  // released versions dereference.
  if (handle == nullptr || handle == kLegacyHandle) handle = legacy_handle(unit.driver.vendor);
  const StreamKey key(unit, handle);
  const StreamPtr current = current_stream_of(unit);
  if (key == StreamKey(unit, current->handle())) return adopt(storage);
  note_arrival(*into, stream_of(device_of(unit), {Choice::kStream, handle}));
}

namespace {

/// Pinned memory's label does not say what the CPU would find there.
void refuse_device_memory(const Device& labelled, const void* data) {
  const Driver* driver = loaded_driver(vendor_of(labelled.kind));
  if (driver == nullptr) return;
  PointerFacts facts;
  const OnDevice here(driver->unit(0));
  driver->check(driver->api.pointer_facts(reinterpret_cast<Address>(data), &facts),
                "asking about an address");
  if (facts.memory != PointerFacts::Memory::kDevice) return;
  core::fail(core::Fault::kBuffer, "device: the tensor says ", core::name(labelled),
             ", but its data is on device ", facts.device, " of ", driver->name(),
             ", where the CPU cannot read it");
}

}  // namespace

Device confirm(const Device& labelled, const void* data) {
  if (labelled.is_host()) {
    refuse_device_memory(labelled, data);
    return labelled;
  }
  DeviceContext& unit = unit_of(labelled);
  PointerFacts facts;
  const OnDevice here(unit);
  unit.check(unit.api().pointer_facts(reinterpret_cast<Address>(data), &facts),
             "asking about an address");
  using Memory = PointerFacts::Memory;
  if (facts.memory != Memory::kDevice && facts.memory != Memory::kManaged) {
    core::fail(core::Fault::kBuffer, "device: the tensor says ", core::name(labelled),
               ", but its data is no device memory that ", unit.driver.name(), " knows",
               facts.memory == Memory::kHost ? ": it is in host memory" : "");
  }
  if (labelled.kind == DeviceKind::kCudaManaged) return labelled;
  const auto count = static_cast<int>(unit.driver.units.size());
  if (facts.device < 0 || facts.device >= count) {
    core::fail(core::Fault::kBuffer, "device: the tensor's data is on device ", facts.device,
               "; this process sees ", count);
  }
  return {labelled.kind, facts.device};
}

}  // namespace refarray::runtime
