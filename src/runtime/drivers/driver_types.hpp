// The types and constants of the driver calls, the same for both vendors.
#pragma once

#include <cstdint>

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
inline constexpr Status kNotReady = 600;  // of a query: the work has not finished
/// A graph capture forbids the call, which was not carried out. kCaptureImplicit: the legacy
/// default stream was used while a stream that is ordered with it captures.
inline constexpr Status kFirstCaptureError = 900;
inline constexpr Status kCaptureImplicit = 906;
inline constexpr Status kLastCaptureError = 908;

inline constexpr unsigned kStreamNonBlocking = 1;  // not ordered with the legacy default stream
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kCaptureStatusActive = 1;  // 0 is none, 2 invalidated
inline constexpr int kCaptureModeRelaxed = 2;

struct DeviceTraits {
  bool has_pools = false;           // the stream-ordered allocator may be used; never on HIP
  bool concurrent_managed = false;  // the host may use managed memory while kernels run
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

}  // namespace refarray::runtime
