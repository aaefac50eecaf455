// Stream and Event: the driver's streams and events as the layers above use them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "refarray/core/device.hpp"
#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

class DeviceContext;

/// A stream of a device: created by us, a default stream, or another library's handle, which its
/// owner must keep alive as long as the object. What is kept for longer is a KeptStream.
/// Thread-safe.
class Stream {
 public:
  enum class Kind : std::uint8_t { kOwn, kExternal, kLegacy, kPerThread };

  Stream(DeviceContext& context, Kind kind, void* handle) noexcept
      : context_(context), kind_(kind), handle_(handle), may_capture_(kind != Kind::kOwn) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();  // destroys the handle if we created it; enqueued work still runs

  DeviceContext& context() const noexcept { return context_; }
  Kind kind() const noexcept { return kind_; }
  /// The driver's handle: 1 and 2 for CUDA's default streams, nullptr for ROCm's.
  void* handle() const noexcept { return handle_; }
  /// The handle for somebody else, who may capture graphs in the stream from now on.
  void* give_handle() noexcept {
    note_may_capture();
    return handle_;
  }
  /// False of a stream of ours whose handle nobody else has, and that has joined no capture: it
  /// captures nothing, so that the driver need not be asked.
  bool may_capture() const noexcept { return may_capture_.load(std::memory_order_acquire); }
  void note_may_capture() const noexcept { may_capture_.store(true, std::memory_order_release); }
  core::Device device() const noexcept;

 private:
  DeviceContext& context_;
  Kind kind_;
  void* handle_;
  mutable std::atomic<bool> may_capture_;
};
/// Made by make_shared, so that weak pointers keep the address, which identifies a stream of
/// another library, from being used again.
using StreamPtr = std::shared_ptr<Stream>;

/// A stream that is remembered beyond a call. One of ours lives as long as this. Another library's
/// ends when its owner destroys it, at the earliest when the last StreamPtr is dropped: from then
/// on its handle is not used.
class KeptStream {
 public:
  KeptStream() noexcept = default;
  KeptStream(const StreamPtr& stream) noexcept  // NOLINT: every StreamPtr may be kept
      : ours_(stream->kind() == Stream::Kind::kExternal ? nullptr : stream), any_(stream) {}
  /// The stream for as long as its handle is used; nullptr if it may have ended.
  StreamPtr lock() const noexcept { return any_.lock(); }

 private:
  StreamPtr ours_;
  std::weak_ptr<Stream> any_;
};

/// An event. Recording it again does not affect waits that are already enqueued. It keeps the
/// stream that it was recorded on alive: on ROCm, waits for an event of a destroyed stream do
/// nothing. Thread-safe.
class Event {
 public:
  enum class Kind : std::uint8_t { kPooled, kPlain, kTiming, kInterprocess };

  Event(DeviceContext& context, void* handle, Kind kind) noexcept
      : context_(context), handle_(handle), kind_(kind) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();  // legal while work waits for the event

  DeviceContext& context() const noexcept { return context_; }
  Kind kind() const noexcept { return kind_; }
  void* handle() const noexcept { return handle_.load(std::memory_order_acquire); }
  /// Other processes may use it from now on, so that it is never destroyed: they must not use it
  /// after that, and nobody knows when they have finished.
  void note_exported() noexcept { is_exported_.store(true, std::memory_order_relaxed); }
  /// Replaces the driver's event by a new one. The device must be current. Throws.
  void renew();
  /// After each record(): the stream, and the id of the graph capture it belonged to, or 0.
  void note_record(KeptStream stream, unsigned long long capture) noexcept;
  bool is_recorded() noexcept;
  unsigned long long capture() noexcept;

 private:
  DeviceContext& context_;
  std::atomic<void*> handle_;
  void* previous_ = nullptr;  // before renew(): another thread may be about to use it
  Kind kind_;
  std::atomic<bool> is_exported_{false};
  std::mutex lock_;
  KeptStream stream_;               // of the latest record()
  unsigned long long capture_ = 0;  // likewise
  bool is_recorded_ = false;
};
using EventPtr = std::shared_ptr<Event>;

/// All functions below throw kBuffer if the device cannot be used, and DriverError.

/// A new non-blocking stream: not ordered with the legacy default stream.
StreamPtr new_stream(const core::Device& device);
/// The legacy default stream; on CUDA also the calling thread's per-thread default stream.
StreamPtr legacy_stream(const core::Device& device);
StreamPtr per_thread_stream(const core::Device& device);
/// Another library's handle; 0 is the legacy default stream. Throws kValue for values the vendor
/// does not define, kBuffer if the driver reports another device or another context than its
/// primary one.
StreamPtr external_stream(const core::Device& device, std::uint64_t handle);

/// The calling thread's current stream of the device; initially the legacy default stream.
StreamPtr current_stream(const core::Device& device);
/// Sets the current stream of the stream's device. Returns the previous one; nullptr if none was
/// set.
StreamPtr set_current_stream(const StreamPtr& stream);
void reset_current_stream(const core::Device& device, const StreamPtr& before) noexcept;

/// Blocks the host. The caller must not hold the GIL. Throws kBuffer where that would invalidate a
/// graph capture: of the stream, of a stream that the driver can be asked about, of the event.
void synchronize(const Stream& stream);
void synchronize(const core::Device& device);
void synchronize(Event& event);
/// Whether all work so far has finished; does not block. Throws kBuffer as synchronize().
bool is_done(const Stream& stream);
bool is_done(Event& event);

/// `kind`: kTiming if the event may be passed to elapsed_ms(), kInterprocess if other processes may
/// open it, else kPlain. Throws kBuffer where the driver has no such events.
EventPtr new_event(const core::Device& device, Event::Kind kind);
/// By which another process opens the event. Throws kBuffer unless it is of kind kInterprocess.
struct SharedEvent {
  core::DeviceKind kind;  // kCuda or kRocm
  Uuid device;
  EventHandle handle;
};
SharedEvent share(Event& event);
/// The event of another process. Throws kBuffer, DriverError.
EventPtr open_event(const SharedEvent& shared);
/// The device of this process with that UUID. Both come from another process and are checked.
/// Throws kBuffer.
DeviceContext& context_of(core::DeviceKind kind, const Uuid& device);
/// Throws kBuffer if the stream cannot be used because of another stream's capture.
void record(Event& event, const StreamPtr& stream);
/// Work enqueued on `stream` from now on waits for the event, which may be of another device. A
/// capturing stream can wait for events of its own capture only, and the legacy default stream for
/// none of a capture: throws kBuffer, because the call would invalidate the capture.
void wait(const Stream& stream, Event& event);
/// Throws kValue if the events are of two devices.
float elapsed_ms(Event& begin, Event& end);

}  // namespace refarray::runtime
