// DeviceStorage: the allocator its memory comes from, and freeing it after all work on it. New
// arrays in it, zeroed in stream order.
#include "runtime/memory/device_storage.hpp"

#include <algorithm>
#include <exception>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "runtime/device_context.hpp"
#include "runtime/memory/deferred_free.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

using core::DeviceKind;

enum class Allocator : std::uint8_t { kNone, kPool, kPlain, kHost };

class DeviceStorage final : public TrackedStorage {
 public:
  DeviceStorage(DeviceContext& context, core::Device device, Allocator allocator, Address address,
                std::size_t nbytes, StreamPtr allocation_stream) noexcept
      : TrackedStorage(reinterpret_cast<std::byte*>(address), device, /*writable=*/true,
                       /*foreign=*/false, &destroy, &free_now),
        context_(context),
        allocator_(allocator),
        nbytes_(nbytes),
        allocation_stream_(std::move(allocation_stream)) {}

 private:
  static void destroy(Storage* base) noexcept {
    auto* self = static_cast<DeviceStorage*>(base);
    if (self->allocator_ == Allocator::kNone || is_forked()) return delete self;
    if (self->pending.join_other_contexts(/*may_block=*/false) &&
        (self->allocator_ == Allocator::kPool ? self->free_stream_ordered()
                                              : self->free_if_idle())) {
      return delete self;
    }
    self->pending.record_events();
    defer_free(self, self->nbytes_);
  }

  /// All work has finished, so any stream that is not capturing will do.
  static bool free_now(TrackedStorage* base) noexcept {
    auto* self = static_cast<DeviceStorage*>(base);
    Handle stream = nullptr;
    if (self->allocator_ == Allocator::kPool) {
      const TryDeviceGuard on_device(self->context_);
      stream = on_device ? self->context_.free_stream() : nullptr;
      if (stream == nullptr) return false;
    }
    if (!self->release_memory(stream)) return false;
    delete self;
    return true;
  }

  /// Frees the memory. All work on it has finished or precedes `stream`'s next work. Returns false
  /// if the memory is still allocated.
  bool release_memory(Handle stream) const noexcept {
    const DriverTable& api = context_.api();
    const TryDeviceGuard on_device(context_);
    if (!on_device) return false;
    const auto address = reinterpret_cast<Address>(data());
    const RelaxedCaptureMode relaxed(api);
    if (allocator_ == Allocator::kPool) return is_freed(api.free_async(address, stream));
    return is_freed(allocator_ == Allocator::kHost ? api.free_host(address) : api.free(address));
  }

  /// Only after a capture error is the memory certainly not freed. Any other status may report
  /// earlier work; freeing again could then free somebody else's memory.
  static bool is_freed(Status status) noexcept {
    return status < kFirstCaptureError || status > kLastCaptureError;
  }

  /// Frees pool memory on a stream that waits for all pending work. The host does not wait.
  bool free_stream_ordered() noexcept {
    try {  // boundary: freed later, when the work has finished
      const DeviceGuard on_device(context_);
      std::erase_if(pending.uses(), is_from_ended_capture);
      for (const PendingUse& use : pending.uses()) {
        if (use.capture != 0) return false;
      }
      const Handle stream = stream_for_free();
      return stream != nullptr && release_memory(stream);
    } catch (const std::exception&) {
      return false;
    }
  }

  /// A stream that waits for all pending work and all consumers; nullptr if there is none.
  Handle stream_for_free() {
    const std::uint64_t exported = pending.exported_to();
    const bool is_queryable = allocation_stream_->kind() == Stream::Kind::kOwn ||
                              allocation_stream_->kind() == Stream::Kind::kLegacy;
    Handle stream = allocation_stream_->handle();
    if (exported == 0 && is_queryable && may_wait_for_pending(stream) &&
        !capture_of(*allocation_stream_).active) {
      return wait_for_pending(stream, /*all=*/true);
    }
    stream = context_.free_stream();
    if (stream == nullptr) return nullptr;
    if (exported != 0) {
      // Consumers' streams may have been destroyed: wait for their work through the device.
      if (exported != context_.bit() || context_.api().record_all == nullptr ||
          context_.may_invalidate_capture()) {
        return nullptr;
      }
      const EventPtr all = pooled_event(context_);
      context_.check(context_.api().record_all(context_.id, all->handle()),
                     "recording a device's work");
      context_.check(context_.api().stream_wait(stream, all->handle(), 0),
                     "making a stream wait for an event");
    }
    return wait_for_pending(stream, /*all=*/exported == 0);
  }

