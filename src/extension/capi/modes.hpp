// Modes: what the arrays and functions of a namespace refuse.
#pragma once

#include <atomic>

namespace refarray::extension {

/// A setting that one thread may change while others read it.
class Flag {
 public:
  Flag(bool value = false) noexcept : value_(value) {}
  Flag(const Flag& from) noexcept : value_(static_cast<bool>(from)) {}
  Flag& operator=(const Flag& from) noexcept {
    value_.store(static_cast<bool>(from), std::memory_order_relaxed);
    return *this;
  }
  operator bool() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> value_;
};

/// What the arrays and functions of a namespace refuse; the default namespace refuses nothing.
struct Modes {
  bool strict = false;            // what the standard does not promise
  bool immutable = false;         // writes to elements
  bool lazy = false;              // the conversion of elements to Python numbers
  Flag without_masks = false;     // indexing by masks
  Flag without_counting = false;  // functions whose results have shapes that depend on elements
  bool poison_views = false;      // writes to memory that others own too
  bool with_devices = false;      // devices besides kCpuDevice: a module and an array type for each
  bool off_host = false;          // access of others to the memory: it is of a virtual device
  // Of a strict namespace of an earlier version of the standard:
  Flag without_index_arrays = false;     // integer arrays as indices, which came with 2024.12
  Flag without_dlpack_keywords = false;  // arguments of __dlpack__() that came with 2023.12
};

}  // namespace refarray::extension
