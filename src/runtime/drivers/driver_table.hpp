// DriverTable: the driver functions we call, with one signature for both vendors, their types and
// constants. Filled from libcuda in cuda.cpp and from libamdhip64 in hip.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refarray::core {
class Descriptor;
}

namespace refarray::runtime {

enum class Vendor : std::uint8_t { kCuda, kHip };

using Status = int;              // the vendor's own code; those named below are the same for both
using Address = std::uintptr_t;  // an address in device, managed or host memory
using Handle = void*;            // a stream, event, memory pool, module or kernel

inline constexpr Status kSuccess = 0;
inline constexpr Status kInvalidValue = 1;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNoDevice = 100;
inline constexpr Status kInvalidContext = 201;
inline constexpr Status kDestroyedContext = 709;
inline constexpr Status kNotSupported = 801;
inline constexpr Status kNotReady = 600;  // of a query: the work has not finished
/// A graph capture forbids the call, which was not carried out. kCaptureImplicit: the legacy
/// default stream was used while a stream that is ordered with it captures.
inline constexpr Status kFirstCaptureError = 900;
inline constexpr Status kCaptureImplicit = 906;
inline constexpr Status kLastCaptureError = 908;

inline constexpr unsigned kStreamNonBlocking = 1;  // not ordered with the legacy default stream
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventInterprocess = 4;  // other processes may open it
inline constexpr int kCaptureStatusActive = 1;     // 0 is none, 2 invalidated
inline constexpr int kCaptureModeRelaxed = 2;

/// Of a device: the same in all processes.
struct Uuid {
  unsigned char bytes[16] = {};
  friend bool operator==(const Uuid&, const Uuid&) = default;
};
/// By which another process opens an event: CUipcEventHandle, hipIpcEventHandle_t.
struct EventHandle {
  unsigned char bytes[64] = {};
};

struct DeviceTraits {
  bool has_pools = false;           // the stream-ordered allocator may be used; never on HIP
  bool concurrent_managed = false;  // the host may use managed memory while kernels run
  std::size_t memory = std::size_t{16} << 30;  // bytes; a guess if the driver does not tell
};

/// The driver's record of an address.
struct PointerFacts {
  enum class Memory { kUnknown, kHost, kDevice, kManaged };
  Memory memory = Memory::kUnknown;  // kUnknown: not allocated or registered with this driver
  int device = -1;                   // valid unless kUnknown
};

/// Where a stream belongs.
struct StreamFacts {
  int device = 0;
  /// Its context, if that is neither the primary context of the device nor one of its green
  /// contexts: events and waits for the device do not cover it. Its owner may destroy it at any
  /// time. Never on HIP, which has one context per device.
  Handle other_context = nullptr;
};

/// The direction of a copy, numbered as hipMemcpyKind; kAny lets the driver infer it.
enum class Direction : int { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kAny = 4 };

/// Contract, unless an entry says otherwise:
/// - The entry is never null: a driver that lacks the function is not used.
/// - The device in question is current in the calling thread (enter()).
/// - The call does not block.
/// - It is legal during a graph capture. Work enqueued on a capturing stream is captured.
/// - Outputs are written only on kSuccess.
/// - Sizes are in bytes.
/// - Handles and addresses in an output belong to the caller until the matching destroy or free.
/// - Any status but kSuccess may also report the failure of earlier asynchronous work.
/// "Unsafe in captures": fails with a capture error, and may invalidate the capture, while a
/// global-mode capture is active in any thread or a thread-local one in the calling thread, unless
/// the calling thread is in kCaptureModeRelaxed.
struct DriverTable {
  // --- Errors and devices.

  /// cuGetErrorName, hipGetErrorName: a static string, nullptr or kInvalidValue if unknown. Needs
  /// no current device.
  Status (*error_name)(Status status, const char** out) = nullptr;
  /// cuGetErrorString, hipGetErrorString: as error_name().
  Status (*error_text)(Status status, const char** out) = nullptr;
  /// cuDeviceGetAttribute. Needs no current device.
  Status (*traits)(DeviceTraits* out, int device) = nullptr;
  /// Whether the device has been initialised in this process, so that enter() costs no time and no
  /// memory: cuDevicePrimaryCtxGetState. Needs no current device. Null on HIP, which initialises
  /// devices lazily.
  Status (*is_active)(int device, int* out) = nullptr;
  /// Makes `device` current in the calling thread, if it is not: cuCtxPushCurrent of its primary
  /// context, which the first call retains for good (slow), or hipSetDevice. Stores the state for
  /// leave().
  Status (*enter)(int device, std::intptr_t* before) = nullptr;
  /// Restores the device that was current before enter(), if it was another: cuCtxPopCurrent,
  /// hipSetDevice.
  Status (*leave)(std::intptr_t before) = nullptr;
  /// cuCtxSynchronize, hipDeviceSynchronize: blocks until all streams of the device are idle. Fails
  /// and invalidates captures while one of its streams captures.
  Status (*device_synchronize)() = nullptr;

