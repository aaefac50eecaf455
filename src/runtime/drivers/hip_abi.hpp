// The part of libamdhip64's ABI that we use, for HIP 5 to HIP 10: functions, structs and constants
// that are the same in all these versions, and the memory types, which HIP 6 renumbered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/drivers/shareable.hpp"

namespace refarray::runtime::hip {

/// hipPointerAttribute_t.
struct HipPointer {
  int type = 0;
  int device = 0;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  int is_managed = 0;
  unsigned flags = 0;
};
static_assert(sizeof(void*) != 8 || sizeof(HipPointer) == 32);

/// hipMemoryType.
inline constexpr int kHostBefore6 = 0;
inline constexpr int kDeviceBefore6 = 1;
inline constexpr int kHostFrom6 = 1;
inline constexpr int kDeviceFrom6 = 2;
inline constexpr int kManagedFrom6 = 3;
inline constexpr int kVersionUnit = 10000000;  // hipRuntimeGetVersion: major * 10^7 + minor * 10^5
inline constexpr int kInvalidDevice = 101;     // hipErrorInvalidDevice
inline constexpr unsigned kHostPortable = 1;   // hipHostMallocPortable

/// Never pass stream handles 1 and 2: released versions of HIP dereference them.
struct Calls {
  int (*init)(unsigned) = nullptr;
  int (*runtime_version)(int*) = nullptr;
  const char* (*error_name)(int) = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*get_device)(int*) = nullptr;
  int (*device_memory)(std::size_t*, int) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*device_synchronize)() = nullptr;
  int (*allocate)(std::uintptr_t*, std::size_t) = nullptr;
  int (*free)(std::uintptr_t) = nullptr;
  int (*allocate_host)(void**, std::size_t, unsigned) = nullptr;
  int (*free_host)(void*) = nullptr;
  int (*copy)(std::uintptr_t, std::uintptr_t, std::size_t, int, void*) = nullptr;
  int (*copy_2d)(std::uintptr_t, std::size_t, std::uintptr_t, std::size_t, std::size_t, std::size_t,
                 int, void*) = nullptr;
  int (*copy_peer)(std::uintptr_t, int, std::uintptr_t, int, std::size_t, void*) = nullptr;
  int (*set_bytes)(std::uintptr_t, int, std::size_t, void*) = nullptr;
  int (*stream_create)(void**, unsigned) = nullptr;
  int (*stream_destroy)(void*) = nullptr;
  int (*stream_synchronize)(void*) = nullptr;
  int (*stream_query)(void*) = nullptr;
  int (*stream_wait)(void*, void*, unsigned) = nullptr;
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
  int (*pointer_attributes)(HipPointer*, const void*) = nullptr;
  int (*module_load)(void**, const void*) = nullptr;
  int (*module_function)(void**, void*, const char*) = nullptr;
  int (*can_access_peer)(int*, int, int) = nullptr;
  ShareableCalls shareable;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = nullptr;
};

}  // namespace refarray::runtime::hip
