// Owns the memory of arrays that died a moment ago, kept for the next ones: an exchange makes and
// drops many small objects.
#pragma once

#include <Python.h>

#include "core/memory/kept_blocks.hpp"

namespace refarray::extension {

struct ArrayObject;

/// For arrays of the main interpreter, and only where there is a GIL: that GIL is the pool's lock,
/// since whoever makes or drops such an array holds it. Arrays of other interpreters and of
/// free-threaded builds never come here.
class ObjectPool {
 public:
  static constexpr Py_ssize_t kRanks = 5;                            // ranks 0 to 4
  static constexpr Py_ssize_t kDepth = core::kKeepsMemory ? 16 : 0;  // objects kept of each rank

  /// A module of the main interpreter begins or ends to use the pool; with the last one the memory
  /// goes back.
  void open() noexcept { ++users_; }
  void close() noexcept;

  /// Memory for an array of `ndim`, uninitialised; nullptr when none is kept.
  void* take(Py_ssize_t ndim) noexcept {
    if (ndim >= kRanks || counts_[ndim] == 0) return nullptr;
    return blocks_[ndim][--counts_[ndim]];
  }
  /// Keeps the memory of a dead array of `ndim`; false when there is no room for it.
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
