// Chunks of a long copy: worker threads share them, and between two of them the copy can be
// interrupted.
#pragma once

#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"

namespace refarray::core {

/// Copies of at least this many bytes use non-temporal stores: half of a typical last-level cache.
/// The size that the processor reports is unusable: a virtual machine sees that of the host, whose
/// cache it shares with others.
inline constexpr std::int64_t kDefaultStreamingThreshold = std::int64_t{16} << 20;

/// For tests, to run the streaming kernels on small arrays.
void set_streaming_threshold(std::int64_t bytes) noexcept;
std::int64_t streaming_threshold() noexcept;

/// Partitions a plan into smaller plans.
class Chunks {
 public:
  /// Into chunks of about `max_bytes` bytes.
  Chunks(const Plan& plan, std::int64_t max_bytes) noexcept;

  std::int64_t count() const noexcept { return count_; }
  Plan at(std::int64_t index) const noexcept;

 private:
  int candidates(int* axes) const noexcept;

  const Plan& plan_;
  int axes_[kMaxRank + 1];  // that may be cut, outermost first
  int cut_ = 1;             // number of axes that are cut, all but the last into single indices
  std::int64_t extent_per_chunk_;  // of the last axis that is cut
  std::int64_t chunks_per_axis_;   // of that axis
  std::int64_t count_;
};

/// Carries out the plan. False when it was interrupted; dst then has been written in part.
bool run(Plan&& plan, const InterruptCheck& interrupt) noexcept;

}  // namespace refarray::core
