// Owns the cutting of long copies, and their threads.
#include "core/copy/pieces.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>

#include "core/copy/walk.hpp"

namespace refarray::core {

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
/// A piece takes a few milliseconds where memory is slow.
constexpr std::int64_t kPiece = 8 * kMiB;
constexpr std::int64_t kConvertedPiece = kMiB;
constexpr std::int64_t kThreadsFrom = 4 * kMiB;
/// Pieces begin at multiples of so many units, so that tiles stay whole and lines aligned.
constexpr std::int64_t kGrain = 256;
constexpr int kMostThreads = 256;

constinit std::atomic<int> threads_wanted{1};
constinit std::atomic<std::int64_t> streaming_threshold_bytes{kDefaultStreamingThreshold};

std::int64_t bytes_of(const Plan& plan) noexcept {
  return plan.size() * std::max(plan.dst_bits, plan.src_bits) / 8;
}

/// Extra threads that live as long as one copy does: nothing of them is left for a fork to find.
class Team {
 public:
  template <class Work>
  Team(int extra, const Work& work) noexcept {
    try {  // boundary: a system without another thread, or memory for one, is no error: the copy
           // just takes longer
      while (size_ < extra) {
        threads_[size_] = std::thread(work);
        ++size_;
      }
    } catch (const std::system_error&) {  // boundary: as above
    } catch (const std::bad_alloc&) {     // boundary: as above
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    for (int i = 0; i < size_; ++i) threads_[i].join();
  }

 private:
  int size_ = 0;
  std::thread threads_[kMostThreads];
};

}  // namespace

void set_copy_threads(int count) noexcept {
  threads_wanted.store(std::clamp(count, 1, kMostThreads), std::memory_order_relaxed);
}
int copy_threads() noexcept { return threads_wanted.load(std::memory_order_relaxed); }

void set_streaming_threshold(std::int64_t bytes) noexcept {
  streaming_threshold_bytes.store(bytes, std::memory_order_relaxed);
}
std::int64_t streaming_threshold() noexcept {
  return streaming_threshold_bytes.load(std::memory_order_relaxed);
}

/// The axes that may be cut, outermost first. Of the two axes of a tile only the longer is, of a
/// braid only the long one.
int Pieces::candidates(int* axes) const noexcept {
  const int last = plan_.ndim - 1;
  const bool is_pair = plan_.pattern != Pattern::kRuns && plan_.pattern != Pattern::kStrided;
  const int outer = is_pair ? plan_.ndim - 2 : plan_.ndim;
  for (int axis = 0; axis < outer; ++axis) axes[axis] = axis;
  if (!is_pair) return outer;
  const bool cuts_last =
      plan_.pattern == Pattern::kDeinterleave ||
      (plan_.pattern == Pattern::kTiles && plan_.shape[last] > plan_.shape[last - 1]);
  axes[outer] = cuts_last ? last : last - 1;
  return outer + 1;
}

Pieces::Pieces(const Plan& plan, std::int64_t most) noexcept : plan_(plan) {
  const int axes = candidates(axes_);
  std::int64_t inner = bytes_of(plan) / plan.shape[axes_[0]];
  while (cut_ < axes && inner > most)
    inner = std::max<std::int64_t>(inner / plan.shape[axes_[cut_++]], 1);
  const std::int64_t extent = plan.shape[axes_[cut_ - 1]];
  chunk_ = std::max<std::int64_t>(most / std::max<std::int64_t>(inner, 1), 1);
  if (axes_[cut_ - 1] >= plan.ndim - 2) chunk_ = (chunk_ + kGrain - 1) / kGrain * kGrain;
  chunk_ = std::min(chunk_, extent);
  chunks_ = (extent + chunk_ - 1) / chunk_;
  count_ = chunks_;
  for (int i = 0; i < cut_ - 1; ++i) count_ *= plan.shape[axes_[i]];
}

Plan Pieces::at(std::int64_t index) const noexcept {
  Plan out = plan_;
  const int last = axes_[cut_ - 1];
  const std::int64_t begin = index % chunks_ * chunk_;
  out.narrow(last, begin, std::min(begin + chunk_, plan_.shape[last]));
  index /= chunks_;
  for (int i = cut_ - 2; i >= 0; --i) {
    const std::int64_t extent = plan_.shape[axes_[i]];
    out.narrow(axes_[i], index % extent, index % extent + 1);
    index /= extent;
  }
  return out;
}

bool run(const Plan& plan, const InterruptCheck& watch) noexcept {
  const std::int64_t bytes = bytes_of(plan);
  const bool streams = plan.moves && bytes >= streaming_threshold();
  std::int64_t most = plan.moves ? kPiece : kConvertedPiece;
  if (bytes <= std::min(most, kThreadsFrom)) {
    walk(plan, streams);
    return true;
  }
  // Units that share memory are written in one order, packed ones share bytes with their
  // neighbours.
  const bool is_shared = plan.shares_dst || plan.dst_bits % 8 != 0;
  const int threads = is_shared ? 1 : copy_threads();
  if (threads > 1) most = std::clamp(bytes / (4 * threads), kMiB / 4, most);
  const Pieces pieces(plan, most);
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stops{false};
  const auto work = [&] {
    for (std::int64_t i = 0; !stops.load(std::memory_order_relaxed);) {
      i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= pieces.count()) return;
      walk(pieces.at(i), streams);
    }
  };
  const auto work_and_watch = [&] {
    for (;;) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= pieces.count()) return;
      walk(pieces.at(i), streams);
      if (watch.stops != nullptr && watch.stops(watch.context)) {
        stops.store(true, std::memory_order_relaxed);
        return;
      }
    }
  };
  if (threads == 1) {
    work_and_watch();
  } else {
    const Team team(static_cast<int>(std::min<std::int64_t>(threads, pieces.count())) - 1, work);
    work_and_watch();
  }
  return !stops.load(std::memory_order_relaxed);
}

}  // namespace refarray::core
