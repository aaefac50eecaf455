// CUDA driver API: memory, pools and pointers.
#include "cuda/cuda.hpp"

using namespace fakegpu;

namespace {

constexpr int kReleaseThreshold = 4;

}  // namespace

extern "C" {

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return call(kCuda, "cuMemGetInfo", kPlain, [&](Call& at) -> int {
    Context* context = nullptr;
    if (const int code = find_current(at, context)) return code;
    *total = context->device->total;
    *free = context->device->total - context->device->used;
    return kSuccess;
  });
}

int cuMemAlloc_v2(Handle* pointer, std::size_t bytes) {
  return call(kCuda, "cuMemAlloc", kBlocks | kUnsafe, memory_allocate, pointer, bytes,
              MemoryKind::kDevice, 0);
}

int cuMemFree_v2(Handle pointer) {
  return call(kCuda, "cuMemFree", kBlocks | kUnsafe | kReleases | kInContext, [&](Call& at) {
    return memory_free(at, pointer, MemoryKind::kDevice, at.machine.settings.cuda_free_waits);
  });
}

int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return call(kCuda, "cuMemHostAlloc", kBlocks | kUnsafe, memory_allocate,
              reinterpret_cast<Handle*>(pointer), bytes, MemoryKind::kPinned, flags);
}

int cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
  return call(kCuda, "cuMemAllocHost", kBlocks | kUnsafe, memory_allocate,
              reinterpret_cast<Handle*>(pointer), bytes, MemoryKind::kPinned, 0);
}

int cuMemFreeHost(void* pointer) {
  return call(kCuda, "cuMemFreeHost", kBlocks | kUnsafe | kReleases, memory_free, number(pointer),
              MemoryKind::kPinned, false);
}

int cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned) {
  return call(kCuda, "cuMemHostRegister", kBlocks | kUnsafe, host_register, pointer, bytes);
}

int cuMemHostUnregister(void* pointer) {
  return call(kCuda, "cuMemHostUnregister", kBlocks | kUnsafe | kReleases | kInContext,
              host_unregister, pointer);
}

int cuMemHostGetDevicePointer_v2(Handle* device, void* pointer, unsigned) {
  return call(kCuda, "cuMemHostGetDevicePointer", kImmediate | kInContext, [&](Call& at) -> int {
    if (at.machine.memory.find(number(pointer)) == nullptr) return kInvalidValue;
    *device = number(pointer);
    return kSuccess;
  });
}

int cuMemAllocManaged(Handle* pointer, std::size_t bytes, unsigned flags) {
  return call(kCuda, "cuMemAllocManaged", kBlocks | kUnsafe, [&](Call& at) -> int {
    if (flags != 1 && flags != 2) return kInvalidValue;
    return memory_allocate(at, pointer, bytes, MemoryKind::kManaged, flags);
  });
}

int cuStreamAttachMemAsync(Handle stream, Handle pointer, std::size_t bytes, unsigned flags) {
  return call(kCuda, "cuStreamAttachMemAsync", kInContext, attach, stream, pointer, bytes, flags);
}

int cuMemGetAddressRange_v2(Handle* base, std::size_t* bytes, Handle pointer) {
  return call(kCuda, "cuMemGetAddressRange", kImmediate | kInContext, address_range, pointer, base,
              bytes);
}

int cuMemAllocAsync(Handle* pointer, std::size_t bytes, Handle stream) {
  return call(kCuda, "cuMemAllocAsync", kPlain, memory_allocate_async, pointer, bytes, nullptr,
              stream);
}

int cuMemAllocFromPoolAsync(Handle* pointer, std::size_t bytes, Handle pool, Handle stream) {
  return call(kCuda, "cuMemAllocFromPoolAsync", kPlain,
              with(find_pool, pool, [&](Call& at, Pool& found) {
                return memory_allocate_async(at, pointer, bytes, &found, stream);
              }));
}

int cuMemFreeAsync(Handle pointer, Handle stream) {
  return call(kCuda, "cuMemFreeAsync", kReleases, memory_free_async, pointer, stream);
}

int cuMemPoolCreate(Handle* pool, const CudaMemPoolProps* props) {
  return call(kCuda, "cuMemPoolCreate", kUnsafe, [&](Call& at) -> int {
    if (pool == nullptr || props == nullptr) return kInvalidValue;
    if (props->allocation_type != 1 || props->location_type != 1) return kInvalidValue;
    return pool_create(at, pool, props->location_id);
  });
}

int cuMemPoolDestroy(Handle pool) {
  return call(kCuda, "cuMemPoolDestroy", kReleases, pool_destroy, pool);
}

int cuMemPoolTrimTo(Handle pool, std::size_t keep) {
  return call(kCuda, "cuMemPoolTrimTo", kUnsafe, [&](Call& at) {
    Pool* found = nullptr;
    return find_pool(at.note("bytes", keep), pool, found);
  });
}

int cuMemPoolSetAttribute(Handle pool, int attribute, void* value) {
  return call(kCuda, "cuMemPoolSetAttribute", kPlain, [&](Call& at) -> int {
    Pool* found = nullptr;
    if (const int code = find_pool(at.note("attribute", attribute), pool, found)) return code;
    if (attribute < 1 || attribute > kReleaseThreshold) return kInvalidValue;
    if (attribute == kReleaseThreshold)
      found->release_threshold = *static_cast<const std::uint64_t*>(value);
    return kSuccess;
  });
}

