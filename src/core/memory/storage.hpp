// Owns Storage: bytes on a device, whether they may be written, and who frees them; and the
// allocator behind our own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "refarray/core/device.hpp"

namespace refarray::core {

/// Shared bytes. Counted by itself (no Python, no lock): the last reference may be dropped on any
/// thread, with or without the GIL, and after the interpreter has gone. 32 bytes, because every
/// imported array carries one.
class Storage {
 public:
  using Destroy = void (*)(Storage*) noexcept;

  Storage(std::byte* data, Device device, bool writable, bool foreign, Destroy destroyer,
          bool tracked = false) noexcept
      : device_kind_(static_cast<std::int8_t>(device.kind)),
        writable_(writable),
        foreign_(foreign),
        tracked_(tracked),
        device_id_(device.id),
        data_(data),
        destroy_(destroyer) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const noexcept { return data_; }
  Device device() const noexcept { return {static_cast<DeviceKind>(device_kind_), device_id_}; }
  bool writable() const noexcept { return writable_; }
  /// Letting go runs somebody else's code (a producer's deleter, a buffer's release).
  bool foreign() const noexcept { return foreign_; }
  /// Work on the bytes may be unfinished: the object is a runtime::TrackedStorage.
  bool tracked() const noexcept { return tracked_; }

  /// A look, not a promise: another thread may be about to share or drop it.
  bool is_last_reference() const noexcept {
    return references_.load(std::memory_order_acquire) == 1;
  }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (drop()) destroy();
  }
  /// release() in two steps, for a caller that has to prepare for a stranger's code: true when that
  /// was the last reference, and then destroy() must follow.
  [[nodiscard]] bool drop() noexcept {
    // Nobody can share what only the caller holds, so the last reference needs no atomic
    // subtraction. Worth asking of what came in, which is seldom shared.
    if (foreign_ && is_last_reference()) return true;
    return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  void destroy() noexcept { destroy_(this); }

  // Holders that work under one lock share references: the group owns some of them, at least one
  // while it has a holder, and joining, leaving and lending need no atomic, each of which takes as
  // long as a dozen checks (docs/adr/0010). From here to leave() the caller holds that lock.

  bool has_holders() const noexcept { return holders_ != 0; }
  /// One more holder; only while there is another.
  void join() noexcept { ++holders_; }
  /// One more holder, whose reference becomes the group's.
  void join_with_reference() noexcept {
    ++holders_;
    take_back();
  }
  /// A reference for somebody outside the group; only while it has a holder.
  void lend() noexcept {
    if (held_ > 1) {
      --held_;
    } else {
      retain();
    }
  }
  /// A reference of the caller's becomes the group's; only while it has a holder.
  void take_back() noexcept {
    if (held_ < kMostHeld) {
      ++held_;
    } else {
      references_.fetch_sub(1, std::memory_order_release);  // never the last: the group has more
    }
  }
  /// A holder goes; true when nobody has a reference any more, and then destroy() must follow.
  [[nodiscard]] bool leave() noexcept {
    if (--holders_ != 0) return false;
    const std::uint32_t held = std::exchange(held_, std::uint16_t{0});
    // As in drop(): what only the group has cannot be shared by anybody meanwhile.
    return references_.load(std::memory_order_acquire) == held ||
           references_.fetch_sub(held, std::memory_order_acq_rel) == held;
  }

 private:
  static constexpr std::uint16_t kMostHeld = UINT16_MAX;

  std::atomic<std::uint32_t> references_{1};
  std::uint32_t holders_ = 0;  // of the group; as held_, under its lock
  std::uint16_t held_ = 0;     // how many of references_ the group owns
  std::int8_t device_kind_;
  const bool writable_ : 1;
  const bool foreign_ : 1;
  const bool tracked_ : 1;
  std::int32_t device_id_;
  std::byte* data_;
  Destroy destroy_;  // frees the bytes and this object
};

/// Owns one reference to a Storage, or nothing.
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

/// Where host bytes come from. `allocate` returns memory aligned to `alignment` (a power of two) or
/// nullptr, zeroed if asked; `deallocate` gets the same pointer and size back, on any thread. Both
/// must not throw.
struct Allocator {
  void* (*allocate)(std::size_t nbytes, std::size_t alignment, bool zeroed, void* context) noexcept;
  void (*deallocate)(void* pointer, std::size_t nbytes, void* context) noexcept;
  void* context;
};

/// DLPack asks for 256 bytes; so every array of our own begins on such an address.
inline constexpr std::size_t kAlignment = 256;

/// The allocator that new_storage uses. Setting one affects later storages only: each remembers its
/// own, by address, so an allocator must outlive the storages made through it. Thread-safe.
const Allocator& default_allocator() noexcept;
void set_default_allocator(
    const Allocator* allocator) noexcept;  // nullptr: back to the built-in one

/// Fresh writable host bytes, aligned to kAlignment. Throws kMemory naming the size.
StoragePtr new_storage(std::int64_t nbytes, bool zeroed);

}  // namespace refarray::core
