// Allocation and free functions of both drivers, immediate and stream-ordered.
#include "machine/capture.hpp"
#include "machine/driver.hpp"
#include "memory/watch.hpp"

namespace fakegpu {
namespace {

bool fits(const Device& device, std::size_t bytes) { return bytes <= device.total - device.used; }

Snapshot all_work_of(Call& call, const Device& device) {
  Snapshot all;
  for (const auto& context : call.machine.contexts.all()) {
    if (!context->alive || context->device != &device) continue;
    const Snapshot one = call.machine.snapshot(*context);
    all.ops.insert(all.ops.end(), one.ops.begin(), one.ops.end());
    all.clock.join(one.clock);
  }
  return all;
}

/// The live allocation starting at the pointer; reports a violation if there is none.
Allocation* live_allocation(Call& call, Handle pointer) {
  call.note("pointer", pointer);
  Allocation* allocation = call.machine.memory.find(pointer);
  if (allocation == nullptr || allocation->begin != pointer) {
    call.violation("bad-pointer", "freed an address that is not the start of an allocation", 0,
                   pointer);
    return nullptr;
  }
  if (allocation->freed) {
    call.violation("double-free", "memory is freed twice", allocation->released.call, pointer,
                   allocation->bytes);
    return nullptr;
  }
  call.note("bytes", allocation->bytes);
  return allocation;
}

/// Stream-ordered functions on a stream that does not capture count as unsafe while another one
/// does: the pool may have to grow. CUDA's documentation leaves it open; HIP refuses.
int refuse_outside(Call& call, const Stream& stream) {
  return stream.capture == nullptr ? refuse_unsafe(call) : int{kSuccess};
}

void mark_freed(Call& call, Allocation& allocation) {
  if (allocation.kind == MemoryKind::kDevice) allocation.device->used -= allocation.bytes;
  const bool adopted = allocation.adopted;
  call.machine.memory.free(allocation);  // and deletes it, if adopted
  if (!adopted) watch(call.machine, allocation);
}

}  // namespace

int memory_allocate(Call& call, Handle* out, std::size_t bytes, MemoryKind kind, unsigned flags) {
  Context* context = nullptr;
  call.note("bytes", bytes);
  if (const int code = find_current(call, context)) return code;
  if (out == nullptr) return kInvalidValue;
  Device& device = *context->device;
  call.note("device", device.ordinal);
  if (bytes == 0) return kInvalidValue;
  if (kind == MemoryKind::kManaged && !call.machine.settings.managed) return kNotSupported;
  if (kind == MemoryKind::kDevice && !fits(device, bytes)) return kOutOfMemory;
  Machine& machine = call.machine;
  Allocation* allocation = machine.memory.allocate(bytes, kind, &device, machine.clock(), true);
  if (allocation == nullptr) return kOutOfMemory;
  if (kind == MemoryKind::kDevice) device.used += bytes;
  allocation->flags = flags;
  if (kind == MemoryKind::kManaged && flags == kAttachHost) allocation->attached = kAttachHost;
  check_allocation(call, accessor_of_host(call), *allocation);
  watch(machine, *allocation);
  *out = allocation->begin;
  call.note("pointer", *out);
  return kSuccess;
}

int memory_free(Call& call, Handle pointer, MemoryKind kind, bool waits) {
  if (pointer == 0) return kSuccess;
  Allocation* allocation = live_allocation(call, pointer);
  if (allocation == nullptr) return kInvalidValue;
  const bool host = allocation->kind == MemoryKind::kPinned;
  if (host != (kind == MemoryKind::kPinned) || allocation->adopted) return kInvalidValue;
  if (waits) call.wait(all_work_of(call, *allocation->device));
  check_free(call, accessor_of_host(call), *allocation);
  mark_freed(call, *allocation);
  if (call.machine.memory.unmaps())
    Memory::unmap(allocation->reserved_begin, allocation->reserved_bytes);
  else
    Memory::poison(allocation->reserved_begin, allocation->reserved_bytes);
  return kSuccess;
}

int memory_allocate_async(Call& call, Handle* out, std::size_t bytes, Pool* pool,
                          Handle stream_handle) {
  Stream* stream = nullptr;
  call.note("bytes", bytes);
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  if (const int code = refuse_implicit(*stream, true)) return code;
  if (const int code = refuse_outside(call, *stream)) return code;
  if (out == nullptr) return kInvalidValue;
  Machine& machine = call.machine;
  if (!machine.settings.pools) return kNotSupported;
  if (bytes == 0) {
    *out = 0;
    return kSuccess;
  }
  if (pool == nullptr) pool = stream->context->device->pool;
  if (!fits(*pool->device, bytes)) return kOutOfMemory;
  const MemoryKind kind = MemoryKind::kDevice;
  Clock seen = stream->clock;  // the clock of the operation that is about to be queued
  seen.join(machine.clock());
  Allocation* allocation = machine.memory.allocate(bytes, kind, pool->device, seen, false);
  if (allocation == nullptr) return kOutOfMemory;
  pool->device->used += bytes;
  allocation->pool = pool;
  allocation->graph = stream->capture;
  const std::uint64_t begin = allocation->reserved_begin;
  const std::size_t reserved = allocation->reserved_bytes;
  Job job;
  job.run = [begin, reserved] { Memory::fill(begin, reserved); };
  job.allocates = true;
  if (const int code = submit(call, *stream, std::move(job))) return code;
  if (allocation->graph == nullptr) check_allocation(call, accessor_of(call, *stream), *allocation);
  *out = allocation->begin;
  call.note("pointer", *out);
  return kSuccess;
}

int memory_free_async(Call& call, Handle pointer, Handle stream_handle) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  if (const int code = refuse_implicit(*stream, true)) return code;
  if (const int code = refuse_outside(call, *stream)) return code;
  if (pointer == 0 && call.vendor == Vendor::kCuda) return kSuccess;
  Allocation* allocation = live_allocation(call, pointer);
  if (allocation == nullptr || allocation->pool == nullptr) return kInvalidValue;
  if (allocation->graph != stream->capture) return kInvalidValue;
  const bool unmap = call.machine.memory.unmaps();
  Job job;
  job.run = [unmap, begin = allocation->reserved_begin, reserved = allocation->reserved_bytes] {
    if (unmap)
      Memory::unmap(begin, reserved);
    else
      Memory::poison(begin, reserved);
  };
  job.allocates = true;
  if (const int code = submit(call, *stream, std::move(job))) return code;
  if (allocation->graph == nullptr) check_free(call, accessor_of(call, *stream), *allocation);
  mark_freed(call, *allocation);
  return kSuccess;
}

