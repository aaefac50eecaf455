// Owns Operation: one piece of work on a stream, ordered behind everything that it conflicts with
// and noted in the books of the arrays that it uses.
#pragma once

#include "refarray/core/array.hpp"
#include "refarray/runtime/stream.hpp"
#include "runtime/uses.hpp"

namespace refarray::runtime {

/// Made before the work is enqueued, finished after it. Without finish() (something threw) the host
/// waits for the stream, so that no half-made work runs on.
class Operation {
 public:
  /// Makes the stream wait. Throws kBuffer when a graph capture would be spoilt.
  Operation(const core::ArrayView& dst, const core::ArrayView& src, StreamPtr stream);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();
  /// Marks the end of the work; waits for it where memory of the CPU's own was used.
  void finish();

 private:
  StreamPtr stream_;
  TrackedStorage* dst_;
  TrackedStorage* src_;
  unsigned long long capture_ = 0;
  bool pageable_ = false;
  bool finished_ = false;
};

}  // namespace refarray::runtime
