// PendingWork: the unfinished work on one storage, and what new work has to wait for.
// TrackedStorage: storage that a device may still be using.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/memory/storage.hpp"
#include "runtime/streams/stream.hpp"
#include "runtime/streams/stream_key.hpp"

namespace refarray::runtime {

/// One read or write by work in a stream. `event` marks the end of the work. It may be null for a
/// stream that can be queried at any time; it is then recorded when someone has to wait, and covers
/// later work in the stream too.
struct PendingUse {
  EventPtr event;
  KeptStream stream;  // empty for other libraries' work
  StreamKey key;
  bool writes;
  unsigned long long capture = 0;  // id of the graph capture the work belongs to; 0: none
  std::uint64_t number = 0;        // counts the uses of a storage; set by PendingWork::add()
};

/// A stream's graph capture.
struct Capture {
  bool active = false;
  unsigned long long id = 0;  // 0 while active: the capture is invalidated, or is another stream's
};
/// Never disturbs a capture. The device must be current. Throws DriverError.
Capture capture_of(DeviceContext& context, Handle stream);
Capture capture_of(const Stream& stream);
/// Throws kBuffer if the stream is capturing; `what` names the operation that cannot be captured.
void refuse_capture(DeviceContext& context, Handle stream, const char* what);
/// Throws kBuffer if a stream of the device captures that the driver can be asked about: ours, or
/// one that is ordered with the legacy default stream. The device must be current.
void refuse_capture_on(DeviceContext& context, const char* what);

/// Thread-safe. The caller must not hold the GIL, except for is_ready_on() and is_empty(): a thread
/// that holds the lock may be in a driver call.
class PendingWork {
 public:
  /// Whether new work on `stream` need not wait. Lock-free if all pending work is on one stream.
  /// Does not block: false while another thread works on the list.
  bool is_ready_on(const StreamKey& stream, bool writes) {
    const void* only = sole_stream_.load(std::memory_order_acquire);
    if (only == kIdle || (only != nullptr && only == identity_of(stream))) return true;
    return is_ready_on_slow_path(stream, writes);
  }
  /// Whether all pending work is on `stream`, a default stream or one that we created: we keep it
  /// alive, so its handle is not reused. Lock-free.
  bool is_sole_stream(const StreamKey& stream) const noexcept {
    const void* only = sole_stream_.load(std::memory_order_acquire);
    return only != nullptr && stream.external == nullptr && only == identity_of(stream);
  }
  /// Throws kBuffer, without side effects, if make_stream_wait() would invalidate a graph capture.
  /// The stream's device must be current.
  void check_can_wait(DeviceContext& context, const StreamKey& stream, bool writes);
  /// Makes `stream` wait for all pending work that conflicts with a read or, with `writes`, a
  /// write. Returns the number of the newest use it considered. The stream's device must be
  /// current. Throws kBuffer, without side effects, if that would invalidate a graph capture.
  /// `asked`: becomes whether the driver was asked for the stream's capture.
  std::uint64_t make_stream_wait(DeviceContext& context, const StreamKey& stream, bool writes,
                                 bool* asked = nullptr);
  /// Throws kBuffer, without side effects, if wait_on_host() would invalidate a graph capture.
  void check_can_wait_on_host(bool writes);
  /// Blocks until the host may read or, with `writes`, write. Throws kBuffer, DriverError.
  void wait_on_host(bool writes);
  /// Adds work that has waited for the conflicting uses up to number `waited_for`, the result of
  /// make_stream_wait(). It replaces them: later waits for it include theirs. Uses that other
  /// threads added since are kept.
  void add(PendingUse use, std::uint64_t waited_for);
  /// The number of the newest use; 0 if there was none.
  std::uint64_t newest();
  /// Records the missing events, as far as possible now.
  void record_events() noexcept;
  bool is_empty() const noexcept { return sole_stream_.load(std::memory_order_acquire) == kIdle; }
  /// Stream-ordered memory is freed on its allocation stream. Consumers that work on that stream
  /// are ordered before the free, so they need not be tracked with mark_exported().
  void set_allocation_stream(const StreamKey& stream) { allocation_stream_ = stream; }
  bool is_allocation_stream(const StreamKey& stream) const {
    return allocation_stream_ && *allocation_stream_ == stream;
  }

  /// The memory was exported to a consumer that works on the device, on streams only it knows.
  void mark_exported(const DeviceContext& context) noexcept;
  std::uint64_t exported_to() const noexcept { return exported_.load(std::memory_order_acquire); }
  /// The consumer's stream is of another context of the device than its primary one, which events
  /// and waits for the device do not cover.
  void mark_exported_to_other_context(DeviceContext& device, Handle context);
  /// Orders the free streams of the devices after all earlier work in those contexts, so that
  /// events and waits for the devices cover it. Once, when the last owner of the memory lets go of
  /// it: the contexts may be destroyed then. Returns false if that was not possible yet; only with
  /// `may_block` may the host wait. No other thread can reach the storage.
  bool join_other_contexts(bool may_block) noexcept {
    return other_contexts_.empty() || try_join_other_contexts(may_block);
  }

