// Operation: RAII for one piece of work on a stream; contiguous copies by the driver.
#pragma once

#include "core/array.hpp"
#include "runtime/streams/pending_work.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// Construct before enqueueing work that reads `src` and writes `dst`; call finish() after. If
/// finish() is not called (an exception), the destructor waits for the stream, so that no partial
/// work is left running.
class Operation {
 public:
  /// Makes the stream wait for conflicting work. Throws kBuffer if that would invalidate a graph
  /// capture.
  Operation(const core::ArrayView& dst, const core::ArrayView& src, StreamPtr stream);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();
  /// Records the end of the work in both arrays. Waits for it if pageable memory is involved,
  /// unless `host_is_done`: the remaining work does not touch that memory.
  void finish(bool host_is_done = false);

 private:
  StreamPtr stream_;
  TrackedStorage* dst_;
  TrackedStorage* src_;
  std::uint64_t dst_waited_for_ = 0;  // see PendingWork::add()
  std::uint64_t src_waited_for_ = 0;
  unsigned long long capture_ = 0;
  bool pageable_ = false;
  bool finished_ = false;
};

bool is_on_device(const core::ArrayView& array) noexcept;
/// C-contiguous, and every bit of its bytes belongs to an element.
bool is_contiguous(const core::ArrayView& array) noexcept;

/// Copies `nbytes` contiguous bytes between any memory of one driver.
void copy_bytes(const core::ArrayView& dst, const core::ArrayView& src, std::int64_t nbytes,
                const StreamPtr& stream);

}  // namespace refarray::runtime
