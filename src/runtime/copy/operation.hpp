// Owns Operation: one piece of work on a stream, ordered behind everything that it conflicts with
// and noted in the books of the arrays that it uses.
#pragma once

#include "core/array.hpp"
#include "runtime/streams/pending_work.hpp"
#include "runtime/streams/stream.hpp"

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
  /// Marks the end of the work; waits for it where memory of the CPU's own was used, unless the
  /// work that is left uses other memory.
  void finish(bool host_is_done = false);

 private:
  StreamPtr stream_;
  TrackedStorage* dst_;
  TrackedStorage* src_;
  unsigned long long capture_ = 0;
  bool pageable_ = false;
  bool finished_ = false;
};

bool is_on_device(const core::ArrayView& array) noexcept;
/// Row-major without gaps, and nothing beside the elements is in their bytes.
bool is_gapless(const core::ArrayView& array) noexcept;

/// `nbytes` gapless bytes from one array's data to the other's, between any memory of one driver.
void copy_bytes(const core::ArrayView& dst, const core::ArrayView& src, std::int64_t nbytes,
                const StreamPtr& stream);

}  // namespace refarray::runtime
