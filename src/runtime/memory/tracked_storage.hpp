// TrackedStorage: storage that a device may still be using.
#pragma once

#include <cstddef>

#include "core/memory/storage.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {

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
