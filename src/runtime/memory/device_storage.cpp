// DeviceStorage: the allocator its memory comes from, and freeing it after all work on it. New
// arrays in it, zeroed in stream order.
#include "runtime/memory/device_storage.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <new>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "core/memory/descriptor.hpp"
#include "core/random.hpp"
#include "runtime/device_context.hpp"
#include "runtime/memory/deferred_free.hpp"
#include "runtime/streams/order.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

using core::DeviceKind;

enum class Allocator : std::uint8_t { kNone, kPool, kPlain, kHost, kShareable };

/// Owns the descriptor by which other processes map the memory.
struct Shared {
  SharedId id{};
  core::Descriptor file{};
};

class DeviceStorage;
void forget(const DeviceStorage& storage) noexcept;

class DeviceStorage final : public TrackedStorage {
 public:
  DeviceStorage(DeviceContext& context, core::Device device, Allocator allocator, Address address,
                std::size_t nbytes, StreamPtr allocation_stream, Shared shared = {}) noexcept
      : TrackedStorage(reinterpret_cast<std::byte*>(address), device, /*writable=*/true,
                       /*foreign=*/false, &destroy, &free_now),
        context_(context),
        allocator_(allocator),
        nbytes_(nbytes),
        allocation_stream_(std::move(allocation_stream)),
        shared_(std::move(shared)) {}

  /// The storage of memory that processes share, else nullptr.
  static DeviceStorage* shared_of(core::Storage* storage) noexcept {
    if (storage == nullptr || !storage->is_destroyed_by(&destroy)) return nullptr;
    auto* const found = static_cast<DeviceStorage*>(storage);
    return found->allocator_ == Allocator::kShareable ? found : nullptr;
  }
  const Shared& shared() const noexcept { return shared_; }
  std::size_t nbytes() const noexcept { return nbytes_; }
  const DeviceContext& context() const noexcept { return context_; }

