// HIP API: memory, pools, pointers, copies and fills.
#include "cuda/cuda.hpp"  // HIP's copy and pool structs are identical

using namespace fakegpu;

namespace {

Handle* out(void** pointer) { return reinterpret_cast<Handle*>(pointer); }

enum Kind : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

Side to_side(int kind) {
  if (kind == kDefault) return Side::kAny;
  return kind == kHostToDevice || kind == kDeviceToDevice ? Side::kDevice : Side::kHost;
}

Side from_side(int kind) {
  if (kind == kDefault) return Side::kAny;
  return kind == kDeviceToHost || kind == kDeviceToDevice ? Side::kDevice : Side::kHost;
}

int sided_copy(Call& at, const void* to, const void* from, std::size_t bytes, int kind,
               Handle stream, bool wait) {
  if (kind < kHostToHost || kind > kDefault) return kInvalidValue;
  return copy(at, number(to), to_side(kind), number(from), from_side(kind), bytes, stream, wait);
}

/// From HIP 7 on, freeing stream-ordered memory does not wait.
bool free_waits(Call& at, const void* pointer) {
  const Allocation* allocation = at.machine.memory.find(number(pointer));
  const bool pooled = allocation != nullptr && allocation->pool != nullptr;
  return at.machine.settings.hip_free_waits &&
         !(pooled && at.machine.settings.hip_version >= 70000000);
}

int host_allocate(Call& at, void** pointer, std::size_t bytes, unsigned flags) {
  return memory_allocate(at, out(pointer), bytes, MemoryKind::kPinned, flags);
}

}  // namespace

extern "C" {

int hipMemGetInfo(std::size_t* free, std::size_t* total) {
  return call(kHip, "hipMemGetInfo", kPlain, [&](Call& at) -> int {
    const Device& device = *current_context(at)->device;
    *total = device.total;
    *free = device.total - device.used;
    return kSuccess;
  });
}

int hipMalloc(void** pointer, std::size_t bytes) {
  return call(kHip, "hipMalloc", kBlocks | kUnsafe, [&](Call& at) -> int {
    if (pointer == nullptr) return kInvalidValue;
    *pointer = nullptr;
    if (bytes == 0) return kSuccess;
    return memory_allocate(at, out(pointer), bytes, MemoryKind::kDevice, 0);
  });
}

int hipFree(void* pointer) {
  return call(kHip, "hipFree", kBlocks | kUnsafe | kReleases, [&](Call& at) {
    return memory_free(at, number(pointer), MemoryKind::kDevice, free_waits(at, pointer));
  });
}

int hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags) {
  return call(kHip, "hipHostMalloc", kBlocks | kUnsafe, host_allocate, pointer, bytes, flags);
}

int hipHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return call(kHip, "hipHostAlloc", kBlocks | kUnsafe, host_allocate, pointer, bytes, flags);
}

int hipHostFree(void* pointer) {
  return call(kHip, "hipHostFree", kBlocks | kUnsafe | kReleases, memory_free, number(pointer),
              MemoryKind::kPinned, false);
}

int hipFreeHost(void* pointer) {
  return call(kHip, "hipFreeHost", kBlocks | kUnsafe | kReleases, memory_free, number(pointer),
              MemoryKind::kPinned, false);
}

int hipHostRegister(void* pointer, std::size_t bytes, unsigned) {
  return call(kHip, "hipHostRegister", kBlocks | kUnsafe, host_register, pointer, bytes);
}

int hipHostUnregister(void* pointer) {
  return call(kHip, "hipHostUnregister", kBlocks | kUnsafe | kReleases, host_unregister, pointer);
}

int hipHostGetDevicePointer(void** device, void* pointer, unsigned) {
  return call(kHip, "hipHostGetDevicePointer", kImmediate, [&](Call& at) -> int {
    if (at.machine.memory.find(number(pointer)) == nullptr) return kInvalidValue;
    *device = pointer;
    return kSuccess;
  });
}

int hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  return call(kHip, "hipMallocManaged", kBlocks | kUnsafe, memory_allocate, out(pointer), bytes,
              MemoryKind::kManaged, flags);
}

int hipStreamAttachMemAsync(Handle stream, void* pointer, std::size_t bytes, unsigned flags) {
  return call(kHip, "hipStreamAttachMemAsync", kPlain, attach, stream, number(pointer), bytes,
              flags);
}

int hipMallocAsync(void** pointer, std::size_t bytes, Handle stream) {
  return call(kHip, "hipMallocAsync", kPlain, memory_allocate_async, out(pointer), bytes, nullptr,
              stream);
}

