// StridedAxes: some axes of an array with its strides and those of a second array, and boxes of a
// range of their indices.
#pragma once

#include <cstdint>

#include "core/layout.hpp"

namespace refarray::core {

/// Axes from outer to inner, without those of extent 1; strides in elements. An index counts in
/// row-major order.
struct StridedAxes {
  int count = 0;
  std::int64_t extents[kMaxRank];
  std::int64_t from[kMaxRank];
  std::int64_t to[kMaxRank];

  StridedAxes() noexcept {}  // NOLINT: leaves the arrays uninitialized
  void push(std::int64_t extent, std::int64_t from_stride, std::int64_t to_stride) noexcept;
  /// Sorts by descending stride in `from`; for axes whose order does not matter.
  void sort() noexcept;
  /// Merges axes that continue each other in both arrays.
  void merge() noexcept;

  std::int64_t size() const noexcept { return size_of(Extents(extents, std::size_t(count))); }
  std::int64_t last_extent() const noexcept { return count == 0 ? 1 : extents[count - 1]; }
  std::int64_t last_from() const noexcept { return count == 0 ? 0 : from[count - 1]; }
  /// The strides `to` are those of a contiguous row-major array.
  bool is_contiguous_to() const noexcept;
};

/// `length` indices of axis `axis` and all of the later axes.
struct Box {
  std::int64_t done;  // indices of the range before the box
  std::int64_t from;  // offsets of its first element
  std::int64_t to;
  int axis;
  std::int64_t length;
};

/// Partitions the indices [begin, end) into boxes, in ascending order, and calls visit(box). The
/// axis of a box is `first_axis` or later; with the last axis all boxes are runs along it.
template <class Visit>
inline void each_box(const StridedAxes& axes, std::int64_t begin, std::int64_t end, int first_axis,
                     Visit visit) noexcept {
  if (axes.count == 0) {
    if (begin < end) visit(Box{0, 0, 0, 0, 1});
    return;
  }
  for (std::int64_t at = begin; at < end;) {
    std::int64_t inner = 1;  // indices of the axes after `axis`
    int axis = axes.count - 1;
    while (axis > first_axis && at % (inner * axes.extents[axis]) == 0 &&
           end - at >= inner * axes.extents[axis])
      inner *= axes.extents[axis--];
    Box box{at - begin, 0, 0, axis, 0};
    std::int64_t rest = at / inner;
    const std::int64_t left = axes.extents[axis] - rest % axes.extents[axis];
    box.length = left < (end - at) / inner ? left : (end - at) / inner;
    for (int i = axis; i >= 0; --i) {
      const std::int64_t index = rest % axes.extents[i];
      rest /= axes.extents[i];
      box.from += index * axes.from[i];
      box.to += index * axes.to[i];
    }
    visit(box);
    at += box.length * inner;
  }
}

/// Runs along the last axis.
template <class Visit>
inline void each_run(const StridedAxes& axes, std::int64_t begin, std::int64_t end,
                     Visit visit) noexcept {
  each_box(axes, begin, end, axes.count - 1, visit);
}

}  // namespace refarray::core
