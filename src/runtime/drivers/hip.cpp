// Loads libamdhip64 and fills the DriverTable, with adapters for functions whose signatures differ
// from the table's.
#include <array>

#include "runtime/drivers/hip_abi.hpp"
#include "runtime/drivers/hip_events.hpp"
#include "runtime/drivers/load_common.hpp"

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

Status error_name(Status status, const char** out) {
  *out = calls.error_name(status);
  return kSuccess;
}

Status error_text(Status status, const char** out) {
  *out = calls.error_text(status);
  return kSuccess;
}

Status enter(int device, std::intptr_t* before) {
  int current = 0;
  if (const Status status = calls.get_device(&current); status != kSuccess) return status;
  *before = current;
  return current == device ? kSuccess : calls.set_device(device);
}

Status leave(std::intptr_t before) {
  int current = 0;
  const auto users = static_cast<int>(before);
  if (calls.get_device(&current) == kSuccess && current == users) return kSuccess;
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

Status traits(DeviceTraits* out, int) {
  *out = {};  // hipMallocAsync is unreliable up to HIP 7.11; hipMalloc works everywhere
  return kSuccess;
}

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

bool resolve(void* library, LoadedDriver& out) {
  for (const Symbol& symbol : symbols()) {
    void* found = symbol_of(library, symbol.name);
    if (found == nullptr && symbol.other != nullptr) found = symbol_of(library, symbol.other);
    if (found == nullptr && symbol.required) {
      out.why = core::text("the library has no ", symbol.name);
      return false;
    }
    *symbol.slot = found;
  }
  return true;
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
  runtime_major = out.version / hip::kVersionUnit;
  if (hip::has_event_defect(out.version)) hip::wait_for_events_by_streams(out.api, calls);
  return out;
}

}  // namespace refarray::runtime