int hipMallocFromPoolAsync(void** pointer, std::size_t bytes, Handle pool, Handle stream) {
  return call(kHip, "hipMallocFromPoolAsync", kPlain,
              with(find_pool, pool, [&](Call& at, Pool& found) {
                return memory_allocate_async(at, out(pointer), bytes, &found, stream);
              }));
}

int hipFreeAsync(void* pointer, Handle stream) {
  return call(kHip, "hipFreeAsync", kReleases, memory_free_async, number(pointer), stream);
}

int hipMemPoolCreate(Handle* pool, const CudaMemPoolProps* props) {
  return call(kHip, "hipMemPoolCreate", kPlain, [&](Call& at) -> int {
    if (pool == nullptr || props == nullptr) return kInvalidValue;
    if (props->allocation_type != 1 || props->location_type != 1) return kInvalidValue;
    return pool_create(at, pool, props->location_id);
  });
}

int hipMemPoolDestroy(Handle pool) {
  return call(kHip, "hipMemPoolDestroy", kReleases, pool_destroy, pool);
}

int hipMemPoolTrimTo(Handle pool, std::size_t keep) {
  return call(kHip, "hipMemPoolTrimTo", kPlain, [&](Call& at) {
    Pool* found = nullptr;
    return find_pool(at.note("bytes", keep), pool, found);
  });
}

int hipMemPoolSetAttribute(Handle pool, int attribute, void* value) {
  return call(kHip, "hipMemPoolSetAttribute", kPlain, [&](Call& at) -> int {
    Pool* found = nullptr;
    if (const int code = find_pool(at.note("attribute", attribute), pool, found)) return code;
    if (attribute != 4) return kInvalidValue;
    found->release_threshold = *static_cast<const std::uint64_t*>(value);
    return kSuccess;
  });
}

int hipDeviceGetDefaultMemPool(Handle* pool, int device) {
  return call(
      kHip, "hipDeviceGetDefaultMemPool", kPlain,
      with(find_device, device, [&](Call&, Device& found) { *pool = found.default_pool->handle; }));
}

int hipMemGetAddressRange(Handle* base, std::size_t* bytes, Handle pointer) {
  return call(kHip, "hipMemGetAddressRange", kImmediate, address_range, pointer, base, bytes);
}

int hipMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties* of, int) {
  return call(kHip, "hipMemGetAllocationGranularity", kImmediate, granularity, bytes, of);
}

int hipMemCreate(Handle* handle, std::size_t bytes, const AllocationProperties* of, std::uint64_t) {
  return call(kHip, "hipMemCreate", kBlocks, physical_create, handle, bytes, of);
}

int hipMemGetAllocationPropertiesFromHandle(AllocationProperties* of, Handle handle) {
  return call(kHip, "hipMemGetAllocationPropertiesFromHandle", kImmediate, physical_properties, of,
              handle);
}

int hipMemRelease(Handle handle) {
  return call(kHip, "hipMemRelease", kBlocks | kReleases, physical_release, handle);
}

int hipMemRetainAllocationHandle(Handle* handle, void* address) {
  return call(kHip, "hipMemRetainAllocationHandle", kPlain, physical_retain, handle,
              number(address));
}

int hipMemExportToShareableHandle(void* out_file, Handle handle, int type, std::uint64_t) {
  return call(kHip, "hipMemExportToShareableHandle", kPlain, physical_export,
              static_cast<int*>(out_file), handle, type);
}

/// Until HIP 7.1 the address of the descriptor is passed, where CUDA takes its number.
int hipMemImportFromShareableHandle(Handle* handle, void* file, int type) {
  return call(kHip, "hipMemImportFromShareableHandle", kPlain, [&](Call& at) {
    const bool by_address = at.machine.settings.hip_version < 70100000;
    const int descriptor =
        by_address ? *static_cast<const int*>(file) : static_cast<int>(number(file));
    return physical_import(at, handle, descriptor, type);
  });
}

int hipMemAddressReserve(void** out_address, std::size_t bytes, std::size_t, void*, std::uint64_t) {
  return call(kHip, "hipMemAddressReserve", kPlain, address_reserve, out(out_address), bytes);
}

int hipMemAddressFree(void* address, std::size_t bytes) {
  return call(kHip, "hipMemAddressFree", kReleases, address_free, number(address), bytes);
}

int hipMemMap(void* address, std::size_t bytes, std::size_t offset, Handle handle, std::uint64_t) {
  return call(kHip, "hipMemMap", kPlain, memory_map, number(address), bytes, offset, handle);
}

int hipMemSetAccess(void* address, std::size_t bytes, const MemoryAccess* access,
                    std::size_t count) {
  return call(kHip, "hipMemSetAccess", kBlocks, memory_set_access, number(address), bytes, access,
              count);
}

