// Owns streams and events as the layers above see them: what work on a device is ordered by.
#pragma once

#include <cstdint>
#include <memory>

#include "refarray/core/device.hpp"

namespace refarray::runtime {

class DeviceContext;

/// A stream of a device: one of our own, a default stream, or a handle that somebody else owns and
/// keeps alive for as long as arrays are used on it. Safe to share between threads.
class Stream {
 public:
  enum class Kind : std::uint8_t { kOwn, kExternal, kLegacy, kPerThread };

  Stream(DeviceContext& unit, Kind kind, void* handle) noexcept
      : unit_(unit), kind_(kind), handle_(handle) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();  // an own stream is destroyed; work that is in it goes on

  DeviceContext& unit() const noexcept { return unit_; }
  Kind kind() const noexcept { return kind_; }
  /// As the driver takes it: 1 and 2 for CUDA's default streams, nullptr for ROCm's.
  void* handle() const noexcept { return handle_; }
  core::Device device() const noexcept;

 private:
  DeviceContext& unit_;
  Kind kind_;
  void* handle_;
};
using StreamPtr = std::shared_ptr<Stream>;

/// A moment in a stream. Recording again moves it; whoever waited before waits for the old moment.
class Event {
 public:
  Event(DeviceContext& unit, void* handle, bool pooled) noexcept
      : unit_(unit), handle_(handle), pooled_(pooled) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();  // also while work waits for it

  DeviceContext& unit() const noexcept { return unit_; }
  void* handle() const noexcept { return handle_; }

 private:
  DeviceContext& unit_;
  void* handle_;
  bool pooled_;
};
using EventPtr = std::shared_ptr<Event>;

/// All of these throw kBuffer when the device cannot be used, and DriverError.

/// A stream that nobody else orders work by: it does not wait for the legacy default stream.
StreamPtr new_stream(const core::Device& device);
/// The legacy default stream; with CUDA also the calling thread's own default stream.
StreamPtr legacy_stream(const core::Device& device);
StreamPtr per_thread_stream(const core::Device& device);
/// A handle as another library gives it: 0 is the legacy default stream. Throws kValue for the
/// values that a vendor does not have, kBuffer when the driver says it is of another device.
StreamPtr external_stream(const core::Device& device, std::uint64_t handle);

/// The stream that the calling thread works on; the legacy default stream unless it chose another.
StreamPtr current_stream(const core::Device& device);
/// Chooses for the stream's device; returns what was chosen before, nullptr for nothing.
StreamPtr set_current_stream(const StreamPtr& stream);
void reset_current_stream(const core::Device& device, const StreamPtr& before) noexcept;

/// Waits on the host. The caller must not hold the GIL.
void synchronize(const Stream& stream);
void synchronize(const core::Device& device);
void synchronize(const Event& event);
/// Whether all work so far is done; does not wait.
bool is_done(const Stream& stream);
bool is_done(const Event& event);

/// `timing`: elapsed_ms() can be asked between two of such.
EventPtr new_event(const core::Device& device, bool timing);
void record(const Event& event, const Stream& stream);
/// Work put into `stream` from now on waits for the event, which may be of another device.
void wait(const Stream& stream, const Event& event);
float elapsed_ms(const Event& begin, const Event& end);

}  // namespace refarray::runtime
