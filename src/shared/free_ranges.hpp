// FreeRanges: which bytes of a file are free, in memory of this process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace refarray::shared {

struct Range {
  std::uint64_t offset;
  std::uint64_t length;

  std::uint64_t end() const noexcept { return offset + length; }
};

class FreeRanges {
 public:
  /// The begin of `length` bytes of the smallest range that has them; empty if none has.
  std::optional<std::uint64_t> take(std::uint64_t length) {
    const auto found = by_length_.lower_bound({length, 0});
    if (found == by_length_.end()) return std::nullopt;
    const Range range{found->second, found->first};
    erase(range);
    if (range.length > length) insert({range.offset + length, range.length - length});
    return range.offset;
  }

  /// Merges the range with its neighbours.
  void give(Range range) {
    const auto after = by_offset_.find(range.end());
    if (after != by_offset_.end()) {
      range.length += after->second;
      erase({after->first, after->second});
    }
    const auto next = by_offset_.lower_bound(range.offset);
    if (next != by_offset_.begin()) {
      const auto [offset, length] = *std::prev(next);
      if (offset + length == range.offset) {
        erase({offset, length});
        range = {offset, length + range.length};
      }
    }
    insert(range);
  }

  /// Takes all that are multiples of `unit`, at multiples of it.
  std::vector<Range> take_whole(std::uint64_t unit) {
    std::vector<Range> out;
    for (const auto& [offset, length] : std::map(by_offset_)) {
      const std::uint64_t begin = (offset + unit - 1) / unit * unit;
      const std::uint64_t end = (offset + length) / unit * unit;
      if (begin >= end) continue;
      erase({offset, length});
      if (begin > offset) insert({offset, begin - offset});
      if (end < offset + length) insert({end, offset + length - end});
      out.push_back({begin, end - begin});
    }
    return out;
  }

  std::uint64_t bytes() const noexcept { return bytes_; }
  void clear() noexcept {
    by_offset_.clear();
    by_length_.clear();
    bytes_ = 0;
  }

 private:
  /// A range for which only the second has no memory can be taken, but is not merged.
  void insert(const Range& range) {
    by_length_.emplace(range.length, range.offset);
    bytes_ += range.length;
    by_offset_.emplace(range.offset, range.length);
  }
  void erase(const Range& range) noexcept {
    by_offset_.erase(range.offset);
    by_length_.erase({range.length, range.offset});
    bytes_ -= range.length;
  }

  std::map<std::uint64_t, std::uint64_t> by_offset_;             // to the length
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_length_;  // with the offset
  std::uint64_t bytes_ = 0;
};

}  // namespace refarray::shared
