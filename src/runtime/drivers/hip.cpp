// Loads libamdhip64 and fills the DriverTable, with adapters for functions whose signatures differ
// from the table's.
#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <vector>

#include "runtime/drivers/hip_abi.hpp"
#include "runtime/drivers/load.hpp"

namespace refarray::runtime {
namespace {

// Written once, by load_hip.
hip::Calls calls;
int runtime_major = 0;

struct Symbol {
  const char* name;
  const char* other;  // its name in other versions of HIP
  bool required;
  void** slot;
};

auto symbols() {
  return std::to_array<Symbol>({
      {"hipInit", nullptr, true, slot(calls.init)},
      {"hipRuntimeGetVersion", nullptr, true, slot(calls.runtime_version)},
      {"hipGetErrorName", nullptr, true, slot(calls.error_name)},
      {"hipGetErrorString", nullptr, true, slot(calls.error_text)},
      {"hipGetDeviceCount", nullptr, true, slot(calls.device_count)},
      {"hipGetDevice", nullptr, true, slot(calls.get_device)},
      {"hipSetDevice", nullptr, true, slot(calls.set_device)},
      {"hipDeviceTotalMem", nullptr, true, slot(calls.device_memory)},
      {"hipDeviceSynchronize", nullptr, true, slot(calls.device_synchronize)},
      {"hipMalloc", nullptr, true, slot(calls.allocate)},
      {"hipFree", nullptr, true, slot(calls.free)},
      {"hipHostMalloc", "hipHostAlloc", true, slot(calls.allocate_host)},
      {"hipHostFree", "hipFreeHost", true, slot(calls.free_host)},
      {"hipMemcpyAsync", nullptr, true, slot(calls.copy)},
      {"hipMemcpy2DAsync", nullptr, true, slot(calls.copy_2d)},
      {"hipMemcpyPeerAsync", nullptr, true, slot(calls.copy_peer)},
      {"hipMemsetAsync", nullptr, true, slot(calls.set_bytes)},
      {"hipStreamCreateWithFlags", nullptr, true, slot(calls.stream_create)},
      {"hipStreamDestroy", nullptr, true, slot(calls.stream_destroy)},
      {"hipStreamSynchronize", nullptr, true, slot(calls.stream_synchronize)},
      {"hipStreamQuery", nullptr, true, slot(calls.stream_query)},
      {"hipStreamWaitEvent", nullptr, true, slot(calls.stream_wait)},
      {"hipStreamGetDevice", nullptr, false, slot(calls.stream_device)},
      {"hipStreamIsCapturing", nullptr, true, slot(calls.stream_is_capturing)},
      {"hipStreamGetCaptureInfo", nullptr, true, slot(calls.stream_capture)},
      {"hipThreadExchangeStreamCaptureMode", nullptr, true, slot(calls.exchange_capture_mode)},
      {"hipEventCreateWithFlags", nullptr, true, slot(calls.event_create)},
      {"hipEventDestroy", nullptr, true, slot(calls.event_destroy)},
      {"hipEventRecord", nullptr, true, slot(calls.event_record)},
      {"hipEventQuery", nullptr, true, slot(calls.event_query)},
      {"hipEventSynchronize", nullptr, true, slot(calls.event_synchronize)},
      {"hipEventElapsedTime", nullptr, true, slot(calls.event_elapsed)},
      {"hipPointerGetAttributes", nullptr, true, slot(calls.pointer_attributes)},
      {"hipModuleLoadData", nullptr, true, slot(calls.module_load)},
      {"hipModuleGetFunction", nullptr, true, slot(calls.module_function)},
      {"hipModuleLaunchKernel", nullptr, true, slot(calls.launch)},
  });
}

/// Of memory and events that other processes can use.
auto shareable_symbols() {
  return std::to_array<Symbol>({
      {"hipDeviceCanAccessPeer", nullptr, false, slot(calls.can_access_peer)},
      {"hipDeviceGetUuid", nullptr, false, slot(calls.shareable.device_uuid)},
      {"hipMemGetAllocationGranularity", nullptr, false, slot(calls.shareable.granularity)},
      {"hipMemCreate", nullptr, false, slot(calls.shareable.create)},
      {"hipMemRelease", nullptr, false, slot(calls.shareable.release)},
      {"hipMemGetAllocationPropertiesFromHandle", nullptr, false, slot(calls.shareable.properties)},
      {"hipMemExportToShareableHandle", nullptr, false, slot(calls.shareable.to_file)},
      {"hipMemImportFromShareableHandle", nullptr, false, slot(calls.shareable.from_file)},
      {"hipMemAddressReserve", nullptr, false, slot(calls.shareable.reserve)},
      {"hipMemAddressFree", nullptr, false, slot(calls.shareable.unreserve)},
      {"hipMemMap", nullptr, false, slot(calls.shareable.map)},
      {"hipMemUnmap", nullptr, false, slot(calls.shareable.unmap)},
      {"hipMemSetAccess", nullptr, false, slot(calls.shareable.set_access)},
      {"hipIpcGetEventHandle", nullptr, false, slot(calls.shareable.event_to_handle)},
      {"hipIpcOpenEventHandle", nullptr, false, slot(calls.shareable.event_from_handle)},
  });
}

Status error_name(Status status, const char** out) {
  *out = calls.error_name(status);
  return kSuccess;
}

Status error_text(Status status, const char** out) {
  *out = calls.error_text(status);
  return kSuccess;
}

constexpr std::intptr_t kNothingToRestore = -1;

Status enter(int device, std::intptr_t* before) {
  int current = 0;
  if (const Status status = calls.get_device(&current); status != kSuccess) return status;
  *before = current == device ? kNothingToRestore : current;
  return current == device ? kSuccess : calls.set_device(device);
}

Status leave(std::intptr_t before) {
  if (before == kNothingToRestore) return kSuccess;
  const auto users = static_cast<int>(before);
  // hipSetDevice may report the failure of earlier work; the second call restores the device.
  const Status status = calls.set_device(users);
  return status == kSuccess ? status : calls.set_device(users);
}

Status stream_facts(Handle stream, StreamFacts* out) {
  return calls.stream_device(stream, &out->device);
}

Status set_bytes(Address to, unsigned char value, std::size_t nbytes, Handle stream) {
  return calls.set_bytes(to, value, nbytes, stream);
}

Status copy(Address to, Address from, std::size_t nbytes, Direction direction, Handle stream) {
  return calls.copy(to, from, nbytes, static_cast<int>(direction), stream);
}

Status copy_rows(Address to, std::size_t to_pitch, Address from, std::size_t from_pitch,
                 std::size_t width, std::size_t height, Direction direction, Handle stream) {
  return calls.copy_2d(to, to_pitch, from, from_pitch, width, height, static_cast<int>(direction),
                       stream);
}

/// HIP 6 renumbered the memory types. Before HIP 7 an unknown address is kInvalidValue.
Status pointer_facts(Address address, PointerFacts* out) {
  hip::HipPointer facts;
  const Status status = calls.pointer_attributes(&facts, reinterpret_cast<const void*>(address));
  if (status == kInvalidValue) return kSuccess;
  if (status != kSuccess) return status;
  using Memory = PointerFacts::Memory;
  const bool before6 = runtime_major < 6;
  if (facts.is_managed != 0 || (!before6 && facts.type == hip::kManagedFrom6)) {
    out->memory = Memory::kManaged;
  } else if (facts.type == (before6 ? hip::kDeviceBefore6 : hip::kDeviceFrom6)) {
    out->memory = Memory::kDevice;
  } else if (facts.type == (before6 ? hip::kHostBefore6 : hip::kHostFrom6)) {
    out->memory = Memory::kHost;
  }
  if (out->memory != Memory::kUnknown) out->device = facts.device;
  return kSuccess;
}

/// No pools: hipMallocAsync is unreliable up to HIP 7.11; hipMalloc works everywhere.
Status traits(DeviceTraits* out, int device) { return calls.device_memory(&out->memory, device); }

/// Before HIP 7.1 the descriptor's address is passed, not its number as on CUDA.
constexpr int kFirstByNumber = 70100000;
int runtime_version = 0;
Status import_file(AllocationHandle* out, int file) {
  void* const number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(file));
  return calls.shareable.from_file(out, runtime_version < kFirstByNumber ? &file : number,
                                   kFileHandle);
}

/// Before, HIP on Linux exports no memory, and until 5.2 AllocationProperties differed.
constexpr int kFirstShareable = 60200000;

DriverTable table() {
  DriverTable api = common_table(calls);
  api.error_name = error_name;
  api.error_text = error_text;
  api.traits = traits;
  api.enter = enter;
  api.leave = leave;
  api.device_synchronize = calls.device_synchronize;
  api.allocate_host = allocate_pinned<calls, hip::kHostPortable>;
  api.free_host = free_pinned<calls>;
  api.set_bytes = set_bytes;
  api.copy = copy;
  api.copy_rows = copy_rows;
  api.copy_peer = calls.copy_peer;
  api.pointer_facts = pointer_facts;
  if (calls.stream_device != nullptr) api.stream_facts = stream_facts;
  api.stream_capture = stream_capture<calls>;
  return api;
}

// Events of HIP 7.0 to 7.2, whose hipEventQuery and hipEventSynchronize fail while any thread
// captures globally, even in a thread in relaxed mode, and invalidate that capture
// (ROCm/rocm-systems#3176).

constexpr int kFirstDefective = 70000000;
constexpr int kFirstRepaired = 70300000;
/// Streams per device that wait for queried events. If more events are asked for while unfinished,
/// an event may count as unfinished until another one has finished too.
constexpr std::ptrdiff_t kMostQueried = 8;

/// A stream of ours that waits for events of its device.
struct Waiter {
  Handle stream = nullptr;
  int device = 0;
  Handle event = nullptr;  // the event whose latest record the stream is known to wait for
  bool busy = false;       // the stream may still wait
};

class Waiters {
 public:
  /// A loop that asks for one event until it is done uses one stream, whatever it asks for between.
  Status query(Handle event) {
    const std::lock_guard guard(lock_);
    const auto asked =
        std::ranges::find_if(all_, [&](const Waiter& one) { return one.event == event; });
    if (asked != all_.end()) return ask(*asked);
    Waiter waiter;
    if (const Status status = take(waiter, /*blocks=*/false); status != kSuccess) return status;
    Status status = calls.stream_wait(waiter.stream, event, 0);
    if (status == kSuccess) {
      waiter.event = event;
      waiter.busy = true;
      status = ask(waiter);
    }
    all_.push_back(waiter);  // take() has reserved the space
    return status;
  }

