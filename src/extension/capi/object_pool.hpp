// A free list of array objects, as CPython has for its own small objects.
#pragma once

#include <Python.h>

#include "core/memory/small_blocks.hpp"

namespace refarray::extension {

struct ArrayObject;

/// For arrays of the main interpreter in builds with a GIL: its GIL is held wherever such an array
/// is allocated or deallocated, and protects the pool. Sub-interpreters and free-threaded builds do
/// not use it (docs/adr/0010).
class ObjectPool {
 public:
  static constexpr Py_ssize_t kRanks = 5;                            // ranks 0 to 4
  static constexpr Py_ssize_t kDepth = core::kKeepsMemory ? 16 : 0;  // objects of each rank

  /// Registers and unregisters a module that uses the pool; the last close() frees its memory.
  void open() noexcept { ++users_; }
  void close() noexcept;

  /// Uninitialized memory for an array of rank `ndim`; nullptr when the pool has none.
  void* take(Py_ssize_t ndim) noexcept {
    if (ndim >= kRanks || counts_[ndim] == 0) return nullptr;
    return blocks_[ndim][--counts_[ndim]];
  }
  /// Takes the memory of a deallocated array of rank `ndim`; false when the pool is full.
  bool give(void* memory, Py_ssize_t ndim) noexcept {
    if (users_ == 0 || ndim >= kRanks || counts_[ndim] == kDepth) return false;
    blocks_[ndim][counts_[ndim]++] = memory;
    return true;
  }

 private:
  int users_ = 0;
  Py_ssize_t counts_[kRanks] = {};
  void* blocks_[kRanks][kDepth + 1] = {};
};

/// The one pool of the process.
inline constinit ObjectPool object_pool;

}  // namespace refarray::extension