int hipMemUnmap(void* address, std::size_t bytes) {
  return call(kHip, "hipMemUnmap", kBlocks | kReleases, memory_unmap, number(address), bytes);
}

int hipPointerGetAttribute(void* data, int attribute, Handle pointer) {
  return call(kHip, "hipPointerGetAttribute", kImmediate, pointer_attribute, data, attribute,
              pointer);
}

int hipPointerGetAttributes(HipPointerAttributes* attributes, const void* pointer) {
  return call(kHip, "hipPointerGetAttributes", kImmediate, hip_pointer_attributes, attributes,
              pointer);
}

int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return call(kHip, "hipMemcpy", kBlocks, sided_copy, to, from, bytes, kind, 0, true);
}

int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, Handle stream) {
  return call(kHip, "hipMemcpyAsync", kPlain, sided_copy, to, from, bytes, kind, stream, false);
}

int hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind, Handle stream) {
  return call(kHip, "hipMemcpyWithStream", kBlocks, sided_copy, to, from, bytes, kind, stream,
              true);
}

int hipMemcpyHtoD(Handle to, void* from, std::size_t bytes) {
  return call(kHip, "hipMemcpyHtoD", kBlocks, copy, to, Side::kDevice, number(from), Side::kHost,
              bytes, 0, true);
}

int hipMemcpyDtoH(void* to, Handle from, std::size_t bytes) {
  return call(kHip, "hipMemcpyDtoH", kBlocks, copy, number(to), Side::kHost, from, Side::kDevice,
              bytes, 0, true);
}

int hipMemcpyHtoDAsync(Handle to, const void* from, std::size_t bytes, Handle stream) {
  return call(kHip, "hipMemcpyHtoDAsync", kPlain, copy, to, Side::kDevice, number(from),
              Side::kHost, bytes, stream, false);
}

int hipMemcpyDtoHAsync(void* to, Handle from, std::size_t bytes, Handle stream) {
  return call(kHip, "hipMemcpyDtoHAsync", kPlain, copy, number(to), Side::kHost, from,
              Side::kDevice, bytes, stream, false);
}

int hipMemcpyDtoDAsync(Handle to, Handle from, std::size_t bytes, Handle stream) {
  return call(kHip, "hipMemcpyDtoDAsync", kPlain, copy, to, Side::kDevice, from, Side::kDevice,
              bytes, stream, false);
}

int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                       std::size_t bytes, Handle stream) {
  return call(kHip, "hipMemcpyPeerAsync", kPlain, [&](Call& at) -> int {
    const Device* there = at.machine.device(kHip, to_device);
    const Device* here = at.machine.device(kHip, from_device);
    if (there == nullptr || here == nullptr) return kInvalidDevice;
    if (const int code = check_home(at, number(to), *there)) return code;
    if (const int code = check_home(at, number(from), *here)) return code;
    return copy(at, number(to), Side::kDevice, number(from), Side::kDevice, bytes, stream, false);
  });
}

int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                     std::size_t width, std::size_t height, int kind, Handle stream) {
  return call(kHip, "hipMemcpy2DAsync", kPlain, [&](Call& at) -> int {
    if (kind < kHostToHost || kind > kDefault) return kInvalidValue;
    return copy_2d(at, {number(to), to_pitch}, to_side(kind), {number(from), from_pitch},
                   from_side(kind), width, height, stream, false);
  });
}

int hipMemset(void* pointer, int value, std::size_t bytes) {
  return call(kHip, "hipMemset", kPlain, [&](Call& at) {
    return fill(at, number(pointer), static_cast<std::uint32_t>(value), 1, bytes, 0, false);
  });
}

int hipMemsetAsync(void* pointer, int value, std::size_t bytes, Handle stream) {
  return call(kHip, "hipMemsetAsync", kPlain, [&](Call& at) {
    return fill(at, number(pointer), static_cast<std::uint32_t>(value), 1, bytes, stream, false);
  });
}

int hipMemsetD8Async(Handle pointer, unsigned char value, std::size_t count, Handle stream) {
  return call(kHip, "hipMemsetD8Async", kPlain, fill, pointer, value, 1, count, stream, false);
}

int hipMemsetD16Async(Handle pointer, unsigned short value, std::size_t count, Handle stream) {
  return call(kHip, "hipMemsetD16Async", kPlain, fill, pointer, value, 2, count, stream, false);
}

int hipMemsetD32Async(Handle pointer, int value, std::size_t count, Handle stream) {
  return call(kHip, "hipMemsetD32Async", kPlain, [&](Call& at) {
    return fill(at, pointer, static_cast<std::uint32_t>(value), 4, count, stream, false);
  });
}

}  // extern "C"
