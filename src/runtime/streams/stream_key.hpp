// Owns what makes two streams the same one, and what streams are made of inside this layer.
#pragma once

#include <cstdint>

#include "runtime/device_context.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

inline const Handle kLegacyHandle = reinterpret_cast<Handle>(std::uintptr_t{1});
inline const Handle kPerThreadHandle = reinterpret_cast<Handle>(std::uintptr_t{2});

/// ROCm's default stream is the null handle: HIP dereferences 1 and 2 (ROCm/rocm-systems#11011).
inline Handle legacy_handle(Vendor vendor) noexcept {
  return vendor == Vendor::kCuda ? kLegacyHandle : nullptr;
}

/// A number of the calling thread's that no other thread ever has.
std::uint32_t thread_number() noexcept;

/// A stream to compare with: the default streams are another one on each device, and the per-thread
/// one another one in each thread.
struct StreamKey {
  const DeviceContext* unit;
  Handle handle;
  std::uint32_t thread = 0;

  StreamKey(const DeviceContext& of, Handle stream) noexcept
      : unit(&of),
        handle(stream),
        thread(of.driver.vendor == Vendor::kCuda && stream == kPerThreadHandle ? thread_number()
                                                                               : 0) {}

  bool is_default() const noexcept {
    return handle == legacy_handle(unit->driver.vendor) || thread != 0;
  }
  friend bool operator==(const StreamKey& a, const StreamKey& b) noexcept {
    if (a.handle != b.handle || a.thread != b.thread) return false;
    return a.is_default() ? a.unit == b.unit : &a.unit->driver == &b.unit->driver;
  }
};

core::Device device_of(const DeviceContext& unit) noexcept;
StreamPtr current_stream_of(DeviceContext& unit);
/// The device must be current.
EventPtr pooled_event(DeviceContext& unit);

}  // namespace refarray::runtime
