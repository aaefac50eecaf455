// The part of libcuda's ABI that we use: functions, structs and constants. Declared here so that
// the build needs no CUDA toolkit; tests/devices/abi compares it with NVIDIA's header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/drivers/shareable.hpp"

namespace refarray::runtime::cuda {

/// CUmemPoolProps_v1.
struct PoolProperties {
  int allocation_type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;     // not shareable between processes
  int location_type = 1;    // CU_MEM_LOCATION_TYPE_DEVICE
  int location_id = 0;
  void* security = nullptr;
  std::size_t max_size = 0;  // 0: the system's limit
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(void*) != 8 || sizeof(PoolProperties) == 88);

/// CUDA_MEMCPY2D_v2.
struct Copy2D {
  std::size_t from_x = 0;
  std::size_t from_y = 0;
  int from_type = 0;
  const void* from_host = nullptr;
  std::uintptr_t from_device = 0;
  void* from_array = nullptr;
  std::size_t from_pitch = 0;
  std::size_t to_x = 0;
  std::size_t to_y = 0;
  int to_type = 0;
  void* to_host = nullptr;
  std::uintptr_t to_device = 0;
  void* to_array = nullptr;
  std::size_t to_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 0;
};
static_assert(sizeof(void*) != 8 || sizeof(Copy2D) == 128);

inline constexpr int kUnifiedMemory = 4;         // CU_MEMORYTYPE_UNIFIED
inline constexpr int kMemoryHost = 1;            // CU_MEMORYTYPE_HOST
inline constexpr int kMemoryDevice = 2;          // CU_MEMORYTYPE_DEVICE
inline constexpr int kConcurrentManaged = 89;    // CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
inline constexpr int kPoolsSupported = 115;      // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
inline constexpr int kReleaseThreshold = 4;      // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
inline constexpr int kPointerMemoryType = 2;     // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
inline constexpr int kPointerIsManaged = 8;      // CU_POINTER_ATTRIBUTE_IS_MANAGED
inline constexpr int kPointerDevice = 9;         // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
inline constexpr unsigned kHostPortable = 1;     // CU_MEMHOSTALLOC_PORTABLE
inline constexpr unsigned kManagedGlobal = 1;    // CU_MEM_ATTACH_GLOBAL
inline constexpr std::uint64_t kLegacyFlag = 1;  // CU_GET_PROC_ADDRESS_LEGACY_STREAM

/// Statuses that advice() in cuda.cpp explains.
inline constexpr int kNotInitialized = 3;          // CUDA_ERROR_NOT_INITIALIZED
inline constexpr int kStubLibrary = 34;            // CUDA_ERROR_STUB_LIBRARY
inline constexpr int kInsufficientDriver = 35;     // cudaErrorInsufficientDriver, a runtime code
inline constexpr int kSystemDriverMismatch = 803;  // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
inline constexpr int kUnknownError = 999;          // CUDA_ERROR_UNKNOWN

/// cuGetProcAddress of CUDA 11.3, and cuGetProcAddress_v2 of CUDA 12.
using ProcAddress = int (*)(const char*, void**, int, std::uint64_t);
using ProcAddress2 = int (*)(const char*, void**, int, std::uint64_t, int*);

/// Each function in the version that cuda_symbols.cpp requests.
struct Calls {
  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_text)(int, const char**) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*device_memory)(std::size_t*, int) = nullptr;
  int (*context_retain)(void**, int) = nullptr;
  int (*context_state)(int, unsigned*, int*) = nullptr;
  int (*context_push)(void*) = nullptr;
  int (*context_pop)(void**) = nullptr;
  int (*context_current)(void**) = nullptr;
  int (*context_device)(int*) = nullptr;
  int (*context_synchronize)() = nullptr;
  int (*allocate)(std::uintptr_t*, std::size_t) = nullptr;
  int (*free)(std::uintptr_t) = nullptr;
  int (*allocate_host)(void**, std::size_t, unsigned) = nullptr;
  int (*free_host)(void*) = nullptr;
  int (*allocate_managed)(std::uintptr_t*, std::size_t, unsigned) = nullptr;
  int (*pool_create)(void**, const PoolProperties*) = nullptr;
  int (*pool_set)(void*, int, void*) = nullptr;
  int (*pool_access)(void*, const MemoryAccess*, std::size_t) = nullptr;
  int (*pool_trim)(void*, std::size_t) = nullptr;
  int (*can_access_peer)(int*, int, int) = nullptr;
  int (*allocate_from_pool)(std::uintptr_t*, std::size_t, void*, void*) = nullptr;
  int (*free_async)(std::uintptr_t, void*) = nullptr;
  int (*copy)(std::uintptr_t, std::uintptr_t, std::size_t, void*) = nullptr;
  int (*copy_to_device)(std::uintptr_t, const void*, std::size_t, void*) = nullptr;
  int (*copy_to_host)(void*, std::uintptr_t, std::size_t, void*) = nullptr;
  int (*copy_on_device)(std::uintptr_t, std::uintptr_t, std::size_t, void*) = nullptr;
  int (*copy_2d)(const Copy2D*, void*) = nullptr;
  int (*copy_peer)(std::uintptr_t, void*, std::uintptr_t, void*, std::size_t, void*) = nullptr;
  int (*set_bytes)(std::uintptr_t, unsigned char, std::size_t, void*) = nullptr;
  int (*stream_create)(void**, unsigned) = nullptr;
  int (*stream_destroy)(void*) = nullptr;
  int (*stream_synchronize)(void*) = nullptr;
  int (*stream_query)(void*) = nullptr;
  int (*stream_wait)(void*, void*, unsigned) = nullptr;
  int (*stream_context)(void*, void**) = nullptr;
  int (*stream_contexts)(void*, void**, void**) = nullptr;
  int (*stream_green)(void*, void**) = nullptr;
  int (*stream_device)(void*, int*) = nullptr;
  int (*stream_is_capturing)(void*, int*) = nullptr;
  int (*stream_capture)(void*, int*, unsigned long long*) = nullptr;
  int (*exchange_capture_mode)(int*) = nullptr;
  int (*event_create)(void**, unsigned) = nullptr;
  int (*event_destroy)(void*) = nullptr;
  int (*event_record)(void*, void*) = nullptr;
  int (*event_query)(void*) = nullptr;
  int (*event_synchronize)(void*) = nullptr;
  int (*event_elapsed)(float*, void*, void*) = nullptr;
  int (*record_context)(void*, void*) = nullptr;
  int (*context_id)(void*, unsigned long long*) = nullptr;
  int (*pointer_attributes)(unsigned, int*, void**, std::uintptr_t) = nullptr;
  int (*module_load)(void**, const void*) = nullptr;
  int (*module_function)(void**, void*, const char*) = nullptr;
  ShareableCalls shareable;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = nullptr;
};

/// Resolves every function of an opened library; optional functions it lacks stay null. Returns
/// false, with the reason, if a required one is missing.
bool resolve(void* library, Calls& calls, std::string& why);

}  // namespace refarray::runtime::cuda
