// Loads libcuda and fills the DriverTable, with adapters for functions whose signatures differ from
// the table's.
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "runtime/drivers/cuda_abi.hpp"
#include "runtime/drivers/load.hpp"

namespace refarray::runtime {
namespace {

cuda::Calls calls;  // written once, by load_cuda

constexpr int kMaxDevices = 64;

/// The devices' primary contexts, which cudart, PyTorch, CuPy and JAX use too. Retained at first
/// use and never released. Resetting a device (cudaDeviceReset) destroys its context for us as
/// well, and the next user makes it anew, with the same handle and another id (from CUDA 12.0 on).
struct PrimaryContexts {
  std::mutex lock;
  std::array<std::atomic<void*>, kMaxDevices> handles{};
  std::array<unsigned long long, kMaxDevices> ids{};  // each set before its handle
};
PrimaryContexts& primary_contexts() {
  static auto& all = *new PrimaryContexts;  // outlives every thread
  return all;
}

Status primary_context(int device, void** out) {
  PrimaryContexts& all = primary_contexts();
  if (device < 0 || device >= kMaxDevices) return kInvalidValue;
  auto& kept = all.handles[static_cast<std::size_t>(device)];
  *out = kept.load(std::memory_order_acquire);
  if (*out != nullptr) return kSuccess;
  const std::lock_guard guard(all.lock);
  *out = kept.load(std::memory_order_acquire);
  if (*out != nullptr) return kSuccess;
  int number = 0;
  if (const Status status = calls.device_get(&number, device); status != kSuccess) return status;
  Status status = calls.context_retain(out, number);
  if (status == kSuccess && calls.context_id != nullptr)
    status = calls.context_id(*out, &all.ids[static_cast<std::size_t>(device)]);
  if (status == kSuccess) kept.store(*out, std::memory_order_release);
  return status;
}

/// Whether the device's primary context, `context`, is as it was at first use: kDestroyedContext
/// after a reset, when drivers crash on our streams and events of before. nullptr asks whether it
/// is the current context, and as it was.
Status check_not_reset(int device, void* context) {
  unsigned long long id = 0;
  const Status status = calls.context_id(context, &id);
  if (status != kSuccess) return status;
  const bool same = id == primary_contexts().ids[static_cast<std::size_t>(device)];
  return same ? kSuccess : kDestroyedContext;
}

Status is_active(int device, int* out) {
  int number = 0;
  if (const Status status = calls.device_get(&number, device); status != kSuccess) return status;
  unsigned flags = 0;
  return calls.context_state(number, &flags, out);
}

/// Whether the device's primary context is current, and as it was at first use: one call of the
/// driver instead of three. Without a current context cuCtxGetId fails, which tools that watch the
/// driver's calls report, so cuCtxGetCurrent is asked first.
bool is_current(int device, void* context) noexcept {
  static thread_local bool has_current = false;  // when last seen
  if (!has_current || calls.context_id == nullptr) {
    void* current = nullptr;
    if (calls.context_current(&current) != kSuccess || current == nullptr) return false;
    if (calls.context_id == nullptr) return current == context;
  }
  const Status status = check_not_reset(device, nullptr);
  has_current = status != kInvalidContext;
  return status == kSuccess;
}

/// `before`: whether leave() has to pop the context.
Status enter(int device, std::intptr_t* before) {
  *before = 0;
  void* context = nullptr;
  if (const Status status = primary_context(device, &context); status != kSuccess) return status;
  if (is_current(device, context)) return kSuccess;
  Status status = calls.context_id == nullptr ? kSuccess : check_not_reset(device, context);
  if (status == kSuccess) status = calls.context_push(context);
  *before = status == kSuccess;
  return status;
}

Status leave(std::intptr_t before) {
  void* ours = nullptr;
  return before == 0 ? kSuccess : calls.context_pop(&ours);
}

/// Chooses the allocator: "pool" (or empty), or "plain" for cuMemAlloc, whose memory other
/// processes can open by cudaIpcGetMemHandle, as CUDA-aware MPI does.
constexpr const char* kAllocatorVariable = "REFARRAY_CUDA_ALLOCATOR";
constexpr std::string_view kPlainAllocator = "plain";
std::string_view chosen_allocator() noexcept {
  const char* chosen = std::getenv(kAllocatorVariable);
  return chosen == nullptr ? "" : chosen;
}

Status traits(DeviceTraits* out, int device) {
  int number = 0;
  int pools = 0;
  int concurrent = 0;
  Status status = calls.device_get(&number, device);
  if (status == kSuccess)
    status = calls.device_attribute(&concurrent, cuda::kConcurrentManaged, number);
  const bool callable = calls.pool_create != nullptr && calls.allocate_from_pool != nullptr &&
                        calls.free_async != nullptr && calls.pool_set != nullptr &&
                        calls.pool_access != nullptr && calls.pool_trim != nullptr;
  if (status == kSuccess && callable && chosen_allocator() != kPlainAllocator)
    status = calls.device_attribute(&pools, cuda::kPoolsSupported, number);
  if (status == kSuccess) status = calls.device_memory(&out->memory, number);
  out->has_pools = pools != 0;
  out->concurrent_managed = concurrent != 0;
  return status;
}

/// Lets the kernels of the other devices use the pool's memory, as that of cuMemAlloc with peer
/// access enabled. Where it fails they cannot use it; copies between devices work.
void grant_peers(Handle pool, int device) {
  int count = 0;
  if (calls.device_count(&count) != kSuccess) return;
  for (int peer = 0; peer < count; ++peer) {
    int can = 0;
    if (peer == device || calls.can_access_peer(&can, peer, device) != kSuccess || can == 0)
      continue;
    MemoryAccess access;
    access.location_id = peer;
    calls.pool_access(pool, &access, 1);
  }
}

/// A pool of our own, because the device's default pool belongs to the user. Unlimited release
/// threshold: by default a pool returns its free memory to the system at every synchronisation.
Status pool_create(Handle* out, int device) {
  cuda::PoolProperties properties;
  properties.location_id = device;
  if (const Status status = calls.pool_create(out, &properties); status != kSuccess) return status;
  grant_peers(*out, device);
  std::uint64_t keep_all = UINT64_MAX;
  return calls.pool_set(*out, cuda::kReleaseThreshold, &keep_all);
}

Status allocate_managed(Address* out, std::size_t nbytes) {
  return calls.allocate_managed(out, nbytes, cuda::kManagedGlobal);
}

Status copy(Address to, Address from, std::size_t nbytes, Direction direction, Handle stream) {
  switch (direction) {
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
                 std::size_t width, std::size_t height, Direction direction, Handle stream) {
  const auto type_of = [](bool host) { return host ? cuda::kMemoryHost : cuda::kMemoryDevice; };
  cuda::Copy2D rows;
  rows.from_type = type_of(direction == Direction::kHostToDevice);
  rows.from_host = reinterpret_cast<const void*>(from);
  rows.from_device = from;
  rows.from_pitch = from_pitch;
  rows.to_type = type_of(direction == Direction::kDeviceToHost);
  rows.to_host = reinterpret_cast<void*>(to);
  rows.to_device = to;
  rows.to_pitch = to_pitch;
  rows.width = width;
  rows.height = height;
  if (direction == Direction::kAny) rows.from_type = rows.to_type = cuda::kUnifiedMemory;
  return calls.copy_2d(&rows, stream);
}

Status copy_peer(Address to, int to_device, Address from, int from_device, std::size_t nbytes,
                 Handle stream) {
  void* to_context = nullptr;
  void* from_context = nullptr;
  Status status = primary_context(to_device, &to_context);
  if (status == kSuccess) status = primary_context(from_device, &from_context);
  if (status != kSuccess) return status;
  return calls.copy_peer(to, to_context, from, from_context, nbytes, stream);
}

/// cuPointerGetAttributes, unlike cuPointerGetAttribute, succeeds with type 0 for memory that CUDA
/// does not know.
Status pointer_facts(Address address, PointerFacts* out) {
  unsigned type = 0;
  unsigned managed = 0;
  int device = -1;
  int wanted[] = {cuda::kPointerMemoryType, cuda::kPointerIsManaged, cuda::kPointerDevice};
  void* into[] = {&type, &managed, &device};
  const Status status = calls.pointer_attributes(3, wanted, into, address);
  if (status == kInvalidValue) return kSuccess;  // older drivers: unknown memory
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

/// The stream's context; the primary one for a green context, which is part of it and can be
/// current to one thread at a time, so that we must not make it current. nullptr: the driver (12.4)
/// knows green contexts, but not the primary one of a stream's.
Status context_of_stream(Handle stream, void** out) {
  void* green = nullptr;
  if (calls.stream_contexts != nullptr) return calls.stream_contexts(stream, out, &green);
  *out = nullptr;
  if (calls.stream_green != nullptr && calls.stream_green(stream, &green) == kSuccess &&
      green != nullptr)
    return kSuccess;
  return calls.stream_context(stream, out);
}

Status device_of_stream(Handle stream, void* context, int* out) {
  if (calls.stream_device != nullptr) return calls.stream_device(stream, out);
  Status status = calls.context_push(context);
  if (status != kSuccess) return status;
  status = calls.context_device(out);
  void* same = nullptr;
  const Status popped = calls.context_pop(&same);
  return status == kSuccess ? popped : status;
}

Status stream_facts(Handle stream, StreamFacts* out) {
  void* theirs = nullptr;
  if (const Status status = context_of_stream(stream, &theirs);
      status != kSuccess || theirs == nullptr)
    return status;
  const auto& handles = primary_contexts().handles;
  for (std::size_t device = 0; device < handles.size(); ++device) {
    if (handles[device].load(std::memory_order_acquire) != theirs) continue;
    out->device = static_cast<int>(device);
    return kSuccess;
  }
  int device = 0;  // whose primary context we have not used, or of another context
  void* primary = nullptr;
  Status status = device_of_stream(stream, theirs, &device);
  if (status == kSuccess) status = primary_context(device, &primary);
  if (status == kSuccess) *out = {device, theirs == primary ? nullptr : theirs};
  return status;
}

Status wait_for_context(Handle stream, Handle context) {
  unsigned long long id = 0;
  if (calls.context_id != nullptr && calls.context_id(context, &id) == kDestroyedContext)
    return kSuccess;  // its work has ended with it
  Status status = calls.context_push(context);
  if (status != kSuccess) return status;
  void* event = nullptr;
  if (calls.record_context == nullptr) {
    status = calls.context_synchronize();
  } else {
    status = calls.event_create(&event, kEventDisableTiming);
    if (status == kSuccess) status = calls.record_context(context, event);
  }
  void* same = nullptr;
  calls.context_pop(&same);
  if (event == nullptr) return status;
  if (status == kSuccess) status = calls.stream_wait(stream, event, 0);
  calls.event_destroy(event);  // the wait stays
  return status;
}

Status record_all(int device, Handle event) {
  void* context = nullptr;
  const Status status = primary_context(device, &context);
  return status == kSuccess ? calls.record_context(context, event) : status;
}

void fill_memory(DriverTable& api) {
  if (calls.pool_create != nullptr) {
    api.pool_create = pool_create;
    api.pool_trim = calls.pool_trim;
    api.allocate_async = calls.allocate_from_pool;
    api.free_async = calls.free_async;
  }
  api.allocate_host = allocate_pinned<calls, cuda::kHostPortable>;
  api.free_host = free_pinned<calls>;
  api.allocate_managed = allocate_managed;
  api.set_bytes = calls.set_bytes;
  api.copy = copy;
  api.copy_rows = copy_rows;
  api.copy_peer = copy_peer;
  api.pointer_facts = pointer_facts;
}

Status import_file(AllocationHandle* out, int file) {
  void* const number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(file));
  return calls.shareable.from_file(out, number, kFileHandle);
}

DriverTable table() {
  DriverTable api = common_table(calls);
  Shareable<calls, import_file>::fill(api);
  api.error_name = calls.error_name;
  api.error_text = calls.error_text;
  api.traits = traits;
  api.is_active = is_active;
  api.enter = enter;
  api.leave = leave;
  api.device_synchronize = calls.context_synchronize;
  fill_memory(api);
  api.stream_facts = stream_facts;
  api.stream_capture = stream_capture<calls>;
  api.wait_for_context = wait_for_context;
  if (calls.record_context != nullptr) api.record_all = record_all;
  return api;
}

/// A hint for the statuses of cuInit that the user can act on.
const char* advice(Status status) noexcept {
  switch (status) {
    case cuda::kNotInitialized:
      return " (the driver is not initialised: was this process forked after its parent had used "
             "it?)";
    case cuda::kStubLibrary:
      return " (this is the CUDA Toolkit's stub library, which stands in for the driver at link "
             "time)";
    case cuda::kInsufficientDriver:
      return " (the driver is older than its library)";
    case kNoDevice:
      return " (no device)";
    case cuda::kSystemDriverMismatch:
      return " (the driver and its library are of different versions)";
    case cuda::kUnknownError:
      return " (unknown error: is the kernel module loaded?)";
    default:
      return "";
  }
}

}  // namespace

LoadedDriver load_cuda() {
  const Library library = open_cuda_library();
  LoadedDriver out = loaded_from(library);
  if (library.handle == nullptr) return out;
  // cuInit comes first. The toolkit's stub library exports every function, and each returns
  // kStubLibrary without writing its results; so does cuGetProcAddress.
  const auto init = reinterpret_cast<int (*)(unsigned)>(symbol_of(library.handle, "cuInit"));
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
  if (const auto chosen = chosen_allocator();
      !chosen.empty() && chosen != "pool" && chosen != kPlainAllocator) {
    out.why = core::text(kAllocatorVariable, " is '", chosen, "'; it must be pool or plain");
    return out;
  }
  out.api = table();
  count_devices(out, calls.driver_version, calls.device_count, "cuDeviceGetCount", advice);
  return out;
}

}  // namespace refarray::runtime