  /// Consumers work on streams only they know. Where the driver has an event for all work of a
  /// device, and no capture would be invalidated, such events stand for the exports from now on.
  /// `events`: those recorded since the last owner let go, which serve again. Returns false if
  /// exports are left. Other requirements as join_other_contexts().
  bool cover_exports(Vendor vendor, std::vector<EventPtr>& events) noexcept;

  /// Whether all pending work is known to have finished; exports are not considered. `busy`: an
  /// event that is not asked again, as it was not done; becomes the one that is not.
  bool is_finished(const Event*& busy) noexcept;
  bool is_finished() noexcept {
    const Event* busy = nullptr;
    return is_finished(busy);
  }
  /// Forgets all exports, once their devices have been synchronized.
  void clear_exported() noexcept { exported_.store(0, std::memory_order_release); }
  /// For the destructor's use, when no other thread can reach the storage.
  std::vector<PendingUse>& uses() noexcept { return uses_; }

 private:
  /// Identifies a stream among those used with one storage; nullptr if only a full comparison can
  /// tell. Default streams have the same handle on every device, so their context stands for them.
  static const void* identity_of(const StreamKey& stream) noexcept {
    if (stream.thread != 0) return nullptr;
    if (stream.external != nullptr) return stream.external;
    return stream.is_default() ? static_cast<const void*>(stream.context) : stream.handle;
  }
  bool is_ready_on_slow_path(const StreamKey& stream, bool writes);
  /// Whether `stream` has to wait, and the capture it belongs to. Performs all checks that can
  /// fail and records no event. The lock is held.
  bool prepare_wait(DeviceContext& context, const StreamKey& stream, bool writes, Capture& capture);
  /// All checks of wait_on_host() that can fail; records no event. The lock is held.
  void prepare_host_wait(bool writes);
  void forget_ended_captures() noexcept;
  bool try_join_other_contexts(bool may_block) noexcept;
  /// Updates sole_stream_ after `uses_` changed. The lock is held.
  void update_sole_stream() noexcept;

  /// With more uses in the list, add() asks the driver which have finished: reads in ever new
  /// streams replace nothing.
  static constexpr std::size_t kMaxUnchecked = 16;
  static constexpr char kNothing = 0;
  static constexpr const void* kIdle = &kNothing;

  std::mutex lock_;
  std::vector<PendingUse> uses_;
  std::uint64_t newest_ = 0;
  /// For lock-free exports: the stream of all pending work, kIdle if there is none, nullptr if
  /// `uses_` has to be searched.
  std::atomic<const void*> sole_stream_{kIdle};
  std::atomic<std::uint64_t> exported_{0};  // bit per device id
  struct OtherContext {
    DeviceContext* device;
    Handle context;
    bool operator==(const OtherContext&) const = default;
  };
  std::vector<OtherContext> other_contexts_;
  std::optional<StreamKey> allocation_stream_;  // set before the storage is shared
};

/// Records the event of a use that has none yet. Throws kBuffer, without side effects, if the
/// stream has begun a graph capture since.
const EventPtr& event_of(PendingUse& use);
/// A use that covers all work in the stream so far. unrecorded_use() defers recording the event
/// until someone has to wait, if the stream can still be queried then. Both throw.
PendingUse recorded_use(const StreamPtr& stream, bool writes, unsigned long long capture = 0);
PendingUse unrecorded_use(const StreamPtr& stream, bool writes, const Capture& capture = {});
/// Whether the use belongs to a graph capture that has ended. Such work runs when the graph is
/// launched, and its launcher orders it, so nothing waits for it here. If its stream can no longer
/// be asked, only work of the same capture still waits.
bool is_from_ended_capture(const PendingUse& use) noexcept;
/// Whether the work is known to have finished; false if it cannot be queried.
bool is_finished(const PendingUse& use) noexcept;

/// Storage in device, pinned or managed memory, with the work on it that may be unfinished.
class TrackedStorage : public core::Storage {
 public:
  /// Frees the memory and deletes the object. Called when all work on it has finished, without the
  /// GIL; may block. Returns false, without side effects, if freeing failed and may be retried.
  using FreeNow = bool (*)(TrackedStorage*) noexcept;

  TrackedStorage(std::byte* data, core::Device device, bool writable, bool foreign,
                 Destroy destroyer, FreeNow free_now) noexcept
      : Storage(data, device, writable, foreign, destroyer, /*tracked=*/true),
        free_now_(free_now) {}
  PendingWork pending;

 private:
  friend class DeferredFreeList;
  FreeNow free_now_;
  TrackedStorage* next_ = nullptr;  // in the DeferredFreeList
  std::size_t deferred_bytes_ = 0;
};

/// nullptr for pageable CPU memory, which has no pending work.
inline TrackedStorage* tracked(core::Storage* storage) noexcept {
  return storage != nullptr && storage->tracked() ? static_cast<TrackedStorage*>(storage) : nullptr;
}

}  // namespace refarray::runtime
