// Owns Record: one managed tensor, well or ill formed, laid out field by field, that counts its
// deleter calls.
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

/// What a shape or strides pointer shows: nothing, a wild address, or entries that the record owns.
struct Entries {
  std::uintptr_t address = 0;
  std::optional<std::vector<std::int64_t>> values;
};

/// Every field of a managed tensor. Nothing here is checked: the fields may lie.
struct Spec {
  bool versioned = true;
  DLPackVersion version{1, 3};
  std::uint64_t flags = 0;
  std::int32_t device_type = kDLCPU;
  std::int32_t device_id = 0;
  std::optional<std::int32_t> ndim;  // the number of shape entries, unless given
  DLDataType dtype{kDLFloat, 32, 1};
  Entries shape;
  std::optional<Entries> strides;  // row-major, unless given
  std::optional<std::vector<std::byte>> bytes;
  std::uintptr_t address = 0;   // `data`, when there are no bytes of our own
  std::size_t data_offset = 0;  // `data` points this far into our bytes
  std::uint64_t byte_offset = 0;
  bool manager_ctx = true;
  bool deleter = true;
  bool guarded = false;        // shape and strides end where an unmapped page begins
  bool frozen = false;         // struct, shape and strides lie on read-only pages
  bool unmapped_body = false;  // everything after `flags` lies on an unmapped page
};

/// Whole pages followed by one that faults. Unmapped by hand only: see Record.
class Pages {
 public:
  explicit Pages(std::size_t bytes);
  /// The address whose object of `bytes` ends exactly at the faulting page.
  std::byte* last(std::size_t bytes) const noexcept { return end_ - bytes; }
  void freeze(bool on) const;
  void unmap() const noexcept;

 private:
  std::byte* begin_;
  std::byte* end_;
};

/// Lives as long as the process: a late or second deleter call must be counted, never crash in
/// here.
class Record {
 public:
  /// Makes a record and hands it to the registry, which keeps it for ever.
  static Record& make(Spec spec);
  /// The records made so far, without the first ones.
  static std::vector<Record*> since(std::size_t first);
  static std::size_t count();
  /// What both deleters do: find the record by its address, count, poison the memory, run the hook.
  static void deleted(const void* managed) noexcept;

  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  void* managed() const noexcept { return struct_; }
  DLTensor* tensor() const noexcept;
  bool versioned() const noexcept { return spec_.versioned; }
  const Spec& spec() const noexcept { return spec_; }
  std::byte* data() const noexcept { return data_; }
  std::size_t data_size() const noexcept { return spec_.bytes ? spec_.bytes->size() : 0; }
  int deleter_calls() const noexcept { return calls_.load(); }

  std::function<void()> hook;  // runs inside the first deleter call, after the poisoning
  std::string name;            // of the capsule; here because capsule names must outlive capsules
  bool nameless = false;
  bool destructor = true;
  std::atomic<bool> issued{false};
  std::atomic<int> expected_calls{-1};  // -1: once when issued under a name that consumers accept

 private:
  explicit Record(Spec spec);
  std::int64_t* place(const Entries& entries, std::unique_ptr<std::int64_t[]>& heap);
  DLTensor described() const noexcept;
  void write_struct() noexcept;
  void poison() noexcept;
  void retire() noexcept;

  Spec spec_;
  std::vector<Pages> pages_;    // of a struct that lies on its own
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

/// Calls the deleter of a managed tensor if it has one: what a consumer owes.
void call_deleter(void* managed, bool versioned) noexcept;

}  // namespace adversary
