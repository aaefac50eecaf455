// The process-wide list of deferred frees, and when it is processed.
#include "runtime/memory/deferred_free.hpp"

#include <array>
#include <exception>
#include <mutex>
#include <utility>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

// Past either limit collect() synchronizes the devices. Past kUrgentFactor times the limit, it does
// so even if that may invalidate another library's capture.
constexpr std::size_t kMaxCount = 64;
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kUrgentFactor = 16;

thread_local int may_wait_depth = 0;

}  // namespace

/// An intrusive list, so that adding to it cannot fail.
class DeferredFreeList {
 public:
  void add(TrackedStorage* storage, std::size_t nbytes) noexcept {
    const std::lock_guard guard(lock_);
    storage->deferred_bytes_ = nbytes;
    storage->next_ = std::exchange(head_, storage);
    ++count_;
    bytes_ += nbytes;
  }
  /// What an allocation should wait for first.
  Wait urgency() noexcept {
    const std::lock_guard guard(lock_);
    if (count_ >= kUrgentFactor * kMaxCount || bytes_ >= kUrgentFactor * kMaxBytes)
      return Wait::kForSure;
    return count_ >= kMaxCount || bytes_ >= kMaxBytes ? Wait::kForDevices : Wait::kForNothing;
  }
  /// Processes the frees deferred so far. Freeing may defer others, which stay for the next call.
  void collect(Wait wait) noexcept {
    Devices synchronized{};
    free_each([wait, &synchronized](TrackedStorage& storage) {
      if (wait != Wait::kForNothing &&
          wait_until_idle(storage, wait, synchronized) != Outcome::kDone)
        return false;
      return storage.pending.exported_to() == 0 && storage.pending.is_finished();
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
      if (!is_unused(*storage) || !storage->free_now_(storage)) add(storage, nbytes);
    }
  }

  TrackedStorage* take_all() noexcept {
    const std::lock_guard guard(lock_);
    count_ = 0;
    bytes_ = 0;
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
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
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

Wait collect_finished() noexcept {
  collect(Wait::kForNothing);
  return deferred_frees().urgency();
}

}  // namespace refarray::runtime
