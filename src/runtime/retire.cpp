// Owns the list of retired storages of the process, and when it is gone through.
#include "runtime/retire.hpp"

#include <exception>
#include <mutex>
#include <utility>

#include "refarray/runtime/runtime.hpp"
#include "runtime/driver.hpp"

namespace refarray::runtime {
namespace {

constexpr std::size_t kMost = 64;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

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
  bool is_full() noexcept {
    const std::lock_guard guard(lock_);
    return count_ >= kMost || bytes_ >= kMostBytes;
  }
  /// Goes through what is there now; what is given back may retire others, which wait for the next
  /// time.
  void collect(bool wait) noexcept {
    TrackedStorage* next = take_all();
    while (next != nullptr) {
      TrackedStorage* storage = next;
      next = std::exchange(storage->next_, nullptr);
      const std::size_t nbytes = storage->retired_bytes_;
      if (!is_idle(*storage, wait) || !storage->finish_(storage)) add(storage, nbytes);
    }
  }

 private:
  TrackedStorage* take_all() noexcept {
    const std::lock_guard guard(lock_);
    count_ = 0;
    bytes_ = 0;
    return std::exchange(first_, nullptr);
  }

  static bool is_idle(TrackedStorage& storage, bool wait) noexcept {
    if (wait && !wait_for(storage)) return false;
    return storage.uses.lent_to() == 0 && storage.uses.is_finished();
  }

  /// Waits for the devices on which somebody may be using the memory, and for what we did to it.
  static bool wait_for(TrackedStorage& storage) noexcept {
    const Driver* driver = loaded_driver(vendor_of(storage.device().kind));
    if (driver == nullptr) return false;
    for (const auto& unit : driver->units) {
      if ((storage.uses.lent_to() & unit->bit()) == 0) continue;
      const TryOnDevice here(*unit);
      if (!here || driver->api.device_synchronize() != kSuccess) return false;
    }
    storage.uses.end_lending();
    try {  // boundary: a driver that fails keeps the memory, and is asked again another time
      storage.uses.wait_on_host(/*writes=*/true);
      return true;
    } catch (const std::exception&) {  // boundary: as above
      return false;
    }
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

void collect(bool wait) noexcept {
  if (may_wait() && !is_forked()) retired().collect(wait);
}

void collect_before_allocation() noexcept { collect(retired().is_full()); }

}  // namespace refarray::runtime