  /// Blocks without the lock.
  Status synchronize(Handle event) {
    Waiter waiter;
    {
      const std::lock_guard guard(lock_);
      if (const Status status = take(waiter, /*blocks=*/true); status != kSuccess) return status;
    }
    Status status = calls.stream_wait(waiter.stream, event, 0);
    if (status == kSuccess) status = calls.stream_synchronize(waiter.stream);
    waiter.busy = status != kSuccess;
    // A stream that was asked for the event before may arrive later than this one.
    if (status == kSuccess) forget(event);
    const std::lock_guard guard(lock_);
    all_.push_back(waiter);
    return status;
  }

  /// The event is done, recorded again or destroyed: streams that wait for it wait for the past.
  void forget(Handle event) noexcept {
    const std::lock_guard guard(lock_);
    for (Waiter& one : all_) {
      if (one.event == event) one.event = nullptr;
    }
  }

 private:
  /// Whether the stream has arrived. Any status but kNotReady ends its wait.
  static Status ask(Waiter& waiter) {
    const Status status = calls.stream_query(waiter.stream);
    waiter.busy = status == kNotReady;
    if (!waiter.busy) waiter.event = nullptr;
    return status;
  }

  /// An idle stream of the current device, removed from the list, or a new one. The list keeps
  /// space for it. If many wait and the caller does not block, the one that waits for the longest
  /// time: idle ones are left to callers that block. The lock is held.
  Status take(Waiter& out, bool blocks) {
    if (const Status status = calls.get_device(&out.device); status != kSuccess) return status;
    const auto is_idle = [&](Waiter& one) {
      return one.device == out.device && one.event == nullptr &&
             (!one.busy || ask(one) == kSuccess);
    };
    const auto waits = [&](Waiter& one) { return one.device == out.device && !is_idle(one); };
    const bool many_wait = !blocks && std::ranges::count_if(all_, waits) >= kMostQueried;
    const auto found =
        many_wait ? std::ranges::find_if(all_, waits) : std::ranges::find_if(all_, is_idle);
    if (found != all_.end()) {
      out = *found;
      all_.erase(found);
      return kSuccess;
    }
    all_.reserve(++taken_);
    return calls.stream_create(&out.stream, kStreamNonBlocking);
  }

