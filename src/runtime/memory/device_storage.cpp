// Owns the device, pinned and managed memory that we allocate: which of a driver's allocators it
// comes from, and the order in which it goes back.
#include "runtime/memory/device_storage.hpp"

#include <exception>

#include "core/error.hpp"
#include "runtime/memory/deferred_free.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/pending_work.hpp"
#include "runtime/streams/relaxed_capture.hpp"

namespace refarray::runtime {
namespace {

using core::DeviceKind;

enum class Source : std::uint8_t { kNone, kPool, kPlain, kHost };

class DeviceStorage final : public TrackedStorage {
 public:
  DeviceStorage(DeviceContext& unit, core::Device device, Source source, Address address,
                std::size_t nbytes, StreamPtr home) noexcept
      : TrackedStorage(reinterpret_cast<std::byte*>(address), device, /*writable=*/true,
                       /*foreign=*/false, &destroy, &finish),
        unit_(unit),
        source_(source),
        nbytes_(nbytes),
        home_(std::move(home)) {}

 private:
  static void destroy(Storage* base) noexcept {
    auto* self = static_cast<DeviceStorage*>(base);
    if (self->source_ == Source::kNone || is_forked()) return delete self;
    if (self->source_ == Source::kPool ? self->free_in_order() : self->free_if_idle()) {
      return delete self;
    }
    self->uses.mark_all();
    retire(self, self->nbytes_);
  }

  /// All is done: which stream it goes back on does not matter, as long as that captures nothing.
  static bool finish(TrackedStorage* base) noexcept {
    auto* self = static_cast<DeviceStorage*>(base);
    Handle stream = nullptr;
    if (self->source_ == Source::kPool) {
      const TryOnDevice here(self->unit_);
      stream = here ? self->unit_.reaper() : nullptr;
      if (stream == nullptr) return false;
    }
    if (!self->give_back(stream)) return false;
    delete self;
    return true;
  }

  /// All work is done, or comes before what is in the stream. False when the memory is still there.
  bool give_back(Handle stream) const noexcept {
    const Api& api = unit_.api();
    const TryOnDevice here(unit_);
    if (!here) return false;
    const auto address = reinterpret_cast<Address>(data());
    if (source_ == Source::kPool) return is_gone(api.free_async(address, stream));
    const Relaxed whatever_is_captured(api);
    return is_gone(source_ == Source::kHost ? api.free_host(address) : api.free(address));
  }

  /// Only where a capture forbade it did a free certainly not happen. Every other status may be the
  /// error of earlier work, and a second free would hit whoever has the memory by then.
  static bool is_gone(Status status) noexcept {
    constexpr Status kFirstOfCapture = 900;
    constexpr Status kLastOfCapture = 908;
    return status < kFirstOfCapture || status > kLastOfCapture;
  }

  /// Memory of the pool goes back in the order of a stream that waits for every use; the host does
  /// not wait.
  bool free_in_order() noexcept {
    try {  // boundary: what fails here is tried again when the device is idle
      const OnDevice here(unit_);
      std::erase_if(uses.last(), is_past);
      for (const Use& use : uses.last()) {
        if (use.capture != 0) return false;
      }
      const Handle stream = prepared_stream();
      return stream != nullptr && give_back(stream);
    } catch (const std::exception&) {  // boundary: as above
      return false;
    }
  }

  /// A stream on which all that used the memory has been waited for; nullptr when there is none.
  Handle prepared_stream() {
    const std::uint64_t lent = uses.lent_to();
    const bool own_home =
        home_->kind() == Stream::Kind::kOwn || home_->kind() == Stream::Kind::kLegacy;
    Handle stream = home_->handle();
    if (lent == 0 && own_home && !capture_of(unit_, stream).active) {
      return wait_for_uses(stream, /*all=*/true);
    }
    stream = unit_.reaper();
    if (stream == nullptr) return nullptr;
    if (lent != 0) {
      // The consumers' streams may be gone by now: their work is reached through the device.
      if (lent != unit_.bit() || unit_.api().record_all == nullptr || unit_.may_spoil_capture()) {
        return nullptr;
      }
      const EventPtr all = pooled_event(unit_);
      unit_.check(unit_.api().record_all(unit_.id, all->handle()), "recording a device's work");
      unit_.check(unit_.api().stream_wait(stream, all->handle(), 0), "making a stream wait");
    }
    return wait_for_uses(stream, /*all=*/lent == 0);
  }