  // --- Memory. `out` of the allocators is owned by the caller; kOutOfMemory is the only failure
  // --- that freeing memory can cure.

  /// cuMemAlloc, hipMalloc: device memory. May block. Unsafe in captures.
  Status (*allocate)(Address* out, std::size_t nbytes) = nullptr;
  /// cuMemFree, hipFree, of allocate() and allocate_managed(). May block: hipFree waits for the
  /// device, cuMemFree need not. Unsafe in captures. A status outside the capture errors reports
  /// earlier work: the memory has been freed.
  Status (*free)(Address address) = nullptr;
  /// cuMemPoolCreate, for `device`, set to keep freed memory (release threshold: unlimited). Null
  /// on HIP and before CUDA 11.2. Unsafe in captures.
  Status (*pool_create)(Handle* out, int device) = nullptr;
  /// cuMemPoolTrimTo: returns free memory to the system, so that `keep` bytes stay. Null as
  /// pool_create. Unsafe in captures.
  Status (*pool_trim)(Handle pool, std::size_t keep) = nullptr;
  /// cuMemAllocFromPoolAsync: usable by work that comes after this call in stream order. On a
  /// capturing stream it would allocate a graph node's memory; callers refuse that. Null as
  /// pool_create. Unsafe in captures: the pool may have to grow, and HIP refuses it.
  Status (*allocate_async)(Address* out, std::size_t nbytes, Handle pool, Handle stream) = nullptr;
  /// cuMemFreeAsync: frees after all earlier work on `stream`. Fails on a capturing stream, for
  /// memory that the capture did not allocate. Null as pool_create. Unsafe in captures as
  /// allocate_async().
  Status (*free_async)(Address address, Handle stream) = nullptr;
  /// cuMemHostAlloc, hipHostMalloc: pinned memory, portable to all devices. May block. Unsafe in
  /// captures.
  Status (*allocate_host)(Address* out, std::size_t nbytes) = nullptr;
  /// cuMemFreeHost, hipHostFree. May block until the device is idle. Unsafe in captures. The status
  /// is to be read as free()'s.
  Status (*free_host)(Address address) = nullptr;
  /// cuMemAllocManaged, attached to all devices; freed with free(). May block. Unsafe in captures.
  /// Null on HIP: DLPack has no managed ROCm device type.
  Status (*allocate_managed)(Address* out, std::size_t nbytes) = nullptr;
  /// cuMemsetD8Async, hipMemsetAsync.
  Status (*set_bytes)(Address to, unsigned char value, std::size_t nbytes, Handle stream) = nullptr;
  /// cuMemcpyHtoDAsync and its siblings, hipMemcpyAsync. Blocks for pageable host memory, which is
  /// therefore not legal on a capturing stream. Ranges must not overlap.
  Status (*copy)(Address to, Address from, std::size_t nbytes, Direction direction,
                 Handle stream) = nullptr;
  /// cuMemcpy2DAsync, hipMemcpy2DAsync: `height` rows of `width` bytes, pitches >= width. Blocks
  /// as copy().
  Status (*copy_rows)(Address to, std::size_t to_pitch, Address from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, Direction direction,
                      Handle stream) = nullptr;
  /// cuMemcpyPeerAsync, hipMemcpyPeerAsync: between two devices; needs no peer access.
  Status (*copy_peer)(Address to, int to_device, Address from, int from_device, std::size_t nbytes,
                      Handle stream) = nullptr;
  /// cuPointerGetAttributes, hipPointerGetAttributes. kSuccess with Memory::kUnknown for addresses
  /// that are not the driver's; `out` must be default-initialised.
  Status (*pointer_facts)(Address address, PointerFacts* out) = nullptr;

  // --- Memory and events that other processes can use. All entries are null where the driver
  // --- lacks one of their functions, and unsafe in captures.

  /// cuDeviceGetUuid, hipDeviceGetUuid. Needs no current device.
  Status (*device_uuid)(Uuid* out, int device) = nullptr;
  /// cuMemGetAllocationGranularity: sizes of such memory are multiples of it.
  Status (*shareable_unit)(std::size_t* out, int device) = nullptr;
  /// cuMemCreate, cuMemExportToShareableHandle, cuMemMap and cuMemSetAccess: device memory, and a
  /// descriptor by which other processes map it. May block. The caller owns the memory.
  Status (*create_shareable)(Address* out, core::Descriptor* file, std::size_t nbytes,
                             int device) = nullptr;
  /// The same for a descriptor of another process, which stays the caller's. kInvalidValue if it is
  /// none, or of another device or size.
  Status (*open_shareable)(Address* out, int file, std::size_t nbytes, int device) = nullptr;
  /// cuMemUnmap, cuMemAddressFree: all work on the memory has finished. May block. The status is to
  /// be read as free()'s.
  Status (*close_shareable)(Address address, std::size_t nbytes) = nullptr;
  /// cuIpcGetEventHandle, of an event with kEventInterprocess.
  Status (*export_event)(Handle event, EventHandle* out) = nullptr;
  /// cuIpcOpenEventHandle, in another process than the event's. The event must not be used after
  /// the other process has destroyed its own.
  Status (*open_event)(Handle* out, const EventHandle& from) = nullptr;

