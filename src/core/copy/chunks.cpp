// Cutting a plan into chunks, and carrying them out.
#include "core/copy/chunks.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/copy/walk.hpp"

namespace refarray::core {

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
/// Takes a few milliseconds on slow memory.
constexpr std::int64_t kChunkBytes = 8 * kMiB;
constexpr std::int64_t kConversionChunkBytes = kMiB;
constexpr std::int64_t kThreadingThreshold = 4 * kMiB;
constexpr std::int64_t kPageBytes = 4096;
constexpr std::int64_t kPageShare =
    512;  // a chunk of words on pages of their own is this much less
/// In copy words: keeps tiles whole and chunks aligned to cache lines.
constexpr std::int64_t kChunkAlignment = 256;

constinit std::atomic<std::int64_t> streaming_threshold_bytes{kDefaultStreamingThreshold};

std::int64_t bytes_of(const Plan& plan) noexcept {
  return plan.size() * std::max(plan.dst_bits, plan.src_bits) / 8;
}

/// Where a little of src is repeated, ordinary stores are faster as long as dst fits the cache.
bool is_worth_streaming(const Plan& plan, std::int64_t bytes) noexcept {
  const bool reads_little = plan.bytes_read() < bytes / 8;
  return plan.moves && bytes >= streaming_threshold() * (reads_little ? 4 : 1);
}

/// Whether each word lies on a page of its own, whose first use may take a thousand times as long
/// as a word.
bool is_on_many_pages(const Plan& plan) noexcept {
  const int last = plan.ndim - 1;
  return plan.pattern == Pattern::kStrided &&
         std::max(plan.dst_strides[last], std::abs(plan.src_strides[last])) >= kPageBytes * 8;
}

}  // namespace

void set_streaming_threshold(std::int64_t bytes) noexcept {
  streaming_threshold_bytes.store(bytes, std::memory_order_relaxed);
}
std::int64_t streaming_threshold() noexcept {
  return streaming_threshold_bytes.load(std::memory_order_relaxed);
}

/// The axes that may be cut, outermost first. Of the last two axes only one may: for tiles the
/// longer one, for (de)interleaving the one that counts the words of a part.
int Chunks::candidates(int* axes) const noexcept {
  const int last = plan_.ndim - 1;
  const bool is_transpose = plan_.pattern != Pattern::kRuns && plan_.pattern != Pattern::kStrided;
  const int outer = is_transpose ? plan_.ndim - 2 : plan_.ndim;
  for (int axis = 0; axis < outer; ++axis) axes[axis] = axis;
  if (!is_transpose) return outer;
  const bool cuts_last =
      plan_.pattern == Pattern::kDeinterleave ||
      (plan_.pattern == Pattern::kTiles && plan_.shape[last] > plan_.shape[last - 1]);
  axes[outer] = cuts_last ? last : last - 1;
  return outer + 1;
}

Chunks::Chunks(const Plan& plan, std::int64_t max_bytes) noexcept : plan_(plan) {
  const int axes = candidates(axes_);
  std::int64_t inner = bytes_of(plan) / plan.shape[axes_[0]];
  while (cut_ < axes && inner > max_bytes)
    inner = std::max<std::int64_t>(inner / plan.shape[axes_[cut_++]], 1);
  const std::int64_t extent = plan.shape[axes_[cut_ - 1]];
  extent_per_chunk_ = std::max<std::int64_t>(max_bytes / std::max<std::int64_t>(inner, 1), 1);
  if (axes_[cut_ - 1] >= plan.ndim - 2)
    extent_per_chunk_ =
        (extent_per_chunk_ + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
  extent_per_chunk_ = std::min(extent_per_chunk_, extent);
  chunks_per_axis_ = (extent + extent_per_chunk_ - 1) / extent_per_chunk_;
  count_ = chunks_per_axis_;
  for (int i = 0; i < cut_ - 1; ++i) count_ *= plan.shape[axes_[i]];
}

Plan Chunks::at(std::int64_t index) const noexcept {
  Plan out = plan_;
  const int last = axes_[cut_ - 1];
  const std::int64_t begin = index % chunks_per_axis_ * extent_per_chunk_;
  out.narrow(last, begin, std::min(begin + extent_per_chunk_, plan_.shape[last]));
  index /= chunks_per_axis_;
  for (int i = cut_ - 2; i >= 0; --i) {
    const std::int64_t extent = plan_.shape[axes_[i]];
    out.narrow(axes_[i], index % extent, index % extent + 1);
    index /= extent;
  }
  return out;
}

bool run(Plan&& plan, const InterruptCheck& interrupt) noexcept {
  const std::int64_t bytes = bytes_of(plan);
  const bool streams = is_worth_streaming(plan, bytes);
  if (streams) plan.follow_src();
  std::int64_t max_bytes = plan.moves ? kChunkBytes : kConversionChunkBytes;
  const std::int64_t share = is_on_many_pages(plan) ? kPageShare : 1;
  if (bytes <= std::min(max_bytes, kThreadingThreshold) / share) {
    walk(plan, streams);
    return true;
  }
  // Writes to overlapping words must stay in order, and neighbouring packed elements share bytes.
  const bool needs_order = plan.dst_overlaps_itself || plan.dst_bits % 8 != 0;
  const bool is_short = bytes <= kThreadingThreshold;
  const int threads = needs_order || is_short ? 1 : copy_threads();
  if (threads > 1) max_bytes = std::clamp(bytes / (4 * threads), kMiB / 4, max_bytes);
  const Chunks chunks(plan, max_bytes / share);
  const auto piece = [&](std::int64_t i) { walk(chunks.at(i), streams); };
  return share_work(chunks.count(), threads, interrupt, piece);
}

}  // namespace refarray::core