  /// `all`: also for those on our own device.
  Handle wait_for_uses(Handle stream, bool all) {
    const StreamKey key(unit_, stream);
    for (Use& use : uses.last()) {
      if (use.key == key || (!all && use.key.unit == &unit_)) continue;
      unit_.check(unit_.api().stream_wait(stream, event_of(use)->handle(), 0),
                  "making a stream wait");
    }
    return stream;
  }

  /// Other memory goes back by calls that may wait, and only where waiting is allowed.
  bool free_if_idle() noexcept {
    if (!may_wait()) return false;
    const std::uint64_t elsewhere = uses.lent_to() & ~unit_.bit();
    const bool waits_itself = source_ == Source::kPlain && unit_.driver.vendor == Vendor::kHip;
    if (elsewhere != 0 || (uses.lent_to() != 0 && !waits_itself)) return false;
    uses.mark_all();
    return uses.is_finished() && give_back(nullptr);
  }

  DeviceContext& unit_;
  Source source_;
  std::size_t nbytes_;
  StreamPtr home_;  // pool memory only: the stream in whose order it was allocated
};

Source source_of(const DeviceContext& unit, DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::kCudaHost:
    case DeviceKind::kRocmHost:
      return Source::kHost;
    case DeviceKind::kCuda:
      return unit.has_pools ? Source::kPool : Source::kPlain;
    default:
      return Source::kPlain;
  }
}

Status allocate(DeviceContext& unit, DeviceKind kind, Source source, Address* out,
                std::size_t nbytes, Handle stream) {
  const Api& api = unit.api();
  if (source == Source::kPool) return api.allocate_async(out, nbytes, unit.pool(), stream);
  const Relaxed whatever_is_captured(api);
  if (source == Source::kHost) return api.allocate_host(out, nbytes);
  return kind == DeviceKind::kCudaManaged ? api.allocate_managed(out, nbytes)
                                          : api.allocate(out, nbytes);
}

/// What allocate() gave, until a storage has it.
class Fresh {
 public:
  Fresh(DeviceContext& unit, const core::Device& device, Source source, std::size_t nbytes,
        Handle stream)
      : unit_(unit), source_(source), stream_(stream) {
    Status status = allocate(unit, device.kind, source, &address_, nbytes, stream);
    for (const Wait wait : {Wait::kForOurs, Wait::kForSure}) {
      if (status != kOutOfMemory) break;
      collect(wait);  // what waits to be given back may be enough
      status = allocate(unit, device.kind, source, &address_, nbytes, stream);
    }
    if (status == kOutOfMemory) {
      core::fail(core::Fault::kMemory, "cannot allocate ", nbytes, " bytes on ",
                 core::name(device));
    }
    unit.check(status, "allocating memory");
  }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  ~Fresh() {
    if (address_ == 0) return;
    const Api& api = unit_.api();
    if (source_ == Source::kPool) {
      api.free_async(address_, stream_);
    } else {
      const Relaxed whatever_is_captured(api);
      source_ == Source::kHost ? api.free_host(address_) : api.free(address_);
    }
  }
  Address address() const noexcept { return address_; }
  void keep() noexcept { address_ = 0; }

 private:
  DeviceContext& unit_;
  Source source_;
  Handle stream_;
  Address address_ = 0;
};

}  // namespace

core::StoragePtr new_device_storage(const core::Device& device, std::int64_t nbytes,
                                    const StreamPtr& stream) {
  DeviceContext& unit = unit_of(device);
  if (nbytes == 0) {
    return core::StoragePtr::steal(new DeviceStorage(unit, device, Source::kNone, 0, 0, nullptr));
  }
  const Source source = source_of(unit, device.kind);
  const auto size = static_cast<std::size_t>(nbytes);
  const OnDevice here(unit);
  refuse_capture(unit, stream->handle(), "allocating memory");
  collect_before_allocation();
  Fresh fresh(unit, device, source, size, stream->handle());
  const bool ordered = source == Source::kPool;
  auto* storage =
      new DeviceStorage(unit, device, source, fresh.address(), size, ordered ? stream : nullptr);
  fresh.keep();  // ownership moves here: the storage frees it, whatever fails from here on
  core::StoragePtr out = core::StoragePtr::steal(storage);
  if (ordered) {
    using Kind = Stream::Kind;
    // Until the allocation is marked in its stream, a free must come after all of the device's
    // work.
    storage->uses.lend(unit);
    storage->uses.add(promise(stream, /*writes=*/true));
    storage->uses.end_lending();
    if (stream->kind() == Kind::kOwn || stream->kind() == Kind::kLegacy) {
      storage->uses.set_home(StreamKey(unit, stream->handle()));
    }
  }
  return out;
}

}  // namespace refarray::runtime
