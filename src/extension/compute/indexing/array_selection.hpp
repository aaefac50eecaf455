// ArraySelection: the places that an index with masks or integer arrays selects.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "compute/indexing/index_arrays.hpp"
#include "core/array.hpp"
#include "core/error.hpp"
#include "extension/capi/ref.hpp"
#include "extension/capi/state.hpp"
#include "extension/indexing/index.hpp"

namespace refarray::extension {

/// Extents broadcast against each other, one array after the other.
class CommonShape {
 public:
  /// Throws kIndex, naming both shapes.
  void add(core::Extents shape);
  core::Extents extents() const noexcept { return layout_.extents(); }

 private:
  core::Layout layout_;  // strides unused
};

/// The places that an index selects, in three parts: the axes before the block that the arrays
/// select, the block, and the axes after it.
class ArraySelection {
 public:
  ArraySelection(State& state, const core::ArrayView& array, Index& index);

  /// Computes the offsets of the places. Index arrays and masks are read here, once.
  void find();

  /// The shape of what is selected, after find().
  core::Extents shape() const noexcept { return result_.extents(); }
  int block_at() const noexcept { return block_at_; }
  int block_ndim() const noexcept { return static_cast<int>(block_.extents().size()); }
  core::Array base() const noexcept { return core::with_layout(array_, base_, offset_); }
  const core::Array& offsets() const noexcept { return offsets_; }

 private:
  void expand_masks(State& state);
  void check_mask(const IndexEntry& entry) const;
  void add(const IndexEntry& entry);
  void start_block();
  void slice(const IndexEntry& entry);

  static void push(core::Layout& layout, std::int64_t extent, std::int64_t stride) {
    if (layout.ndim == core::kMaxRank) {
      core::fail(core::Fault::kIndex, "the result would have more than ", core::kMaxRank,
                 " axes, the limit");
    }
    layout.push(extent, stride);
  }
  void keep(int axis, int axes) {
    for (const int end = axis + axes; axis < end; ++axis)
      push(base_, array_.shape[axis], array_.strides[axis]);
  }
  /// Overflow is possible for an empty array only, whose strides are arbitrary.
  void move(std::int64_t steps, std::int64_t stride) noexcept {
    offset_ = core::wrapped_sum(offset_, core::wrapped_product(steps, stride));
  }

  const core::ArrayView& array_;
  std::vector<IndexEntry> entries_;
  std::vector<Ref> coordinates_;  // of masks that were expanded
  core::Layout base_;             // the axes that no array indexes
  std::int64_t offset_ = 0;       // of base_, in elements
  int block_at_ = -1;             // the axis of base_ before which the block comes
  bool is_open_ = false;          // the last entry belongs to the block
  bool is_split_ = false;         // entries of the block are apart, so that it comes first
  CommonShape block_;
  std::vector<core::AxisIndex> indices_;
  const IndexEntry* mask_ = nullptr;  // the only array of the index, if it is a mask
  core::Array offsets_;
  core::Layout result_;  // the shape of the result
  std::int64_t index_bytes_ = 0;
};

}  // namespace refarray::extension