  /// Whether the stream is ours, or has to wait for nothing: a wait in the legacy default stream
  /// would delay other libraries' work, which uses it too.
  bool may_wait_for_pending(Handle stream) {
    const StreamKey key(context_, stream);
    return !key.is_default() || std::ranges::all_of(pending.uses(), [&](const PendingUse& use) {
      return use.key == key;
    });
  }

  /// `all`: also for work on our own device.
  Handle wait_for_pending(Handle stream, bool all) {
    const StreamKey key(context_, stream);
    for (PendingUse& use : pending.uses()) {
      if (use.key == key || (!all && use.key.context == &context_)) continue;
      context_.check(context_.api().stream_wait(stream, event_of(use)->handle(), 0),
                     "making a stream wait for an event");
    }
    return stream;
  }

  /// Frees memory that is not from the pool, by a call that may block.
  bool free_if_idle() noexcept {
    if (!may_wait()) return false;
    const std::uint64_t other_devices = pending.exported_to() & ~context_.bit();
    const bool free_waits =
        allocator_ == Allocator::kPlain && context_.driver.vendor == Vendor::kHip;
    if (other_devices != 0 || (pending.exported_to() != 0 && !free_waits)) return false;
    pending.record_events();
    return pending.is_finished() && release_memory(nullptr);
  }

  DeviceContext& context_;
  Allocator allocator_;
  std::size_t nbytes_;
  StreamPtr allocation_stream_;  // pool memory only
};

Allocator allocator_for(const DeviceContext& context, DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::kCudaHost:
    case DeviceKind::kRocmHost:
      return Allocator::kHost;
    case DeviceKind::kCuda:
      return context.traits.has_pools ? Allocator::kPool : Allocator::kPlain;
    default:
      return Allocator::kPlain;
  }
}

Status allocate(DeviceContext& context, DeviceKind kind, Allocator allocator, Address* out,
                std::size_t nbytes, Handle stream) {
  const DriverTable& api = context.api();
  const RelaxedCaptureMode relaxed(api);
  if (allocator == Allocator::kPool) return api.allocate_async(out, nbytes, context.pool(), stream);
  if (allocator == Allocator::kHost) return api.allocate_host(out, nbytes);
  return kind == DeviceKind::kCudaManaged ? api.allocate_managed(out, nbytes)
                                          : api.allocate(out, nbytes);
}

/// `nbytes` rounded up to whole 32-bit words. Every allocation is: kernels write packed elements by
/// operations on words.
constexpr std::size_t whole_words(std::int64_t nbytes) noexcept {
  return (static_cast<std::size_t>(nbytes) + 3) & ~std::size_t{3};
}

/// RAII: a new allocation until a storage takes it over.
class Allocation {
 public:
  /// Out of memory, deferred frees may be enough. They run producers' deleters, which may select
  /// another device: the caller must not be in a device scope.
  Allocation(DeviceContext& context, const core::Device& device, Allocator allocator,
             std::size_t nbytes, Handle stream)
      : context_(context), allocator_(allocator), stream_(stream) {
    const auto try_once = [&] {
      const DeviceGuard on_device(context);
      refuse_capture(context, stream, "allocating memory");
      return allocate(context, device.kind, allocator, &address_, nbytes, stream);
    };
    Status status = try_once();
    for (const Wait wait : {Wait::kForOurs, Wait::kForSure}) {
      if (status != kOutOfMemory) break;
      collect(wait);
      const DeviceGuard on_device(context);
      context.trim_pool();  // other allocators, ours and other libraries', cannot use its memory
      status = try_once();
    }
    if (status == kOutOfMemory) {
      core::fail(core::Fault::kMemory, "cannot allocate ", nbytes, " bytes on ",
                 core::name(device));
    }
    context.check(status, "allocating memory");
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    if (address_ == 0) return;
    const TryDeviceGuard on_device(context_);
    const DriverTable& api = context_.api();
    const RelaxedCaptureMode relaxed(api);
    if (allocator_ == Allocator::kPool) {
      api.free_async(address_, stream_);
    } else {
      allocator_ == Allocator::kHost ? api.free_host(address_) : api.free(address_);
    }
  }
  Address address() const noexcept { return address_; }
  void release() noexcept { address_ = 0; }