  std::mutex lock_;
  std::vector<Waiter> all_;
  std::size_t taken_ = 0;  // streams created so far, in the list or not
};

Waiters& waiters() {
  static auto& all = *new Waiters;  // outlives every thread
  return all;
}

Status event_query(Handle event) {
  try {  // boundary: the table's entries return statuses
    return waiters().query(event);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

Status event_synchronize(Handle event) {
  try {  // boundary: the table's entries return statuses
    return waiters().synchronize(event);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

Status event_record(Handle event, Handle stream) {
  waiters().forget(event);
  return calls.event_record(event, stream);
}

Status event_destroy(Handle event) {
  waiters().forget(event);
  return calls.event_destroy(event);
}

/// Whether the version of the runtime, from hipRuntimeGetVersion, has the defect. HIP 7.2.1 repairs
/// it, but patch releases cannot be told apart by that number.
bool has_event_defect(int version) noexcept {
  return version >= kFirstDefective && version < kFirstRepaired;
}

/// Replaces the entries for events: a stream of ours waits for the event, and is queried or
/// synchronized instead, which relaxed mode allows.
void wait_for_events_by_streams(DriverTable& api) noexcept {
  api.event_query = event_query;
  api.event_synchronize = event_synchronize;
  api.event_record = event_record;
  api.event_destroy = event_destroy;
}

bool resolve(void* library, LoadedDriver& out) {
  const auto fill = [&](const Symbol& symbol) {
    void* found = symbol_of(library, symbol.name);
    if (found == nullptr && symbol.other != nullptr) found = symbol_of(library, symbol.other);
    *symbol.slot = found;
    if (found != nullptr || !symbol.required) return true;
    out.why = core::text("the library has no ", symbol.name);
    return false;
  };
  return std::ranges::all_of(symbols(), fill) && std::ranges::all_of(shareable_symbols(), fill);
}

/// Without a device, versions of HIP differ in the status they return.
const char* advice(Status status) noexcept {
  return status == kNoDevice || status == hip::kInvalidDevice ? " (no device)" : "";
}

}  // namespace

LoadedDriver load_hip() {
  const Library library = open_hip_library();
  LoadedDriver out = loaded_from(library);
  if (library.handle == nullptr) return out;
  out.found = resolve(library.handle, out);
  if (!out.found) return out;
  if (const Status status = calls.init(0); status != kSuccess) {
    out.why = core::text("hipInit returned ", status, advice(status));
    return out;
  }
  out.api = table();
  count_devices(out, calls.runtime_version, calls.device_count, "hipGetDeviceCount", advice);
  runtime_version = out.version;
  if (out.version >= kFirstShareable) Shareable<calls, import_file>::fill(out.api);
  runtime_major = out.version / hip::kVersionUnit;
  if (has_event_defect(out.version)) wait_for_events_by_streams(out.api);
  return out;
}

}  // namespace refarray::runtime
