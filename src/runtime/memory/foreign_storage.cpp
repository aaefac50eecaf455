// Owns storages over somebody else's device memory: the producer gets it back when our work on it
// is done, and not before.
#include <exception>

#include "runtime/memory/deferred_free.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

class ForeignStorage final : public TrackedStorage {
 public:
  ForeignStorage(std::byte* data, core::Device device, bool writable,
                 void (*let_go)(void*) noexcept, void* keeper) noexcept
      : TrackedStorage(data, device, writable, /*foreign=*/true, &destroy, &finish),
        let_go_(let_go),
        keeper_(keeper) {}

 private:
  static void destroy(Storage* base) noexcept {
    auto* self = static_cast<ForeignStorage*>(base);
    if (is_forked()) return delete self;  // its memory and its deleter are the parent's business
    // What was only promised (an import) is no work of ours: the producer itself said that it is
    // ready.
    std::erase_if(self->uses.last(), [](const Use& use) { return use.event == nullptr; });
    self->cover_consumers();
    if (self->uses.lent_to() == 0 && self->uses.is_finished()) {
      return static_cast<void>(finish(self));
    }
    retire(self, 0);
  }

  static bool finish(TrackedStorage* base) noexcept {
    auto* self = static_cast<ForeignStorage*>(base);
    const auto let_go = self->let_go_;
    void* const keeper = self->keeper_;
    delete self;
    let_go(keeper);  // [8] last drop: the producer's deleter
    return true;
  }

  /// Consumers that we lent the memory to work on streams that only they know: an event for all
  /// that the device has to do covers them.
  void cover_consumers() noexcept {
    const std::uint64_t lent = uses.lent_to();
    const Driver* driver = loaded_driver(vendor_of(device().kind));
    if (lent == 0 || driver == nullptr || driver->api.record_all == nullptr) return;
    DeviceContext& unit = driver->unit(device().id);
    if (lent != unit.bit()) return;
    try {  // boundary: what fails here is waited for by the host later
      const OnDevice here(unit);
      if (unit.may_spoil_capture()) return;
      EventPtr all = pooled_event(unit);
      unit.check(unit.api().record_all(unit.id, all->handle()), "recording a device's work");
      uses.last().push_back({std::move(all), nullptr, StreamKey(unit, nullptr), true});
      uses.end_lending();
    } catch (const std::exception&) {  // boundary: as above
    }
  }

  void (*let_go_)(void*) noexcept;
  void* keeper_;
};

}  // namespace

core::StoragePtr new_foreign_storage(std::byte* data, const core::Device& device, bool writable,
                                     void (*let_go)(void* keeper) noexcept, void* keeper) {
  return core::StoragePtr::steal(new ForeignStorage(data, device, writable, let_go, keeper));
}

}  // namespace refarray::runtime
