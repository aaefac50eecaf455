// FakeTensor: a managed tensor, valid or malformed, with every field chosen by the test. It counts
// its deleter calls.
#pragma once

#include <dlpack/dlpack.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace adversary {

/// The target of a shape or strides pointer: NULL, a wild address, or entries that the tensor owns.
struct Entries {
  std::uintptr_t address = 0;
  std::optional<std::vector<std::int64_t>> values;
};

/// The fields of a managed tensor, unchecked: they may be invalid.
struct TensorFields {
  bool versioned = true;
  DLPackVersion version{1, 3};
  std::uint64_t flags = 0;
  std::int32_t device_type = kDLCPU;
  std::int32_t device_id = 0;
  std::optional<std::int32_t> ndim;  // default: the number of shape entries
  DLDataType dtype{kDLFloat, 32, 1};
  Entries shape;
  std::optional<Entries> strides;  // default: row-major
  std::optional<std::vector<std::byte>> bytes;
  std::uintptr_t address = 0;   // `data` if there are no `bytes`
  std::size_t data_offset = 0;  // of `data` into `bytes`
  std::uint64_t byte_offset = 0;
  bool manager_ctx = true;
  bool deleter = true;
  bool guarded = false;        // shape and strides end at an inaccessible page
  bool frozen = false;         // struct, shape and strides are on read-only pages
  bool unmapped_body = false;  // everything after `flags` is on an inaccessible page
};

/// Whole pages followed by an inaccessible guard page. Unmapped explicitly only; see FakeTensor.
class Pages {
 public:
  explicit Pages(std::size_t bytes);
  /// The address of the last `bytes` bytes before the guard page.
  std::byte* last(std::size_t bytes) const noexcept { return end_ - bytes; }
  void freeze(bool on) const;
  void unmap() const noexcept;

 private:
  std::byte* begin_;
  std::byte* end_;
};

/// Lives until the process ends, so that a late or second deleter call is counted and does not
/// crash.
class FakeTensor {
 public:
  /// Creates a tensor, which the registry owns.
  static FakeTensor& make(TensorFields fields);
  /// All tensors created so far, from number `first` on.
  static std::vector<FakeTensor*> since(std::size_t first);
  static std::size_t count();
  /// Called by both deleters: looks the tensor up by its address, counts the call, poisons the
  /// memory and runs the hook.
  static void deleted(const void* managed) noexcept;

  FakeTensor(const FakeTensor&) = delete;
  FakeTensor& operator=(const FakeTensor&) = delete;

  void* managed() const noexcept { return struct_; }
  DLTensor* dl_tensor() const noexcept;
  bool versioned() const noexcept { return fields_.versioned; }
  const TensorFields& fields() const noexcept { return fields_; }
  std::byte* data() const noexcept { return data_; }
  std::size_t data_size() const noexcept { return fields_.bytes ? fields_.bytes->size() : 0; }
  int deleter_calls() const noexcept { return calls_.load(); }

  std::function<void()> hook;  // runs in the first deleter call, after the poisoning
  std::string name;            // of the capsule; stored here because it must outlive the capsule
  bool nameless = false;
  bool destructor = true;
  std::atomic<bool> issued{false};
  std::atomic<int> expected_calls{-1};  // -1: one, if issued under a name that consumers accept

 private:
  explicit FakeTensor(TensorFields fields);
  std::int64_t* place(const Entries& entries, std::unique_ptr<std::int64_t[]>& heap);
  DLTensor described() const noexcept;
  void write_struct() noexcept;
  void poison() noexcept;
  void retire() noexcept;

  TensorFields fields_;
  std::vector<Pages> pages_;    // of the struct, if not in in_place_
  std::vector<Pages> entries_;  // of shape and strides
  alignas(16) std::byte in_place_[sizeof(DLManagedTensorVersioned)];
  std::unique_ptr<std::int64_t[]> shape_heap_;
  std::unique_ptr<std::int64_t[]> strides_heap_;
  std::byte* struct_ = nullptr;
  std::int64_t* shape_ = nullptr;
  std::int64_t* strides_ = nullptr;
  std::byte* data_ = nullptr;
  std::atomic<int> calls_{0};
};

/// Calls the deleter of a managed tensor if it has one, as a consumer must. Not noexcept:
/// until 3.13 CPython ends a thread that asks for the GIL after finalization by unwinding it
/// (pthread_exit), and through a noexcept frame that is std::terminate, which would be the kit's
/// and not the deleter's.
void call_deleter(void* managed, bool versioned);

}  // namespace adversary