 private:
  DeviceContext& context_;
  Allocator allocator_;
  Handle stream_;
  Address address_ = 0;
};

/// Uninitialised writable memory. Device memory may be used on `stream` at once, on other streams
/// after waiting for the storage's pending work. Throws kBuffer if the device cannot be used or the
/// stream captures a graph, kMemory, DriverError.
core::StoragePtr new_device_storage(const core::Device& device, std::int64_t nbytes,
                                    const StreamPtr& stream) {
  DeviceContext& context = context_of(device);
  core::note_attempt(core::Entry::kAllocation, nbytes);
  if (nbytes == 0) {
    core::note(core::Entry::kAllocation, 0);
    return core::StoragePtr::steal(
        new DeviceStorage(context, device, Allocator::kNone, 0, 0, nullptr));
  }
  const Allocator allocator = allocator_for(context, device.kind);
  const std::size_t size = whole_words(nbytes);
  // Not in a device scope: both calls run producers' deleters.
  if (const Wait wait = collect_finished(context); wait != Wait::kForNothing) {
    {
      const DeviceGuard on_device(context);
      refuse_capture(context, stream->handle(), "allocating memory");
    }
    collect(wait);
  }
  Allocation allocation(context, device, allocator, size, stream->handle());
  const bool ordered = allocator == Allocator::kPool;
  auto* storage = new DeviceStorage(context, device, allocator, allocation.address(), size,
                                    ordered ? stream : nullptr);
  allocation.release();  // ownership moves here: from now on the storage frees the memory
  core::StoragePtr out = core::StoragePtr::steal(storage);
  core::note(core::Entry::kAllocation, nbytes);
  if (ordered) {
    using Kind = Stream::Kind;
    // Until the allocation is recorded in its stream, only a device-wide wait makes a free safe.
    storage->pending.mark_exported(context);
    storage->pending.add(unrecorded_use(stream, /*writes=*/true), /*waited_for=*/0);
    storage->pending.clear_exported();
    if (stream->kind() == Kind::kOwn || stream->kind() == Kind::kLegacy) {
      storage->pending.set_allocation_stream(StreamKey(context, stream->handle()));
    }
  }
  return out;
}

/// Zeroes new memory on `stream` and records the write.
void zero(TrackedStorage& storage, std::size_t nbytes, const StreamPtr& stream) {
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  const auto to = reinterpret_cast<Address>(storage.data());
  context.check(context.api().set_bytes(to, 0, nbytes, stream->handle()), "zeroing memory");
  storage.pending.add(unrecorded_use(stream, /*writes=*/true), storage.pending.newest());
}

core::Array new_device_array(const core::DType& dtype, core::Extents shape,
                             const core::Device& device, bool zeroed, StreamPtr stream) {
  core::Array out{{}, nullptr, dtype, 0, false, core::c_layout(shape)};
  const std::int64_t nbytes = core::checked_nbytes(core::size_of(shape), dtype);
  stream = stream_on(context_of(device), stream);
  out.storage = new_device_storage(device, nbytes, stream);
  out.data = out.storage->data();
  if (nbytes == 0) return out;
  // Kernels write packed elements by operations on whole words, which read the other bits. And
  // equal arrays have equal bytes, with the unused bits after the last packed element.
  if (zeroed || dtype.is_packed()) zero(*tracked(out.storage.get()), whole_words(nbytes), stream);
  return out;
}

}  // namespace

core::Array new_array(const core::DType& dtype, core::Extents shape, const core::Device& device,
                      bool zeroed, const StreamPtr& stream) {
  if (device == core::Device{}) return core::new_array(dtype, shape, zeroed);
  require(device);
  return new_device_array(dtype, shape, device, zeroed, stream);
}

}  // namespace refarray::runtime
