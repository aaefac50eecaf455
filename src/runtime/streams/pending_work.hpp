// Owns Uses: the work on a storage that may be unfinished, what new work has to wait for, and who
// outside may still be using the memory.
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

/// One piece of work. Without an event its end has not been marked yet: the stream is one that can
/// be asked to mark it at any time, and then marks what came after it too.
struct Use {
  EventPtr event;
  StreamPtr stream;  // kept alive while it has work of ours; nullptr for a stranger's
  StreamKey key;
  bool writes;
  unsigned long long capture = 0;  // the graph capture that it belongs to; 0: none
};

/// Is the stream capturing a graph, and which?
struct Capture {
  bool active = false;
  unsigned long long id =
      0;  // 0 while active: a capture that was invalidated, or of another stream
};
/// Does not disturb a capture. The device must be current. Throws.
Capture capture_of(DeviceContext& unit, Handle stream);
/// Throws kBuffer when the stream captures: `what` cannot become part of a graph.
void refuse_capture(DeviceContext& unit, Handle stream, const char* what);

/// Thread-safe. Whoever calls must not hold the GIL, except for is_ready_on().
class Uses {
 public:
  /// Whether work on that stream need not wait for anything. Takes no lock where all work is on it.
  bool is_ready_on(const StreamKey& stream, bool writes) {
    const void* only = only_on_.load(std::memory_order_acquire);
    if (only == kIdle || (only != nullptr && only == token_of(stream))) return true;
    return is_ready_by_each(stream, writes);
  }
  /// Throws kBuffer, having done nothing, when order_before() would spoil a graph capture. The
  /// stream's device must be current.
  void check_before(DeviceContext& unit, Handle stream, bool writes);
  /// Makes the stream wait for every use that the new one conflicts with. The stream's device must
  /// be current. Throws kBuffer, having done nothing, when that would spoil a graph capture.
  void order_before(DeviceContext& unit, Handle stream, bool writes);
  /// Waits on the host. Throws.
  void wait_on_host(bool writes);
  /// Adds a use; one that writes takes the place of those before it, because it waited for them.
  void add(Use use);
  /// Marks the ends of all uses, as far as that can be done now.
  void mark_all() noexcept;
  bool is_empty();
  /// Memory allocated in a stream's order goes back in it: consumers on that stream are ordered
  /// before that without being known.
  void set_home(const StreamKey& stream) { home_ = stream; }
  bool is_home(const StreamKey& stream) const { return home_ && *home_ == stream; }

  /// A consumer of ours works on that device, on streams that only it knows.
  void lend(const DeviceContext& unit) noexcept;
  std::uint64_t lent_to() const noexcept { return lent_.load(std::memory_order_acquire); }

  /// Whether all is known to be done, lent memory not counted.
  bool is_finished() noexcept;
  /// Forgets to whom it was lent: the devices have been waited for.
  void end_lending() noexcept { lent_.store(0, std::memory_order_release); }
  /// For the last drop, when the uses are nobody else's.
  std::vector<Use>& last() noexcept { return uses_; }

 private:
  /// What stands for a stream alone among those that work on one storage; nullptr where more would
  /// have to be compared. A default stream's handle is the same on every device of its vendor.
  static const void* token_of(const StreamKey& stream) noexcept {
    if (stream.thread != 0) return nullptr;
    return stream.is_default() ? static_cast<const void*>(stream.unit) : stream.handle;
  }
  bool is_ready_by_each(const StreamKey& stream, bool writes);
  /// Whether the stream has something to wait for, and the capture that it is in. Whatever may be
  /// refused is refused here. Under the lock.
  bool has_to_wait(DeviceContext& unit, Handle stream, bool writes, Capture& capture);
  /// After each change of what is unfinished. Under the lock.
  void note_change() noexcept;

  static constexpr char kNothing = 0;
  static constexpr const void* kIdle = &kNothing;

  std::mutex lock_;
  std::vector<Use> uses_;
  /// What an export has to know, without the lock: the stream that all uses are on, kIdle when
  /// there are none, nullptr when only `uses_` can tell.
  std::atomic<const void*> only_on_{kIdle};
  std::atomic<std::uint64_t> lent_{0};  // a bit for each device
  std::optional<StreamKey> home_;       // written before anybody shares the storage
};

/// Marks the end of a use on its stream, if that was not done. Throws kBuffer, having done nothing,
/// when the stream has begun a graph capture since.
const EventPtr& event_of(Use& use);
/// What is in the stream now, as a use. promise() marks its end only when somebody has to wait for
/// it, if the stream can still be asked then. Throw.
Use mark(const StreamPtr& stream, bool writes, unsigned long long capture = 0);
Use promise(const StreamPtr& stream, bool writes, const Capture& capture = {});
/// Whether it is part of a graph whose capture has ended. Such work runs when somebody launches the
/// graph, unseen by us: whoever launches orders it, and nothing here waits for it any more.
bool is_past(const Use& use) noexcept;
/// Whether the work is known to be done; false when it cannot be asked.
bool is_finished(const Use& use) noexcept;

/// Storage whose memory is used by work that may be unfinished: all but the CPU's own.
class TrackedStorage : public core::Storage {
 public:
  /// Gives the memory back and deletes the object; false, having done neither, when that failed and
  /// may be tried again. All work is done by then. It may wait, and runs without the GIL.
  using Finish = bool (*)(TrackedStorage*) noexcept;

  TrackedStorage(std::byte* data, core::Device device, bool writable, bool foreign,
                 Destroy destroyer, Finish finish) noexcept
      : Storage(data, device, writable, foreign, destroyer, /*tracked=*/true), finish_(finish) {}
  Uses uses;

 private:
  friend class RetiredList;
  Finish finish_;
  TrackedStorage* next_ = nullptr;  // in the list of those that wait for their work
  std::size_t retired_bytes_ = 0;
};

/// nullptr for memory of the CPU's own.
inline TrackedStorage* tracked(core::Storage* storage) noexcept {
  return storage != nullptr && storage->tracked() ? static_cast<TrackedStorage*>(storage) : nullptr;
}

}  // namespace refarray::runtime
