// Owns the list of retired storages of the process, and when it is gone through.
#include "runtime/memory/deferred_free.hpp"

#include <array>
#include <exception>
#include <mutex>
#include <utility>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/runtime.hpp"

namespace refarray::runtime {
namespace {

// Above these whole devices are waited for, and above so many times as much whatever that costs.
constexpr std::size_t kMost = 64;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::size_t kMuch = 16;

thread_local int waiting_allowed = 0;

}  // namespace

/// Linked through the storages themselves, so that retiring one cannot fail.
class RetiredList {
 public:
  void add(TrackedStorage* storage, std::size_t nbytes) noexcept {
    const std::lock_guard guard(lock_);
    storage->retired_bytes_ = nbytes;
    storage->next_ = std::exchange(first_, storage);
    ++count_;
    bytes_ += nbytes;
  }
  /// What to wait for before more memory is asked for.
  Wait urgency() noexcept {
    const std::lock_guard guard(lock_);
    if (count_ >= kMuch * kMost || bytes_ >= kMuch * kMostBytes) return Wait::kForSure;
    return count_ >= kMost || bytes_ >= kMostBytes ? Wait::kForDevices : Wait::kForNothing;
  }
  /// Goes through what is there now; what is given back may retire others, which wait for the next
  /// time.
  void collect(Wait wait) noexcept {
    Devices idle{};
    each([wait, &idle](TrackedStorage& storage) {
      if (wait != Wait::kForNothing && wait_for(storage, wait, idle) != Waited::kYes) return false;
      return storage.uses.lent_to() == 0 && storage.uses.is_finished();
    });
  }
  void collect_foreign() noexcept {
    Devices idle{};
    each([&idle](TrackedStorage& storage) {
      return storage.foreign() && wait_for(storage, Wait::kForSure, idle) != Waited::kRefused;
    });
  }

 private:
  enum class Waited : std::uint8_t { kYes, kFailed, kRefused };
  /// Those of either vendor that have been waited for since the list was taken: once is enough.
  using Devices = std::array<std::uint64_t, 2>;

  template <class IsIdle>
  void each(IsIdle is_idle) noexcept {
    TrackedStorage* next = take_all();
    while (next != nullptr) {
      TrackedStorage* storage = next;
      next = std::exchange(storage->next_, nullptr);
      const std::size_t nbytes = storage->retired_bytes_;
      if (!is_idle(*storage) || !storage->finish_(storage)) add(storage, nbytes);
    }
  }

  TrackedStorage* take_all() noexcept {
    const std::lock_guard guard(lock_);
    count_ = 0;
    bytes_ = 0;
    return std::exchange(first_, nullptr);
  }

  /// Waits for the devices on which somebody may be using the memory, and for what we did to it.
  static Waited wait_for(TrackedStorage& storage, Wait wait, Devices& idle) noexcept {
    const Driver* driver = loaded_driver(vendor_of(storage.device().kind));
    if (driver == nullptr) return Waited::kFailed;
    if (storage.uses.lent_to() != 0) {
      if (wait == Wait::kForOurs) return Waited::kRefused;
      std::uint64_t& done = idle[static_cast<std::size_t>(driver->vendor)];
      const Waited devices = wait_for_devices(*driver, storage.uses.lent_to(), wait, done);
      if (devices != Waited::kYes) return devices;
      storage.uses.end_lending();
    }
    try {  // boundary: a driver that fails keeps the memory, and is asked again another time
      storage.uses.wait_on_host(/*writes=*/true);
      return Waited::kYes;
    } catch (const core::Error& error) {  // boundary: as above
      return error.fault() == core::Fault::kBuffer ? Waited::kRefused : Waited::kFailed;
    } catch (const std::exception&) {  // boundary: as above
      return Waited::kFailed;
    }
  }

  static Waited wait_for_devices(const Driver& driver, std::uint64_t devices, Wait wait,
                                 std::uint64_t& done) noexcept {
    for (const auto& unit : driver.units) {
      if ((devices & ~done & unit->bit()) == 0) continue;
      const TryOnDevice here(*unit);
      if (!here) return Waited::kFailed;
      if (unit->is_capturing(/*ours=*/wait == Wait::kForSure)) return Waited::kRefused;
      if (driver.api.device_synchronize() != kSuccess) return Waited::kFailed;
      unit->forget_captures();
      done |= unit->bit();
    }
    return Waited::kYes;
  }

  std::mutex lock_;
  TrackedStorage* first_ = nullptr;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

namespace {

RetiredList& retired() {
  static auto& list = *new RetiredList;  // outlives every array
  return list;
}

}  // namespace

MayWait::MayWait() noexcept { ++waiting_allowed; }
MayWait::~MayWait() { --waiting_allowed; }
bool may_wait() noexcept { return waiting_allowed > 0; }

void retire(TrackedStorage* storage, std::size_t nbytes) noexcept {
  retired().add(storage, nbytes);
}

void collect(Wait wait) noexcept {
  if (may_wait() && !is_forked()) retired().collect(wait);
}

void collect_foreign() noexcept {
  if (may_wait() && !is_forked()) retired().collect_foreign();
}

void collect_before_allocation() noexcept { collect(retired().urgency()); }

}  // namespace refarray::runtime