int cuMemPoolGetAttribute(Handle pool, int attribute, void* value) {
  return call(kCuda, "cuMemPoolGetAttribute", kPlain, [&](Call& at) -> int {
    Pool* found = nullptr;
    if (const int code = find_pool(at.note("attribute", attribute), pool, found)) return code;
    if (attribute != kReleaseThreshold) return kInvalidValue;
    *static_cast<std::uint64_t*>(value) = found->release_threshold;
    return kSuccess;
  });
}

int cuMemPoolSetAccess(Handle pool, const CudaMemAccessDesc* access, std::size_t count) {
  return call(kCuda, "cuMemPoolSetAccess", kPlain,
              with(find_pool, pool, [&](Call& at, Pool& found) -> int {
                for (std::size_t i = 0; i < count; ++i) {
                  if (at.machine.device(kCuda, access[i].location_id) == nullptr)
                    return kInvalidDevice;
                  if (access[i].flags == 3)
                    found.readable_from.insert(access[i].location_id);
                  else
                    found.readable_from.erase(access[i].location_id);
                }
                return kSuccess;
              }));
}

int cuDeviceGetDefaultMemPool(Handle* pool, int device) {
  return call(
      kCuda, "cuDeviceGetDefaultMemPool", kPlain,
      with(find_device, device, [&](Call&, Device& found) { *pool = found.default_pool->handle; }));
}

int cuDeviceGetMemPool(Handle* pool, int device) {
  return call(kCuda, "cuDeviceGetMemPool", kPlain,
              with(find_device, device, [&](Call&, Device& found) { *pool = found.pool->handle; }));
}

int cuDeviceSetMemPool(int device, Handle pool) {
  return call(kCuda, "cuDeviceSetMemPool", kPlain, [&](Call& at) -> int {
    Device* found = nullptr;
    Pool* chosen = nullptr;
    if (const int code = find_device(at, device, found)) return code;
    if (const int code = find_pool(at, pool, chosen)) return code;
    found->pool = chosen;
    return kSuccess;
  });
}

int cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties* of, int) {
  return call(kCuda, "cuMemGetAllocationGranularity", kImmediate, granularity, bytes, of);
}

int cuMemCreate(Handle* handle, std::size_t bytes, const AllocationProperties* of, std::uint64_t) {
  return call(kCuda, "cuMemCreate", kBlocks, physical_create, handle, bytes, of);
}

int cuMemGetAllocationPropertiesFromHandle(AllocationProperties* of, Handle handle) {
  return call(kCuda, "cuMemGetAllocationPropertiesFromHandle", kImmediate, physical_properties, of,
              handle);
}

int cuMemRelease(Handle handle) {
  return call(kCuda, "cuMemRelease", kBlocks | kReleases, physical_release, handle);
}

int cuMemRetainAllocationHandle(Handle* handle, void* address) {
  return call(kCuda, "cuMemRetainAllocationHandle", kPlain, physical_retain, handle,
              number(address));
}

int cuMemExportToShareableHandle(void* out, Handle handle, int type, std::uint64_t) {
  return call(kCuda, "cuMemExportToShareableHandle", kPlain, physical_export,
              static_cast<int*>(out), handle, type);
}

int cuMemImportFromShareableHandle(Handle* handle, void* file, int type) {
  return call(kCuda, "cuMemImportFromShareableHandle", kPlain, physical_import, handle,
              static_cast<int>(number(file)), type);
}

int cuMemAddressReserve(Handle* out, std::size_t bytes, std::size_t, Handle, std::uint64_t) {
  return call(kCuda, "cuMemAddressReserve", kPlain, address_reserve, out, bytes);
}

int cuMemAddressFree(Handle address, std::size_t bytes) {
  return call(kCuda, "cuMemAddressFree", kReleases, address_free, address, bytes);
}

int cuMemMap(Handle address, std::size_t bytes, std::size_t offset, Handle handle, std::uint64_t) {
  return call(kCuda, "cuMemMap", kPlain, memory_map, address, bytes, offset, handle);
}

int cuMemSetAccess(Handle address, std::size_t bytes, const MemoryAccess* access,
                   std::size_t count) {
  return call(kCuda, "cuMemSetAccess", kBlocks, memory_set_access, address, bytes, access, count);
}

int cuMemUnmap(Handle address, std::size_t bytes) {
  return call(kCuda, "cuMemUnmap", kBlocks | kReleases, memory_unmap, address, bytes);
}

int cuPointerGetAttribute(void* data, int attribute, Handle pointer) {
  return call(kCuda, "cuPointerGetAttribute", kImmediate, pointer_attribute, data, attribute,
              pointer);
}

int cuPointerGetAttributes(unsigned count, int* attributes, void** data, Handle pointer) {
  return call(kCuda, "cuPointerGetAttributes", kImmediate, pointer_attributes, count, attributes,
              data, pointer);
}

}  // extern "C"

Symbols fakegpu::memory_symbols() {
  return {streamed<cuStreamAttachMemAsync>("cuStreamAttachMemAsync", 6000),
          streamed<cuMemAllocAsync>("cuMemAllocAsync", 11020),
          streamed<cuMemAllocFromPoolAsync>("cuMemAllocFromPoolAsync", 11020),
          streamed<cuMemFreeAsync>("cuMemFreeAsync", 11020)};
}
