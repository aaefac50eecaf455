// StreamKey: stream identity; helpers of the runtime layer for streams.
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

/// A number that is unique to the calling thread for the life of the process.
std::uint32_t thread_number() noexcept;

/// Identifies a stream. Handles of default streams are shared: each device has its own legacy
/// stream, and each thread its own per-thread default stream on each device. Drivers give the
/// handle of a destroyed stream to the next one. So another library's handle identifies a stream
/// only while the Stream object lives that it was given with; a bare handle equals none of these.
struct StreamKey {
  const DeviceContext* context;
  Handle handle;
  std::uint32_t thread = 0;
  const Stream* external = nullptr;  // the object with another library's handle; not owned

  StreamKey(const DeviceContext& of, Handle stream) noexcept
      : context(&of),
        handle(stream),
        thread(of.driver.vendor == Vendor::kCuda && stream == kPerThreadHandle ? thread_number()
                                                                               : 0) {}
  explicit StreamKey(const Stream& stream) noexcept : StreamKey(stream.context(), stream.handle()) {
    if (stream.kind() == Stream::Kind::kExternal) external = &stream;
  }

  bool is_default() const noexcept {
    return handle == legacy_handle(context->driver.vendor) || thread != 0;
  }
  friend bool operator==(const StreamKey& a, const StreamKey& b) noexcept {
    if (a.handle != b.handle || a.thread != b.thread || a.external != b.external) return false;
    return a.is_default() ? a.context == b.context : &a.context->driver == &b.context->driver;
  }
};

core::Device device_of(const DeviceContext& context) noexcept;
StreamPtr current_stream_of(DeviceContext& context);
/// `wanted` if it is a stream of the device, else the device's current stream.
StreamPtr stream_on(DeviceContext& context, const StreamPtr& wanted);
/// Asks the driver about a stream that is not a default one, if it can tell more than `facts`,
/// whose device is the context's. Changes nothing if that fails.
Status query_stream(const DeviceContext& context, Handle stream, StreamFacts& facts) noexcept;
/// A Stream for another library's handle. Throws kBuffer if it is of a context that is not the
/// device's primary one: our events are of that one.
StreamPtr foreign_stream(const DeviceContext& context, Handle handle, const StreamFacts& facts);
/// The device must be current. A pooled event returns to the cache, another one is destroyed.
EventPtr pooled_event(DeviceContext& context);
EventPtr single_use_event(DeviceContext& context);
/// record() for work that is known to belong to the capture of that id, or to none (0). The device
/// must be current.
void record_in(Event& event, const StreamPtr& stream, unsigned long long capture);

}  // namespace refarray::runtime
