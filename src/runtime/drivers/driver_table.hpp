// Owns the neutral table of driver functions that everything above is written over: filled from
// libcuda in cuda.cpp and from libamdhip64 in hip.cpp, with the signatures that both vendors share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refarray::runtime {

using Status = int;              // the vendor's own code; the few below are the same for both
using Address = std::uintptr_t;  // an address in device, managed or pinned memory
using Handle = void*;            // a stream, an event, a pool, a module or a kernel

inline constexpr Status kSuccess = 0;
inline constexpr Status kInvalidValue = 1;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNotReady = 600;

/// What a driver knows of an address.
struct PointerFacts {
  enum class Memory { kUnknown, kHost, kDevice, kManaged };
  Memory memory = Memory::kUnknown;
  int device = -1;
};

/// The way of a copy, with HIP's numbers; CUDA finds it out by itself.
enum class Direction : int { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kAny = 4 };

/// Null where the driver is too old for it and there is another way; all else is there or the
/// driver is not used.
struct Api {
  // Errors and devices.
  Status (*error_name)(Status status, const char** out) = nullptr;
  Status (*error_text)(Status status, const char** out) = nullptr;
  Status (*device_name)(char* out, int size, int device) = nullptr;
  Status (*has_pools)(int* out, int device) = nullptr;
  /// Makes the device the calling thread's current one; `before` is what leave() puts back.
  Status (*enter)(int device, std::intptr_t* before) = nullptr;
  Status (*leave)(std::intptr_t before) = nullptr;
  Status (*device_synchronize)() = nullptr;

  // Memory.
  Status (*allocate)(Address* out, std::size_t nbytes) = nullptr;
  Status (*free)(Address address) = nullptr;
  Status (*pool_create)(Handle* out, int device) = nullptr;
  Status (*pool_trim)(Handle pool, std::size_t keep) = nullptr;
  Status (*allocate_async)(Address* out, std::size_t nbytes, Handle pool, Handle stream) = nullptr;
  Status (*free_async)(Address address, Handle stream) = nullptr;
  Status (*allocate_host)(Address* out, std::size_t nbytes) = nullptr;
  Status (*free_host)(Address address) = nullptr;
  Status (*allocate_managed)(Address* out, std::size_t nbytes) = nullptr;
  Status (*set_bytes)(Address to, unsigned char value, std::size_t nbytes, Handle stream) = nullptr;
  Status (*copy)(Address to, Address from, std::size_t nbytes, Direction way,
                 Handle stream) = nullptr;
  Status (*copy_rows)(Address to, std::size_t to_pitch, Address from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, Direction way,
                      Handle stream) = nullptr;
  Status (*copy_peer)(Address to, int to_device, Address from, int from_device, std::size_t nbytes,
                      Handle stream) = nullptr;
  Status (*pointer_facts)(Address address, PointerFacts* out) = nullptr;

  // Streams and events.
  Status (*stream_create)(Handle* out, unsigned flags) = nullptr;
  Status (*stream_destroy)(Handle stream) = nullptr;
  Status (*stream_synchronize)(Handle stream) = nullptr;
  Status (*stream_query)(Handle stream) = nullptr;
  Status (*stream_wait)(Handle stream, Handle event, unsigned flags) = nullptr;
  Status (*stream_device)(Handle stream, int* out) = nullptr;
  /// The state of a capture (0 none, 1 active, 2 invalidated) and its number.
  Status (*stream_capture)(Handle stream, int* state, unsigned long long* id) = nullptr;
  Status (*exchange_capture_mode)(int* mode) = nullptr;
  Status (*event_create)(Handle* out, unsigned flags) = nullptr;
  Status (*event_destroy)(Handle event) = nullptr;
  Status (*event_record)(Handle event, Handle stream) = nullptr;
  Status (*event_query)(Handle event) = nullptr;
  Status (*event_synchronize)(Handle event) = nullptr;
  Status (*event_elapsed)(float* milliseconds, Handle begin, Handle end) = nullptr;
  /// One event for all that was put into any stream of the device so far (CUDA 12.5).
  Status (*record_all)(int device, Handle event) = nullptr;

  // Kernels.
  Status (*module_load)(Handle* out, const void* image) = nullptr;
  Status (*module_function)(Handle* out, Handle module, const char* name) = nullptr;
  Status (*launch)(Handle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void** parameters, void** extra) = nullptr;
};

}  // namespace refarray::runtime
