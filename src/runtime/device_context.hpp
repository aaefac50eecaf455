// DeviceContext: one device of a driver, with its memory pool, event cache, kernels, staging memory
// and known graph captures.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/copy/staging.hpp"
#include "runtime/drivers/devices.hpp"
#include "runtime/drivers/driver.hpp"
#include "runtime/kernels/kernel_module.hpp"

namespace refarray::runtime {

class DeviceContext {
 public:
  Driver& driver;
  const int id;
  const DeviceTraits traits;
  KernelModule kernel_module;
  StagingRing staging;
  // Whether the device has been made current once; the first time is slow.
  std::atomic<bool> is_ready{false};

  DeviceContext(Driver& owner, int number, DeviceTraits has) noexcept
      : driver(owner), id(number), traits(has) {}

  const DriverTable& api() const noexcept { return driver.api; }
  std::uint64_t bit() const noexcept { return std::uint64_t{1} << (id & 63); }
  void check(Status status, const char* call) const { driver.check(status, call); }

  /// Our memory pool, created on first use. The device must be current, and the thread in relaxed
  /// capture mode. Throws.
  Handle pool();
  /// Returns the pool's free memory to the driver, if there is a pool. The device must be current.
  void trim_pool() noexcept;
  /// The stream that frees are ordered on when no other stream may be used; created on first use.
  /// nullptr if it cannot be created.
  Handle free_stream() noexcept;
  /// A stream of ours that is never destroyed, for work that follows another library's stream: idle
  /// if one of the few is, else one that also waits for others. The device must be current. Throws.
  Handle relay();

  /// An event without timing, from the cache or new. Throws.
  Handle take_event();
  void return_event(Handle event) noexcept;

  /// Destroys a stream or an event of ours. If the device cannot be made current now, it is
  /// destroyed when the next one is made or destroyed.
  using Destroy = Status (*DriverTable::*)(Handle);
  void destroy(Handle handle, Destroy function) noexcept;
  /// Destroys what destroy() left. The device must be current.
  void destroy_left() noexcept;

  /// Records whether `stream` was found capturing. After the first capture, calls that would
  /// invalidate captures are avoided, even where that means waiting.
  void note_capture(Handle stream, bool captures) noexcept;
  /// note_capture() with what the driver says of the stream, if it answers. The device must be
  /// current.
  void note_capture_of(Handle stream) noexcept;
  /// Whether calls that affect all streams of the device may invalidate a capture. Other libraries'
  /// captures are invisible in non-blocking streams that were never passed to us. The device must
  /// be current.
  bool may_invalidate_capture() noexcept;
  /// Whether a capture may be active. Other libraries' streams are not queried, since they may have
  /// been destroyed: they count as capturing if they were when last seen, unless
  /// `own_streams_only`. The device must be current.
  bool may_be_capturing(bool own_streams_only) noexcept;
  /// Whether a stream that may be queried is known to capture. A failed query is no answer: the
  /// call that follows reports the failure. The device must be current.
  bool is_known_capturing() noexcept;
  /// The device has been synchronized, so nothing on it captures.
  void clear_captures() noexcept;

  /// Whether any library has initialised the device: only then can work run there.
  bool is_in_use() const noexcept;

  /// Registers streams that we created and may therefore query at any time.
  void add_stream(const StreamPtr& stream);
  void remove_stream(Handle stream) noexcept;
  /// The one with that handle; nullptr if there is none.
  StreamPtr own_stream(Handle stream) noexcept;

 private:
  /// Whether one of our own streams captures, or the legacy default stream may not be used because
  /// another stream captures. streams_lock_ is held.
  bool has_active_capture() noexcept;
  /// Whether `captures` is true of the legacy default stream or of one of ours that others know.
  /// streams_lock_ is held.
  template <class Captures>
  bool is_any_stream(Captures captures) noexcept;

  std::mutex lock_;
  Handle pool_ = nullptr;
  Handle free_stream_ = nullptr;
  std::vector<Handle> relays_;
  std::size_t next_relay_ = 0;
  std::vector<Handle> events_;
  struct Undestroyed {
    Handle handle;
    Destroy function;
  };
  std::vector<Undestroyed> undestroyed_;
  std::mutex streams_lock_;  // of the members below
  struct OwnStream {
    Handle handle;
    const Stream* alive;  // whose destructor removes it from the list
    std::weak_ptr<Stream> object;
  };
  std::vector<OwnStream> streams_;
  std::vector<Handle> capturing_;  // other libraries' streams that captured when last seen
  std::atomic<bool> has_seen_capture_{false};
};

}  // namespace refarray::runtime