 private:
  static void destroy(Storage* base) noexcept {
    auto* self = static_cast<DeviceStorage*>(base);
    if (self->allocator_ == Allocator::kNone || is_forked()) return delete self;
    if (self->allocator_ == Allocator::kShareable) forget(*self);
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
    if (allocator_ == Allocator::kShareable) return is_freed(api.close_shareable(address, nbytes_));
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
  Shared shared_;                // kShareable only
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
                std::size_t nbytes, Handle stream, core::Descriptor* file) {
  const DriverTable& api = context.api();
  const RelaxedCaptureMode relaxed(api);
  if (allocator == Allocator::kShareable)
    return api.create_shareable(out, file, nbytes, context.id);
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

[[noreturn]] void fail_unshareable(const core::Device& device) {
  core::fail(core::Fault::kBuffer, core::name(device),
             " has no memory that other processes can map: its driver does not support it");
}

/// RAII: a new allocation until a storage takes it over.
class Allocation {
 public:
  /// Out of memory, deferred frees may be enough. They run producers' deleters, which may select
  /// another device: the caller must not be in a device scope.
  Allocation(DeviceContext& context, const core::Device& device, Allocator allocator,
             std::size_t nbytes, Handle stream)
      : context_(context), allocator_(allocator), nbytes_(nbytes), stream_(stream) {
    const auto try_once = [&] {
      const DeviceGuard on_device(context);
      refuse_capture(context, stream, "allocating memory");
      return allocate(context, device.kind, allocator, &address_, nbytes, stream, &file_);
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
    if (allocator == Allocator::kShareable && status == kNotSupported) fail_unshareable(device);
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
    } else if (allocator_ == Allocator::kShareable) {
      api.close_shareable(address_, nbytes_);
    } else {
      allocator_ == Allocator::kHost ? api.free_host(address_) : api.free(address_);
    }
  }
  Address address() const noexcept { return address_; }
  core::Descriptor take_file() noexcept { return std::move(file_); }
  void release() noexcept { address_ = 0; }

 private:
  DeviceContext& context_;
  Allocator allocator_;
  std::size_t nbytes_;
  Handle stream_;
  Address address_ = 0;
  core::Descriptor file_;  // kShareable only
};

/// The shared memory that this process has, by its id, so that it is mapped once. Two threads that
/// attach it for the first time at once may both map it.
struct SharedStorages {
  std::mutex lock;
  std::map<SharedId, DeviceStorage*> all;
};
SharedStorages& shared_storages() {
  static auto& storages = *new SharedStorages;  // outlives every thread
  return storages;
}

void remember(DeviceStorage& storage) {
  SharedStorages& storages = shared_storages();
  const std::lock_guard guard(storages.lock);
  storages.all.insert_or_assign(storage.shared().id, &storage);
}

void forget(const DeviceStorage& storage) noexcept {
  SharedStorages& storages = shared_storages();
  const std::lock_guard guard(storages.lock);
  const auto found = storages.all.find(storage.shared().id);
  if (found != storages.all.end() && found->second == &storage) storages.all.erase(found);
}

core::StoragePtr find_shared(const SharedId& id) noexcept {
  SharedStorages& storages = shared_storages();
  const std::lock_guard guard(storages.lock);
  const auto found = storages.all.find(id);
  const bool is_alive = found != storages.all.end() && found->second->retain_if_alive();
  return core::StoragePtr::steal(is_alive ? found->second : nullptr);
}

SharedId random_id() {
  SharedId out;
  core::fill_random(out);
  return out;
}

/// The driver's functions for memory of a device that processes share.
const DriverTable& shareable_api(const DeviceContext& context, const core::Device& device) {
  const bool is_device = device.kind == DeviceKind::kCuda || device.kind == DeviceKind::kRocm;
  if (!is_device || context.api().create_shareable == nullptr) fail_unshareable(device);
  return context.api();
}

/// The size of memory that other processes can map, of at least one byte.
std::size_t shared_size(const DeviceContext& context, const core::Device& device,
                        std::int64_t nbytes) {
  const DriverTable& api = shareable_api(context, device);
  std::size_t unit = 0;
  const DeviceGuard on_device(context);
  context.check(api.shareable_unit(&unit, context.id), "asking for the unit of shared memory");
  return (std::max<std::size_t>(whole_words(nbytes), 1) + unit - 1) / unit * unit;
}

/// Uninitialised writable memory. Device memory may be used on `stream` at once, on other streams
/// after waiting for the storage's pending work. Throws kBuffer if the device cannot be used or the
/// stream captures a graph, kMemory, DriverError.
core::StoragePtr new_device_storage(const core::Device& device, std::int64_t nbytes,
                                    const StreamPtr& stream, bool is_shared) {
  DeviceContext& context = context_of(device);
  core::note_attempt(core::Entry::kAllocation, nbytes);
  if (nbytes == 0 && !is_shared) {
    core::note(core::Entry::kAllocation, 0);
    return core::StoragePtr::steal(
        new DeviceStorage(context, device, Allocator::kNone, 0, 0, nullptr));
  }
  const Allocator allocator =
      is_shared ? Allocator::kShareable : allocator_for(context, device.kind);
  const std::size_t size = is_shared ? shared_size(context, device, nbytes) : whole_words(nbytes);
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
  Shared shared = is_shared ? Shared{random_id(), allocation.take_file()} : Shared{};
  auto* storage = new DeviceStorage(context, device, allocator, allocation.address(), size,
                                    ordered ? stream : nullptr, std::move(shared));
  allocation.release();  // ownership moves here: from now on the storage frees the memory
  core::StoragePtr out = core::StoragePtr::steal(storage);
  if (is_shared) remember(*storage);
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
                             const core::Device& device, bool zeroed, StreamPtr stream,
                             bool is_shared) {
  core::Array out{{}, nullptr, dtype, 0, false, core::c_layout(shape)};
  const std::int64_t nbytes = core::checked_nbytes(core::size_of(shape), dtype);
  stream = stream_on(context_of(device), stream);
  out.storage = new_device_storage(device, nbytes, stream, is_shared);
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
  return new_device_array(dtype, shape, device, zeroed, stream, /*is_shared=*/false);
}

core::Array new_shared_array(const core::DType& dtype, core::Extents shape,
                             const core::Device& device, bool zeroed) {
  require(device);
  return new_device_array(dtype, shape, device, zeroed, nullptr, /*is_shared=*/true);
}

bool is_shared(const core::ArrayView& array) noexcept {
  return DeviceStorage::shared_of(array.storage) != nullptr;
}

SharedMemory share(const core::ArrayView& array) {
  const DeviceStorage* storage = DeviceStorage::shared_of(array.storage);
  if (storage == nullptr) {
    core::fail(core::Fault::kBuffer, "the array on ", core::name(array.device()),
               " is in no shared memory; shared.asarray(x) copies it there");
  }
  const DeviceContext& context = context_of(array.device());
  wait_on_host(array, /*writes=*/true);
  SharedMemory out{array.device().kind, {}, storage->shared().id, storage->nbytes()};
  context.check(context.api().device_uuid(&out.device, context.id), "asking for a device's UUID");
  return out;
}

int descriptor_of(const core::ArrayView& array) noexcept {
  const DeviceStorage* storage = DeviceStorage::shared_of(array.storage);
  return storage == nullptr ? -1 : storage->shared().file.number();
}

core::StoragePtr open_shared(const SharedMemory& memory, int file) {
  DeviceContext& context = context_of(memory.kind, memory.device);
  if (core::StoragePtr found = find_shared(memory.id)) {
    const auto* storage = DeviceStorage::shared_of(found.get());
    if (storage->nbytes() == memory.nbytes && &storage->context() == &context) return found;
    core::fail(core::Fault::kBuffer, "nbytes is ", memory.nbytes, "; the memory has ",
               storage->nbytes());
  }
  if (file < 0) {
    core::fail(core::Fault::kBuffer,
               "a handle of device memory needs its descriptor: attach(handle, fds=...) with that "
               "of the sender's fds()");
  }
  Shared shared{memory.id, core::Descriptor::copy_of(file)};
  Address address = 0;
  const DeviceGuard on_device(context);
  const RelaxedCaptureMode relaxed(context.api());
  const Status status = context.api().open_shareable(&address, file, memory.nbytes, context.id);
  if (status == kInvalidValue) {
    core::fail(core::Fault::kBuffer, "descriptor ", file, " is not of the handle's ", memory.nbytes,
               " bytes on ", core::name(device_of(context)));
  }
  context.check(status, "mapping another process's memory");
  auto* storage =
      new (std::nothrow) DeviceStorage(context, device_of(context), Allocator::kShareable, address,
                                       memory.nbytes, nullptr, std::move(shared));
  if (storage == nullptr) {
    context.api().close_shareable(address, memory.nbytes);
    throw std::bad_alloc();
  }
  core::StoragePtr out = core::StoragePtr::steal(storage);  // from now on it unmaps the memory
  remember(*storage);
  return out;
}

}  // namespace refarray::runtime
