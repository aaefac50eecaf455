// The process-wide list of deferred frees, and when it is processed.
#include "runtime/memory/deferred_free.hpp"

#include <array>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

/// How many frees are deferred, or how large a part of the device's memory, when an allocation puts
/// events behind the work of those that came since it did; synchronizes the devices; does so even
/// if that may invalidate another library's capture.
struct Limit {
  std::size_t count;
  std::size_t part;  // 1/part of the memory
};
constexpr Limit kManyNewFrees{64, 64};
constexpr Limit kTooManyFrees{256, 16};
constexpr Limit kTooManyWithoutEvents{64, 16};
constexpr Limit kUrgentFrees{1024, 4};

/// Deferred frees, and the bytes of their memory.
struct Amount {
  std::size_t count = 0;
  std::size_t bytes = 0;

  void add(std::size_t more) noexcept {
    ++count;
    bytes += more;
  }
  bool has_reached(const Limit& limit, std::size_t memory) const noexcept {
    return count >= limit.count || bytes >= memory / limit.part;
  }
};

thread_local int may_wait_depth = 0;

}  // namespace

/// An intrusive list, so that adding to it cannot fail.
class DeferredFreeList {
 public:
  void add(TrackedStorage* storage, std::size_t nbytes) noexcept {
    const std::lock_guard guard(lock_);
    put(storage, nbytes);
    new_.add(nbytes);
  }
  /// What an allocation should wait for first.
  Wait urgency(const DeviceContext& context) noexcept {
    const bool has_events = context.api().record_all != nullptr;
    const Limit& too_many = has_events ? kTooManyFrees : kTooManyWithoutEvents;
    const std::lock_guard guard(lock_);
    if (all_.has_reached(kUrgentFrees, context.traits.memory)) return Wait::kForSure;
    return all_.has_reached(too_many, context.traits.memory) ? Wait::kForDevices
                                                             : Wait::kForNothing;
  }
  /// Of many new frees: puts one event for each device behind the work of all consumers, which then
  /// need no wait. Returns false if there are few.
  bool cover_exports(std::size_t memory) noexcept {
    {
      const std::lock_guard guard(lock_);
      if (!new_.has_reached(kManyNewFrees, memory)) return false;
      new_ = {};
    }
    std::vector<EventPtr> events;
    std::array<bool, 2> is_possible{true, true};  // per vendor
    free_each([&](TrackedStorage& storage) {
      const Vendor vendor = vendor_of(storage.device().kind);
      bool& may_try = is_possible[static_cast<std::size_t>(vendor)];
      may_try = may_try && storage.pending.cover_exports(vendor, events);
      return false;
    });
    return true;
  }
  /// Processes the frees deferred so far. Freeing may defer others, which stay for the next call.
  void collect(Wait wait) noexcept {
    Devices synchronized{};
    const Event* busy = nullptr;  // most storages may wait for the same one
    free_each([&](TrackedStorage& storage) {
      if (wait != Wait::kForNothing &&
          wait_until_idle(storage, wait, synchronized) != Outcome::kDone)
        return false;
      return storage.pending.exported_to() == 0 && storage.pending.is_finished(busy);
    });
  }
  void collect_foreign() noexcept {
    Devices synchronized{};
    free_each([&synchronized](TrackedStorage& storage) {
      return storage.foreign() &&
             wait_until_idle(storage, Wait::kForSure, synchronized) != Outcome::kRefused;
    });
  }

 private:
  enum class Outcome : std::uint8_t { kDone, kFailed, kRefused };
  /// Bits of the devices synchronized by this call, per vendor: once is enough.
  using Devices = std::array<std::uint64_t, 2>;

  template <class IsUnused>
  void free_each(IsUnused is_unused) noexcept {
    TrackedStorage* next = take_all();
    while (next != nullptr) {
      TrackedStorage* storage = next;
      next = std::exchange(storage->next_, nullptr);
      const std::size_t nbytes = storage->deferred_bytes_;
      if (!is_unused(*storage) || !storage->free_now_(storage)) {
        const std::lock_guard guard(lock_);
        put(storage, nbytes);
      }
    }
  }

