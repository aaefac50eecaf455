// Vector clocks: what a stream or host thread knows of every other one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fakegpu {

class Clock {
 public:
  std::uint32_t of(std::size_t component) const {
    return component < at_.size() ? at_[component] : 0;
  }

  void join(std::span<const std::uint32_t> other) {
    if (at_.size() < other.size()) at_.resize(other.size());
    for (std::size_t i = 0; i < other.size(); ++i) at_[i] = std::max(at_[i], other[i]);
  }
  void join(const Clock& other) { join(other.values()); }
  std::span<const std::uint32_t> values() const { return at_; }

  /// Every point in time of the other clock is in this one.
  bool reaches(const Clock& other) const {
    for (std::size_t i = 0; i < other.at_.size(); ++i)
      if (of(i) < other.at_[i]) return false;
    return true;
  }

  /// Only the one component: what a stream has queued, without what that waits for.
  void raise(std::size_t component, std::uint32_t time) {
    if (at_.size() <= component) at_.resize(component + 1);
    at_[component] = std::max(at_[component], time);
  }

  std::uint32_t tick(std::size_t component) {
    if (at_.size() <= component) at_.resize(component + 1);
    return ++at_[component];
  }

 private:
  std::vector<std::uint32_t> at_;
};

/// A point in time of one stream or host thread. It happened before a clock that has reached it.
struct Moment {
  std::size_t component = 0;
  std::uint32_t time = 0;

  bool before(const Clock& clock) const { return clock.of(component) >= time; }
};

}  // namespace fakegpu
