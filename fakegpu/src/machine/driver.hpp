// The driver functions in vendor-neutral form; cuda_*.cpp and hip_*.cpp are thin wrappers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "control/call.hpp"
#include "control/checker.hpp"

namespace fakegpu {

using Handle = std::uint64_t;

inline Handle number(const void* pointer) { return reinterpret_cast<Handle>(pointer); }

// Contexts, and objects by handle. Each function notes what it found in the trace.
Context* current_context(Call& call);
/// kContextIsDestroyed if the current one has been destroyed or reset.
int find_current(Call& call, Context*& context);
int find_stream(Call& call, Handle handle, Stream*& stream);
/// Whether all work of the snapshot has run.
bool has_finished(const Snapshot& snapshot);
int find_event(Call& call, Handle handle, Event*& event);
int find_device(Call& call, int ordinal, Device*& device);

/// The body of an entry point that looks an object up and calls `then` with the call, the object
/// and the arguments. `then` returns a status, or nothing.
template <class Found, class Key, class Then, class... Arguments>
auto with(int (*find)(Call&, Key, Found*&), std::type_identity_t<Key> key, Then then,
          Arguments... arguments) {
  return [=](Call& call) -> int {
    Found* found = nullptr;
    if (const int code = find(call, key, found)) return code;
    if constexpr (!std::is_void_v<decltype(then(call, *found, arguments...))>)
      return then(call, *found, arguments...);
    then(call, *found, arguments...);
    return kSuccess;
  };
}

/// Queues or captures work, after checking each declared access.
int submit(Call& call, Stream& stream, Job job);
/// Checks the accesses of work that runs in the stream's context, as the accessor.
void check_job(Call& call, Stream& stream, const Accessor& accessor, const Job& job);

// Streams.
int stream_create(Call& call, Handle* out, unsigned flags, int priority);
int stream_destroy(Call& call, Handle handle);
int stream_synchronize(Call& call, Handle handle);
int stream_query(Call& call, Handle handle);
int stream_wait_event(Call& call, Handle handle, Handle event, unsigned flags);
int stream_device(Call& call, Handle handle, int* ordinal);
int stream_is_capturing(Call& call, Handle handle, int* status);
int stream_capture_info(Call& call, Handle handle, int* status, std::uint64_t* id);
int stream_begin_capture(Call& call, Handle handle, int mode);
int stream_end_capture(Call& call, Handle handle, Handle* graph);
int exchange_capture_mode(Call& call, int* mode);
int context_synchronize(Call& call, Context& context);
int graph_launch(Call& call, Handle graph, Handle stream);
int graph_instantiate(Call& call, Handle* out, Handle graph);
int graph_destroy(Call& call, Handle graph);

// Events.
int event_create(Call& call, Handle* out, unsigned flags);
int event_destroy(Call& call, Handle handle);
int event_record(Call& call, Handle handle, Handle stream);
struct EventHandle {  // CUipcEventHandle, hipIpcEventHandle_t
  std::uint64_t magic, number;
  unsigned char reserved[48];
};
static_assert(sizeof(EventHandle) == 64);
int event_export(Call& call, EventHandle* out, Handle handle);
/// An event of another process must not be used once that has destroyed it.
void check_maker(Call& call, const Event& event);
int event_open(Call& call, Handle* out, const EventHandle& from);
int event_query(Call& call, Handle handle);
int event_synchronize(Call& call, Handle handle);
int event_elapsed(Call& call, float* milliseconds, Handle start, Handle end);
int context_record(Call& call, Context& context, Handle event);
int context_wait(Call& call, Context& context, Handle event);

// Memory.
int memory_allocate(Call& call, Handle* out, std::size_t bytes, MemoryKind kind, unsigned flags);
int memory_free(Call& call, Handle pointer, MemoryKind kind, bool waits);
int memory_allocate_async(Call& call, Handle* out, std::size_t bytes, Pool* pool, Handle stream);
int memory_free_async(Call& call, Handle pointer, Handle stream);
int host_register(Call& call, void* pointer, std::size_t bytes);
int host_unregister(Call& call, void* pointer);
/// Associates managed memory with a stream, with the host or with everything.
int attach(Call& call, Handle stream, Handle pointer, std::size_t bytes, unsigned flags);
int pool_create(Call& call, Handle* out, int ordinal);
int pool_destroy(Call& call, Handle pool);
int find_pool(Call& call, Handle handle, Pool*& pool);
// Memory that processes share. Both vendors' structs are the same.
constexpr int kFileHandle = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
struct AllocationProperties {
  int type;
  int handle_types;
  int location_type;
  int location_id;
  void* security;
  unsigned char flags[8];
};
static_assert(sizeof(AllocationProperties) == 32);
struct MemoryAccess {
  int location_type;
  int location_id;
  int flags;
};
int granularity(Call& call, std::size_t* out, const AllocationProperties* of);
int physical_create(Call& call, Handle* out, std::size_t bytes, const AllocationProperties* of);
int physical_properties(Call& call, AllocationProperties* out, Handle handle);
int physical_release(Call& call, Handle handle);
int physical_retain(Call& call, Handle* out, Handle address);
int physical_export(Call& call, int* out, Handle handle, int type);
int physical_import(Call& call, Handle* out, int file, int type);
int address_reserve(Call& call, Handle* out, std::size_t bytes);
int address_free(Call& call, Handle address, std::size_t bytes);
int memory_map(Call& call, Handle address, std::size_t bytes, std::size_t offset, Handle handle);
int memory_set_access(Call& call, Handle address, std::size_t bytes, const MemoryAccess* access,
                      std::size_t count);
int memory_unmap(Call& call, Handle address, std::size_t bytes);

int address_range(Call& call, Handle pointer, Handle* base, std::size_t* bytes);

// Pointer attributes, and HIP's struct for them.
struct HipPointerAttributes {  // hipPointerAttribute_t; 32 bytes in every version
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned allocation_flags;
};
static_assert(sizeof(HipPointerAttributes) == 32);

int pointer_attribute(Call& call, void* data, int attribute, Handle pointer);
int pointer_attributes(Call& call, unsigned count, const int* attributes, void** data,
                       Handle pointer);
int hip_pointer_attributes(Call& call, HipPointerAttributes* out, const void* address);

// Copies, fills, launches.
struct Plane {  // one side of a 2-D copy
  Handle base = 0;
  std::size_t pitch = 0;
};
/// Refuses a peer copy that names another device than the memory's.
int check_home(Call& call, Handle pointer, const Device& device);
enum class Side { kAny, kHost, kDevice };  // the memory type that the caller declares
int copy(Call& call, Handle to, Side to_side, Handle from, Side from_side, std::size_t bytes,
         Handle stream, bool wait);
int copy_2d(Call& call, const Plane& to, Side to_side, const Plane& from, Side from_side,
            std::size_t width, std::size_t height, Handle stream, bool wait);
int fill(Call& call, Handle pointer, std::uint32_t value, std::size_t unit, std::size_t count,
         Handle stream, bool wait);
int module_load(Call& call, Handle* out, const void* image);
int module_unload(Call& call, Handle handle);
int module_function(Call& call, Handle* out, Handle module, const char* name);
int launch(Call& call, Handle function, const unsigned (&grid)[3], const unsigned (&block)[3],
           unsigned shared_bytes, Handle stream, void** parameters, void** extra);
int launch_host(Call& call, Handle stream, void (*function)(void*), void* data);

// Devices.
int device_attribute(Call& call, int* value, int attribute, int ordinal);
int device_name(Call& call, char* name, int room, int ordinal);
int pci_bus_id(Call& call, char* text, int room, int ordinal);
int can_access_peer(Call& call, int* yes, int ordinal, int peer);
int enable_peer(Call& call, Context& from, Device& to, bool enable);

const char* error_name(Vendor vendor, int code);

}  // namespace fakegpu