  // --- Streams and events. A stream handle is one from stream_create(), another library's, or a
  // --- default stream: 1 and 2 on CUDA, nullptr on HIP, which crashes on 1 and 2. A destroyed
  // --- handle is undefined behaviour.

  /// cuStreamCreate, hipStreamCreateWithFlags; `flags`: kStreamNonBlocking.
  Status (*stream_create)(Handle* out, unsigned flags) = nullptr;
  /// cuStreamDestroy, hipStreamDestroy: enqueued work still runs.
  Status (*stream_destroy)(Handle stream) = nullptr;
  /// cuStreamSynchronize, hipStreamSynchronize: blocks until the stream is idle. A capturing stream
  /// fails, and its capture is invalidated. Unsafe in captures.
  Status (*stream_synchronize)(Handle stream) = nullptr;
  /// cuStreamQuery, hipStreamQuery: kSuccess if idle, kNotReady if not. Captures as
  /// stream_synchronize(). Unsafe in captures.
  Status (*stream_query)(Handle stream) = nullptr;
  /// cuStreamWaitEvent, hipStreamWaitEvent: later work in `stream` waits for the event as recorded
  /// now. The event may be of another device. `flags` is 0. If exactly one of the two belongs to a
  /// capture, the call fails and invalidates it or pulls the stream into it.
  Status (*stream_wait)(Handle stream, Handle event, unsigned flags) = nullptr;
  /// cuStreamGetCtx, hipStreamGetDevice, of a stream that is not a default one. `out->device` is
  /// the current device, and stays where the driver cannot tell. Null before HIP 5.6.
  Status (*stream_facts)(Handle stream, StreamFacts* out) = nullptr;
  /// Makes `stream`, of the current device, wait for all earlier work in a context that
  /// stream_facts() gave. Where record_all is null the host waits instead. Before CUDA 12.0 the
  /// context must not have been destroyed: drivers crash on it. Null on HIP.
  Status (*wait_for_context)(Handle stream, Handle context) = nullptr;
  /// cuStreamIsCapturing and cuStreamGetCaptureInfo, hip…: the capture status (0 none, 1 active, 2
  /// invalidated) and, if active, the capture's id. kCaptureImplicit: `stream` is the legacy
  /// default stream and one that is ordered with it captures. Never disturbs a capture.
  Status (*stream_capture)(Handle stream, int* state, unsigned long long* id) = nullptr;
  /// cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode: swaps `*mode` with the
  /// calling thread's. Needs no current device.
  Status (*exchange_capture_mode)(int* mode) = nullptr;
  /// cuEventCreate, hipEventCreateWithFlags; `flags`: kEventDefault or kEventDisableTiming.
  Status (*event_create)(Handle* out, unsigned flags) = nullptr;
  /// cuEventDestroy, hipEventDestroy: also while pending; waiters still wait.
  Status (*event_destroy)(Handle event) = nullptr;
  /// cuEventRecord, hipEventRecord: the event now stands for all earlier work in `stream`, which
  /// must be of the event's device. Waits already enqueued keep the previous record.
  Status (*event_record)(Handle event, Handle stream) = nullptr;
  /// cuEventQuery, hipEventQuery: kSuccess if the recorded work has finished, else kNotReady. Fails
  /// for an event recorded in a capture, and on CUDA invalidates that capture, in every mode.
  /// Unsafe in captures.
  Status (*event_query)(Handle event) = nullptr;
  /// cuEventSynchronize, hipEventSynchronize: blocks until the recorded work has finished. Captures
  /// as event_query().
  Status (*event_synchronize)(Handle event) = nullptr;
  /// cuEventElapsedTime, hipEventElapsedTime: milliseconds between two finished events with timing;
  /// kNotReady before that.
  Status (*event_elapsed)(float* milliseconds, Handle begin, Handle end) = nullptr;
  /// cuCtxRecordEvent: the event stands for all earlier work in every stream of `device`.
  /// Invalidates the device's captures. Null on HIP and before CUDA 12.5.
  Status (*record_all)(int device, Handle event) = nullptr;

  // --- Kernels.

  /// cuModuleLoadData, hipModuleLoadData: loads an image for the current device, compiling PTX; may
  /// take seconds. `image` is not used after the call. Unsafe in captures.
  Status (*module_load)(Handle* out, const void* image) = nullptr;
  /// cuModuleGetFunction, hipModuleGetFunction: the kernel belongs to the module. Unsafe in
  /// captures.
  Status (*module_function)(Handle* out, Handle module, const char* name) = nullptr;
  /// cuLaunchKernel, hipModuleLaunchKernel. `parameters` points to each argument, which is copied
  /// during the call; `extra` is nullptr.
  Status (*launch)(Handle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void** parameters, void** extra) = nullptr;
};

}  // namespace refarray::runtime