  /// The lock is held.
  void put(TrackedStorage* storage, std::size_t nbytes) noexcept {
    storage->deferred_bytes_ = nbytes;
    storage->next_ = std::exchange(head_, storage);
    all_.add(nbytes);
  }

  TrackedStorage* take_all() noexcept {
    const std::lock_guard guard(lock_);
    all_ = {};
    return std::exchange(head_, nullptr);
  }

  /// Waits for the devices the memory was exported to, then for our own work on it.
  static Outcome wait_until_idle(TrackedStorage& storage, Wait wait,
                                 Devices& synchronized) noexcept {
    const Driver* driver = loaded_driver(vendor_of(storage.device().kind));
    if (driver == nullptr) return Outcome::kFailed;
    if (storage.pending.exported_to() != 0) {
      if (wait == Wait::kForOurs) return Outcome::kRefused;
      if (!storage.pending.join_other_contexts(/*may_block=*/true)) return Outcome::kFailed;
      std::uint64_t& done = synchronized[static_cast<std::size_t>(driver->vendor)];
      const Outcome devices =
          synchronize_devices(*driver, storage.pending.exported_to(), wait, done);
      if (devices != Outcome::kDone) return devices;
      storage.pending.clear_exported();
    }
    try {  // boundary: on a driver failure the storage stays in the list
      storage.pending.wait_on_host(/*writes=*/true);
      return Outcome::kDone;
    } catch (const core::Error& error) {
      return error.fault() == core::Fault::kBuffer ? Outcome::kRefused : Outcome::kFailed;
    } catch (const std::exception&) {
      return Outcome::kFailed;
    }
  }

  static Outcome synchronize_device(DeviceContext& context, Wait wait) noexcept {
    const TryDeviceGuard on_device(context);
    if (!on_device) return Outcome::kFailed;
    if (context.may_be_capturing(/*own_streams_only=*/wait == Wait::kForSure))
      return Outcome::kRefused;
    if (context.api().device_synchronize() != kSuccess) return Outcome::kFailed;
    context.clear_captures();
    return Outcome::kDone;
  }

  static Outcome synchronize_devices(const Driver& driver, std::uint64_t devices, Wait wait,
                                     std::uint64_t& done) noexcept {
    for (const auto& context : driver.contexts) {
      if ((devices & ~done & context->bit()) == 0) continue;
      if (context->is_in_use()) {
        const Outcome outcome = synchronize_device(*context, wait);
        if (outcome != Outcome::kDone) return outcome;
      }
      done |= context->bit();
    }
    return Outcome::kDone;
  }

  std::mutex lock_;
  TrackedStorage* head_ = nullptr;
  Amount all_;
  Amount new_;  // since cover_exports()
};

namespace {

DeferredFreeList& deferred_frees() {
  // Never destroyed: arrays may outlive every static object.
  static auto& list = *new DeferredFreeList;
  return list;
}

}  // namespace

MayWait::MayWait() noexcept { ++may_wait_depth; }
MayWait::~MayWait() { --may_wait_depth; }
bool may_wait() noexcept { return may_wait_depth > 0; }

void defer_free(TrackedStorage* storage, std::size_t nbytes) noexcept {
  deferred_frees().add(storage, nbytes);
}

void collect(Wait wait) noexcept {
  if (may_wait() && !is_forked()) deferred_frees().collect(wait);
}

void collect_foreign() noexcept {
  if (may_wait() && !is_forked()) deferred_frees().collect_foreign();
}

void empty_cache(const core::Device& device) {
  DeviceContext& context = context_of(device);
  collect(Wait::kForNothing);
  const DeviceGuard on_device(context);
  context.trim_pool();
}

Wait collect_finished(const DeviceContext& context) noexcept {
  DeferredFreeList& list = deferred_frees();
  collect(Wait::kForNothing);
  if (may_wait() && !is_forked() && list.cover_exports(context.traits.memory))
    collect(Wait::kForNothing);
  return list.urgency(context);
}

}  // namespace refarray::runtime
