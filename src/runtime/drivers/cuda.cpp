// Owns the CUDA half of the driver table: versioned symbols of libcuda.so.1 by cuGetProcAddress,
// and the few calls whose form is not the neutral one.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <mutex>

#include "core/error.hpp"
#include "runtime/drivers/cuda_abi.hpp"
#include "runtime/drivers/load.hpp"

namespace refarray::runtime {
namespace {

cuda::Calls calls;  // written by load_cuda, once

constexpr int kMostDevices = 64;

/// The primary contexts, which cudart, PyTorch, CuPy and JAX use too. Retained at first use and
/// never released: whoever resets a device takes ours away as well.
struct Contexts {
  std::mutex lock;
  std::array<std::atomic<void*>, kMostDevices> handles{};
};
Contexts& contexts() {
  static auto& all = *new Contexts;  // outlives every thread
  return all;
}

Status context_of(int device, void** out) {
  Contexts& all = contexts();
  if (device < 0 || device >= kMostDevices) return kInvalidValue;
  auto& kept = all.handles[static_cast<std::size_t>(device)];
  *out = kept.load(std::memory_order_acquire);
  if (*out != nullptr) return kSuccess;
  const std::lock_guard guard(all.lock);
  *out = kept.load(std::memory_order_acquire);
  if (*out != nullptr) return kSuccess;
  int number = 0;
  if (const Status status = calls.device_get(&number, device); status != kSuccess) return status;
  const Status status = calls.context_retain(out, number);
  if (status == kSuccess) kept.store(*out, std::memory_order_release);
  return status;
}

Status enter(int device, std::intptr_t* before) {
  *before = 0;  // the driver keeps a stack of contexts itself
  void* context = nullptr;
  if (const Status status = context_of(device, &context); status != kSuccess) return status;
  return calls.context_push(context);
}

Status leave(std::intptr_t) {
  void* ours = nullptr;
  return calls.context_pop(&ours);
}

Status device_name(char* out, int size, int device) {
  int number = 0;
  const Status status = calls.device_get(&number, device);
  return status != kSuccess ? status : calls.device_name(out, size, number);
}

Status has_pools(int* out, int device) {
  *out = 0;
  if (calls.pool_create == nullptr || calls.allocate_from_pool == nullptr ||
      calls.free_async == nullptr || calls.pool_set == nullptr) {
    return kSuccess;
  }
  int number = 0;
  const Status status = calls.device_get(&number, device);
  return status != kSuccess ? status : calls.device_attribute(out, cuda::kPoolsSupported, number);
}

/// A pool of our own: the default one belongs to the user, and gives memory back at every
/// synchronisation.
Status pool_create(Handle* out, int device) {
  cuda::PoolProperties properties;
  properties.location_id = device;
  if (const Status status = calls.pool_create(out, &properties); status != kSuccess) return status;
  std::uint64_t keep_all = UINT64_MAX;
  return calls.pool_set(*out, cuda::kReleaseThreshold, &keep_all);
}

Status allocate_host(Address* out, std::size_t nbytes) {
  void* address = nullptr;
  const Status status = calls.allocate_host(&address, nbytes, cuda::kHostPortable);
  *out = reinterpret_cast<Address>(address);
  return status;
}

Status free_host(Address address) { return calls.free_host(reinterpret_cast<void*>(address)); }

Status allocate_managed(Address* out, std::size_t nbytes) {
  return calls.allocate_managed(out, nbytes, cuda::kManagedGlobal);
}

Status copy(Address to, Address from, std::size_t nbytes, Direction way, Handle stream) {
  switch (way) {
    case Direction::kHostToDevice:
      return calls.copy_to_device(to, reinterpret_cast<const void*>(from), nbytes, stream);
    case Direction::kDeviceToHost:
      return calls.copy_to_host(reinterpret_cast<void*>(to), from, nbytes, stream);
    case Direction::kDeviceToDevice:
      return calls.copy_on_device(to, from, nbytes, stream);
    case Direction::kAny:
      break;
  }
  return calls.copy(to, from, nbytes, stream);
}

Status copy_rows(Address to, std::size_t to_pitch, Address from, std::size_t from_pitch,
                 std::size_t width, std::size_t height, Direction way, Handle stream) {
  const auto type_of = [](bool host) { return host ? cuda::kMemoryHost : cuda::kMemoryDevice; };
  cuda::Copy2D rows;
  rows.from_type = type_of(way == Direction::kHostToDevice);
  rows.from_host = reinterpret_cast<const void*>(from);
  rows.from_device = from;
  rows.from_pitch = from_pitch;
  rows.to_type = type_of(way == Direction::kDeviceToHost);
  rows.to_host = reinterpret_cast<void*>(to);
  rows.to_device = to;
  rows.to_pitch = to_pitch;
  rows.width = width;
  rows.height = height;
  if (way == Direction::kAny) rows.from_type = rows.to_type = cuda::kUnifiedMemory;
  return calls.copy_2d(&rows, stream);
}

Status copy_peer(Address to, int to_device, Address from, int from_device, std::size_t nbytes,
                 Handle stream) {
  void* to_context = nullptr;
  void* from_context = nullptr;
  Status status = context_of(to_device, &to_context);
  if (status == kSuccess) status = context_of(from_device, &from_context);
  if (status != kSuccess) return status;
  return calls.copy_peer(to, to_context, from, from_context, nbytes, stream);
}

/// The plural form: it succeeds for memory that CUDA does not know, with type 0.
Status pointer_facts(Address address, PointerFacts* out) {
  unsigned type = 0;
  unsigned managed = 0;
  int device = -1;
  int wanted[] = {cuda::kPointerMemoryType, cuda::kPointerIsManaged, cuda::kPointerDevice};
  void* into[] = {&type, &managed, &device};
  const Status status = calls.pointer_attributes(3, wanted, into, address);
  if (status == kInvalidValue) return kSuccess;  // older drivers: not CUDA's
  if (status != kSuccess) return status;
  using Memory = PointerFacts::Memory;
  if (managed != 0) {
    out->memory = Memory::kManaged;
  } else if (type == unsigned{cuda::kMemoryHost}) {
    out->memory = Memory::kHost;
  } else if (type == unsigned{cuda::kMemoryDevice}) {
    out->memory = Memory::kDevice;
  }
  if (type != 0) out->device = device;
  return kSuccess;
}

Status stream_device(Handle stream, int* out) {
  if (calls.stream_device != nullptr) return calls.stream_device(stream, out);
  void* context = nullptr;
  Status status = calls.stream_context(stream, &context);
  if (status == kSuccess) status = calls.context_push(context);
  if (status != kSuccess) return status;
  status = calls.context_device(out);
  void* same = nullptr;
  const Status popped = calls.context_pop(&same);
  return status == kSuccess ? popped : status;
}

Status record_all(int device, Handle event) {
  void* context = nullptr;
  const Status status = context_of(device, &context);
  return status == kSuccess ? calls.record_context(context, event) : status;
}

void fill_memory(Api& api) {
  api.allocate = calls.allocate;
  api.free = calls.free;
  if (calls.pool_create != nullptr) {
    api.pool_create = pool_create;
    api.pool_trim = calls.pool_trim;
    api.allocate_async = calls.allocate_from_pool;
    api.free_async = calls.free_async;
  }
  api.allocate_host = allocate_host;
  api.free_host = free_host;
  api.allocate_managed = allocate_managed;
  api.set_bytes = calls.set_bytes;
  api.copy = copy;
  api.copy_rows = copy_rows;
  api.copy_peer = copy_peer;
  api.pointer_facts = pointer_facts;
}

Api table() {
  Api api;
  api.error_name = calls.error_name;
  api.error_text = calls.error_text;
  api.device_name = device_name;
  api.has_pools = has_pools;
  api.enter = enter;
  api.leave = leave;
  api.device_synchronize = calls.context_synchronize;
  fill_memory(api);
  api.stream_create = calls.stream_create;
  api.stream_destroy = calls.stream_destroy;
  api.stream_synchronize = calls.stream_synchronize;
  api.stream_query = calls.stream_query;
  api.stream_wait = calls.stream_wait;
  api.stream_device = stream_device;
  api.stream_capture = calls.stream_capture;
  api.exchange_capture_mode = calls.exchange_capture_mode;
  api.event_create = calls.event_create;
  api.event_destroy = calls.event_destroy;
  api.event_record = calls.event_record;
  api.event_query = calls.event_query;
  api.event_synchronize = calls.event_synchronize;
  api.event_elapsed = calls.event_elapsed;
  if (calls.record_context != nullptr) api.record_all = record_all;
  api.module_load = calls.module_load;
  api.module_function = calls.module_function;
  api.launch = calls.launch;
  return api;
}

/// What of cuInit's answers a person can do something about.
const char* advice(Status status) noexcept {
  switch (status) {
    case 3:
      return " (the driver is not initialised: was this process forked after its parent had used "
             "it?)";
    case 34:
      return " (this is the CUDA Toolkit's stub library, which stands in for the driver at link "
             "time)";
    case 35:
      return " (the driver is older than its library)";
    case 100:
      return " (no device)";
    case 803:
      return " (the driver and its library are of different versions)";
    case 999:
      return " (unknown error: is the kernel module loaded?)";
    default:
      return "";
  }
}

}  // namespace

Loaded load_cuda() {
  Loaded out;
  const Library library = open_cuda_library();
  out.library = library.file;
  out.why = library.why;
  out.retriable = library.handle == nullptr;
  if (library.handle == nullptr) return out;
  // Before anything else is asked: a stub has every name, answers each call with 34 and writes no
  // result, the result of cuGetProcAddress included.
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library.handle, "cuInit"));
  if (init == nullptr) {
    out.why = "the library has no cuInit";
    return out;
  }
  out.found = true;
  if (const Status status = init(0); status != kSuccess) {
    out.why = core::text("cuInit returned ", status, advice(status));
    return out;
  }
  out.found = cuda::resolve(library.handle, calls, out.why);
  if (!out.found) return out;
  out.api = table();
  Status status = calls.driver_version(&out.version);
  int devices = 0;
  if (status == kSuccess) status = calls.device_count(&devices);
  if (status != kSuccess) {
    out.why = core::text("cuDeviceGetCount returned ", status, advice(status));
    return out;
  }
  out.devices = devices;
  if (devices == 0) out.why = "the driver counts no device";
  return out;
}

}  // namespace refarray::runtime
