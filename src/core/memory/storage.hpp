// Storage: reference-counted bytes on a device. Also the allocators of host memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "refarray/core/device.hpp"

namespace refarray::core {

/// Bytes shared by arrays and exported tensors, with an atomic reference count. The last reference
/// may be dropped on any thread, with or without the GIL, even after the interpreter has exited.
/// 32 bytes, because every imported array allocates one.
class Storage {
 public:
  using Destroy = void (*)(Storage*) noexcept;

  Storage(std::byte* data, Device device, bool writable, bool foreign, Destroy destroyer,
          bool tracked = false) noexcept
      : device_(device),
        writable_(writable),
        foreign_(foreign),
        tracked_(tracked),
        data_(data),
        destroy_(destroyer) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const noexcept { return data_; }
  Device device() const noexcept { return device_; }
  bool writable() const noexcept { return writable_; }
  /// destroy() runs code of another library: a producer's deleter or the release of a buffer.
  bool foreign() const noexcept { return foreign_; }
  /// Work on the bytes may be unfinished: this is a runtime::TrackedStorage.
  bool tracked() const noexcept { return tracked_; }

  /// Bytes that were allocated for host memory of refarray, this header included; 0 for other
  /// memory.
  std::size_t host_block() const noexcept;
  /// Tells which class derived from this one the object is of: each has a destroyer of its own.
  bool is_destroyed_by(Destroy destroyer) const noexcept { return destroy_ == destroyer; }

  /// Another thread may change the count at any time.
  bool is_last_reference() const noexcept {
    return references_.load(std::memory_order_acquire) == 1;
  }

  /// As above: a snapshot.
  std::uint32_t reference_count() const noexcept {
    return references_.load(std::memory_order_acquire);
  }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  /// A reference, unless the last one is gone. The caller excludes the object's destruction.
  bool retain_if_alive() noexcept {
    std::uint32_t count = references_.load(std::memory_order_relaxed);
    while (count != 0 &&
           !references_.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) {
    }
    return count != 0;
  }
  /// From any thread: prepares it for foreign code or a driver (see call_foreign()) if need be.
  void release() noexcept {
    if (drop()) foreign_ || tracked_ ? release_elsewhere() : destroy_(this);
  }
  /// The first half of release(), for callers that have prepared the thread for foreign code: when
  /// it returns true, the caller must call destroy().
  [[nodiscard]] bool drop() noexcept {
    return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  void destroy() noexcept { foreign_ ? destroy_foreign() : destroy_(this); }

 private:
  void release_elsewhere() noexcept;
  void destroy_foreign() noexcept;

  std::atomic<std::uint32_t> references_{1};
  const Device device_;
  const bool writable_ : 1;
  const bool foreign_ : 1;
  const bool tracked_ : 1;
  // After the last reference to a foreign storage: the next one that waits for its destruction.
  union {
    std::byte* data_;
    Storage* next_;
  };
  const Destroy destroy_;  // frees the bytes and this object; does not use data()
};

/// Owns one reference to a Storage, or is empty.
class StoragePtr {
 public:
  StoragePtr() noexcept = default;
  static StoragePtr steal(Storage* storage) noexcept { return StoragePtr(storage); }
  static StoragePtr share(Storage* storage) noexcept {
    if (storage != nullptr) storage->retain();
    return StoragePtr(storage);
  }
  StoragePtr(const StoragePtr& other) noexcept : StoragePtr(share(other.storage_)) {}
  StoragePtr(StoragePtr&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StoragePtr& operator=(StoragePtr other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StoragePtr() {
    if (storage_ != nullptr) storage_->release();
  }

  Storage* get() const noexcept { return storage_; }
  Storage* operator->() const noexcept { return storage_; }
  explicit operator bool() const noexcept { return storage_ != nullptr; }
  [[nodiscard]] Storage* release() noexcept { return std::exchange(storage_, nullptr); }

 private:
  explicit StoragePtr(Storage* storage) noexcept : storage_(storage) {}
  Storage* storage_ = nullptr;
};

/// DLPack requires 256 bytes; every storage that refarray allocates has this alignment.
inline constexpr std::size_t kAlignment = 256;

/// An allocator of another library. Its functions are called on any thread, with or without the
/// GIL; they must not call refarray. `allocate` gets 1 byte or more, and returns uninitialized
/// memory, aligned, or nullptr. `deallocate` gets the same pointer and size.
struct Allocator {
  void* (*allocate)(std::size_t nbytes, std::size_t alignment, void* context);
  void (*deallocate)(void* pointer, std::size_t nbytes, void* context);
  void* context;
};
/// Each storage shares its allocator; the last owner may be destroyed on any thread.
using AllocatorPtr = std::shared_ptr<const Allocator>;

/// Sets the allocator of the storages that the calling thread makes from now on, until it ends;
/// empty, the default, for refarray's own. Returns the one before.
AllocatorPtr exchange_allocator(AllocatorPtr allocator) noexcept;

/// RAII: an allocator of the calling thread.
class WithAllocator {
 public:
  explicit WithAllocator(AllocatorPtr allocator) noexcept
      : before_(exchange_allocator(std::move(allocator))) {}
  WithAllocator(const WithAllocator&) = delete;
  WithAllocator& operator=(const WithAllocator&) = delete;
  ~WithAllocator() { exchange_allocator(std::move(before_)); }

 private:
  AllocatorPtr before_;
};

/// Allocates writable host bytes aligned to kAlignment. Throws kValue or kMemory, naming the size.
StoragePtr new_storage(std::int64_t nbytes, bool zeroed);

}  // namespace refarray::core