int host_register(Call& call, void* pointer, std::size_t bytes) {
  Context* context = nullptr;
  if (const int code = find_current(call, context)) return code;
  call.note_pointer(pointer).note("bytes", bytes);
  if (pointer == nullptr || bytes == 0) return kInvalidValue;
  if (call.machine.memory.find(reinterpret_cast<Handle>(pointer)) != nullptr) return 712;
  call.machine.memory.adopt(pointer, bytes, context->device);
  return kSuccess;
}

int host_unregister(Call& call, void* pointer) {
  Allocation* allocation = live_allocation(call, reinterpret_cast<Handle>(pointer));
  if (allocation == nullptr) return kInvalidValue;
  if (!allocation->adopted) return 713;
  check_free(call, accessor_of_host(call), *allocation);
  mark_freed(call, *allocation);
  return kSuccess;
}

int attach(Call& call, Handle stream_handle, Handle pointer, std::size_t bytes, unsigned flags) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  call.note("pointer", pointer).note("flags", flags);
  Allocation* allocation = call.machine.memory.find(pointer);
  const bool managed = allocation != nullptr && !allocation->freed &&
                       allocation->kind == MemoryKind::kManaged && allocation->begin == pointer;
  if (!managed || (bytes != 0 && bytes != allocation->bytes)) return kInvalidValue;
  if (flags != kAttachGlobal && flags != kAttachHost && flags != kAttachSingle)
    return kInvalidValue;
  if (flags == kAttachSingle && stream->legacy) return kInvalidValue;
  // the program orders it with all uses of the memory, as it would order a write
  Job job;
  job.touches = {{pointer, allocation->end(), true}};
  if (const int code = submit(call, *stream, std::move(job))) return code;
  allocation->attached = flags;
  allocation->attached_to = stream;
  watch(call.machine, *allocation);
  return kSuccess;
}

int pool_create(Call& call, Handle* out, int ordinal) {
  if (!call.machine.settings.pools) return kNotSupported;
  Device* device = nullptr;
  if (const int code = find_device(call, ordinal, device)) return code;
  Pool* pool = call.machine.pools.add();
  pool->device = device;
  *out = pool->handle;
  call.note("pool", *out);
  return kSuccess;
}

int find_pool(Call& call, Handle handle, Pool*& pool) {
  call.note("pool", handle);
  pool = call.machine.pools.alive(handle);
  if (pool != nullptr && pool->device->vendor == call.vendor) return kSuccess;
  call.violation("bad-handle", "no such memory pool", 0, handle);
  return kInvalidValue;
}

int pool_destroy(Call& call, Handle handle) {
  Pool* pool = nullptr;
  if (const int code = find_pool(call, handle, pool)) return code;
  if (pool->is_default) return kInvalidValue;
  pool->alive = false;
  if (pool->device->pool == pool) pool->device->pool = pool->device->default_pool;
  return kSuccess;
}

int address_range(Call& call, Handle pointer, Handle* base, std::size_t* bytes) {
  call.note("pointer", pointer);
  const Allocation* allocation = call.machine.memory.find(pointer);
  if (allocation == nullptr || allocation->freed) return kNotFound;
  if (base != nullptr) *base = allocation->begin;
  if (bytes != nullptr) *bytes = allocation->bytes;
  return kSuccess;
}

}  // namespace fakegpu
