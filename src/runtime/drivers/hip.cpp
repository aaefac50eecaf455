// Owns the HIP half of the driver table: the functions of libamdhip64, and the few calls whose form
// is not the neutral one.
#include <dlfcn.h>

#include <array>

#include "core/error.hpp"
#include "runtime/drivers/hip_abi.hpp"
#include "runtime/drivers/load.hpp"

namespace refarray::runtime {
namespace {

hip::Calls calls;       // written by load_hip, once
int runtime_major = 0;  // likewise

struct Symbol {
  const char* name;
  const char* other;  // the same function under the name of other versions
  bool required;
  void** slot;
};

template <class F>
void** slot(F*& function) noexcept {
  return reinterpret_cast<void**>(&function);
}

auto symbols() {
  return std::to_array<Symbol>({
      {"hipInit", nullptr, true, slot(calls.init)},
      {"hipRuntimeGetVersion", nullptr, true, slot(calls.runtime_version)},
      {"hipGetErrorName", nullptr, true, slot(calls.error_name)},
      {"hipGetErrorString", nullptr, true, slot(calls.error_text)},
      {"hipGetDeviceCount", nullptr, true, slot(calls.device_count)},
      {"hipDeviceGetName", nullptr, true, slot(calls.device_name)},
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
  // A call may fail for earlier work: the user's device is put back all the same.
  const Status status = calls.set_device(users);
  return status == kSuccess ? status : calls.set_device(users);
}

Status allocate_host(Address* out, std::size_t nbytes) {
  void* address = nullptr;
  const Status status = calls.allocate_host(&address, nbytes, hip::kHostPortable);
  *out = reinterpret_cast<Address>(address);
  return status;
}

Status free_host(Address address) { return calls.free_host(reinterpret_cast<void*>(address)); }

Status set_bytes(Address to, unsigned char value, std::size_t nbytes, Handle stream) {
  return calls.set_bytes(to, value, nbytes, stream);
}

Status copy(Address to, Address from, std::size_t nbytes, Direction way, Handle stream) {
  return calls.copy(to, from, nbytes, static_cast<int>(way), stream);
}

Status copy_rows(Address to, std::size_t to_pitch, Address from, std::size_t from_pitch,
                 std::size_t width, std::size_t height, Direction way, Handle stream) {
  return calls.copy_2d(to, to_pitch, from, from_pitch, width, height, static_cast<int>(way),
                       stream);
}

/// Memory types were renumbered in HIP 6, and before HIP 7 an address that HIP does not know was an
/// error.
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

/// Without hipStreamGetDevice a stream's device cannot be asked.
Status stream_device(Handle stream, int* out) { return calls.stream_device(stream, out); }

Status has_pools(int* out, int) {
  *out = 0;  // hipMallocAsync was unreliable up to HIP 7.11; hipMalloc is what works everywhere
  return kSuccess;
}

Api table() {
  Api api;
  api.error_name = error_name;
  api.error_text = error_text;
  api.device_name = calls.device_name;
  api.has_pools = has_pools;
  api.enter = enter;
  api.leave = leave;
  api.device_synchronize = calls.device_synchronize;
  api.allocate = calls.allocate;
  api.free = calls.free;
  api.allocate_host = allocate_host;
  api.free_host = free_host;
  api.set_bytes = set_bytes;
  api.copy = copy;
  api.copy_rows = copy_rows;
  api.copy_peer = calls.copy_peer;
  api.pointer_facts = pointer_facts;
  api.stream_create = calls.stream_create;
  api.stream_destroy = calls.stream_destroy;
  api.stream_synchronize = calls.stream_synchronize;
  api.stream_query = calls.stream_query;
  api.stream_wait = calls.stream_wait;
  if (calls.stream_device != nullptr) api.stream_device = stream_device;
  api.stream_capture = calls.stream_capture;
  api.exchange_capture_mode = calls.exchange_capture_mode;
  api.event_create = calls.event_create;
  api.event_destroy = calls.event_destroy;
  api.event_record = calls.event_record;
  api.event_query = calls.event_query;
  api.event_synchronize = calls.event_synchronize;
  api.event_elapsed = calls.event_elapsed;
  api.module_load = calls.module_load;
  api.module_function = calls.module_function;
  api.launch = calls.launch;
  return api;
}

bool resolve(void* library, Loaded& out) {
  for (const Symbol& symbol : symbols()) {
    void* found = dlsym(library, symbol.name);
    if (found == nullptr && symbol.other != nullptr) found = dlsym(library, symbol.other);
    if (found == nullptr && symbol.required) {
      out.why = core::text("the library has no ", symbol.name);
      return false;
    }
    *symbol.slot = found;
  }
  return true;
}

}  // namespace

Loaded load_hip() {
  Loaded out;
  const Library library = open_hip_library();
  out.library = library.file;
  out.why = library.why;
  out.retriable = library.handle == nullptr;
  if (library.handle == nullptr) return out;
  out.found = resolve(library.handle, out);
  if (!out.found) return out;
  // 100 is "no device" and 101 "invalid device": without one, versions differ in what they say.
  if (const Status status = calls.init(0); status != kSuccess) {
    out.why = core::text("hipInit returned ", status,
                         status == 100 || status == 101 ? " (no device)" : "");
    return out;
  }
  out.api = table();
  Status status = calls.runtime_version(&out.version);
  runtime_major = out.version / hip::kVersionUnit;
  int devices = 0;
  if (status == kSuccess) status = calls.device_count(&devices);
  if (status != kSuccess) {
    out.why = core::text("hipGetDeviceCount returned ", status,
                         status == 100 || status == 101 ? " (no device)" : "");
    return out;
  }
  out.devices = devices;
  if (devices == 0) out.why = "the driver counts no device";
  return out;
}

}  // namespace refarray::runtime
