// Deferred frees: storages whose last reference is gone while a device may still use their memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "refarray/core/device.hpp"

namespace refarray::runtime {

class DeviceContext;
class TrackedStorage;

/// RAII: the calling thread holds no lock that others need (not the GIL), so it may wait for a
/// device. Memory is freed by blocking calls only while one of these lives.
class MayWait {
 public:
  MayWait() noexcept;
  MayWait(const MayWait&) = delete;
  MayWait& operator=(const MayWait&) = delete;
  ~MayWait();
};
bool may_wait() noexcept;

/// What collect() waits for before it frees.
enum class Wait : std::uint8_t {
  kForNothing,
  kForOurs,     // our own work on the memory
  kForDevices,  // also synchronizes devices on which consumers may use the memory, unless a graph
                // capture seen there may still be active
  // as kForDevices, unless a stream we can query is capturing now; this may invalidate another
  // library's capture
  kForSure,
};
/// Frees memory that is no longer in use, and calls the deleters of foreign memory that waited for
/// our work. Does nothing without a MayWait.
void collect(Wait wait) noexcept;
/// For interpreter shutdown, foreign memory only: waits for our work on it and for the devices it
/// was exported to, then calls the deleters. Work on a failed driver counts as finished. Does
/// nothing without a MayWait.
void collect_foreign() noexcept;
/// Returns memory of the device that nothing uses to the driver, as far as that needs no wait.
/// Throws kBuffer, DriverError.
void empty_cache(const core::Device& device);
/// collect() without a wait, for an allocation on the device. Returns what it should then wait for,
/// because very many frees are still deferred.
Wait collect_finished(const DeviceContext& context) noexcept;

/// Takes over a storage of `nbytes` bytes and frees it once the work on it is finished. Does not
/// allocate and does not wait.
void defer_free(TrackedStorage* storage, std::size_t nbytes) noexcept;

}  // namespace refarray::runtime
