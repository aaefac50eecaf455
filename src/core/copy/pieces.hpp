// Owns how a long copy is cut into pieces: between them it can be stopped, and threads can share
// them.
#pragma once

#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"

namespace refarray::core {

/// Copies of at least this many bytes use non-temporal stores: half of a usual last-level cache.
/// (The cache size that a processor reports is no help: a virtual machine sees the host's, which it
/// shares.)
inline constexpr std::int64_t kDefaultStreamingThreshold = std::int64_t{16} << 20;

/// For tests, which reach the streaming kernels with small arrays.
void set_streaming_threshold(std::int64_t bytes) noexcept;
std::int64_t streaming_threshold() noexcept;

/// The pieces of a plan, each a plan of its own; together they are the plan.
class Pieces {
 public:
  /// Of about `most` bytes each.
  Pieces(const Plan& plan, std::int64_t most) noexcept;

  std::int64_t count() const noexcept { return count_; }
  Plan at(std::int64_t index) const noexcept;

 private:
  int candidates(int* axes) const noexcept;

  const Plan& plan_;
  int axes_[kMaxRank + 1];  // those before the last one are cut into single indices
  int cut_ = 1;             // how many of them are cut
  std::int64_t chunk_;      // indices of the last one in a piece
  std::int64_t chunks_;
  std::int64_t count_;
};

/// StridedSpans the plan; false when it was stopped, and then some units of dst are old and some
/// new.
bool run(const Plan& plan, const InterruptCheck& watch) noexcept;

}  // namespace refarray::core
