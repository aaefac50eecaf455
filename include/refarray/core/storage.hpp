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

  Storage(std::byte* data, Device device, bool writable, bool foreign, Destroy destroyer) noexcept
      : writable_(writable), foreign_(foreign), device_(device), data_(data), destroy_(destroyer) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const noexcept { return data_; }
  Device device() const noexcept { return device_; }
  bool writable() const noexcept { return writable_; }
  /// Letting go runs somebody else's code (a producer's deleter, a buffer's release).
  bool foreign() const noexcept { return foreign_; }

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

 private:
  std::atomic<std::uint32_t> references_{1};
  bool writable_;
  bool foreign_;
  Device device_;
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
