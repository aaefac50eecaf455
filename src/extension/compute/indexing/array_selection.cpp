// Implements ArraySelection: the entries of an index, where its block of arrays comes, and the
// offsets of the places.
#include "extension/compute/indexing/array_selection.hpp"

#include <algorithm>
#include <utility>

#include "compute/indexing/mask.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/signals.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {

using core::Fault;
using Kind = EntryKind;

void CommonShape::add(core::Extents shape) {
  const auto ndim = static_cast<int>(shape.size());
  for (; layout_.ndim < ndim; ++layout_.ndim) {  // new leading axes
    for (int axis = layout_.ndim; axis > 0; --axis) layout_.shape[axis] = layout_.shape[axis - 1];
    layout_.shape[0] = 1;
  }
  for (int axis = 0; axis < ndim; ++axis) {
    std::int64_t& extent = layout_.shape[layout_.ndim - ndim + axis];
    const std::int64_t given = shape[static_cast<std::size_t>(axis)];
    if (extent == 1) extent = given;
    if (given == 1 || given == extent) continue;
    core::fail(core::Fault::kIndex, "index arrays of shapes ", core::shape_text(layout_.extents()),
               " and ", core::shape_text(shape), " do not broadcast to one shape");
  }
}

ArraySelection::ArraySelection(State& state, const core::ArrayView& array, Index& index)
    : array_(array) {
  core::check_byte_sized(array.dtype, "indexing by an array");
  const int axes = index.place(array.ndim);
  entries_.assign(index.entries().begin(), index.entries().end());
  expand_masks(state);
  for (const IndexEntry& entry : entries_) add(entry);
  keep(axes, array_.ndim - axes);
  if (is_split_) block_at_ = 0;
}

void ArraySelection::check_mask(const IndexEntry& entry) const {
  const core::ArrayView mask = entry.array();
  bool fits = true;
  for (int i = 0; i < mask.ndim; ++i)
    fits &= mask.shape[i] == array_.shape[entry.axis + i] || mask.shape[i] == 0;
  if (fits) return;
  const core::Extents of(array_.shape + entry.axis, static_cast<std::size_t>(mask.ndim));
  core::fail(Fault::kIndex, "a mask of shape ", core::shape_text(mask.extents()),
             " does not fit the axes of shape ", core::shape_text(of),
             " that it selects from, in an array of shape ", core::shape_text(array_.extents()));
}

/// A mask beside other arrays or integers stands for its indices along each of its axes; one of
/// ndim 0 for one place or none, along no axis.
void ArraySelection::expand_masks(State& state) {
  int in_block = 0;
  for (const IndexEntry& entry : entries_) {
    if (entry.kind == Kind::kMask) {
      refuse_mask(state);
      check_mask(entry);
    }
    if (entry.is_in_block()) ++in_block;
  }
  if (in_block == 1) return;
  std::vector<IndexEntry> out;
  for (const IndexEntry& entry : entries_) {
    if (entry.kind != Kind::kMask) {
      out.push_back(entry);
      continue;
    }
    const core::ArrayView mask = entry.array();
    require_host(mask, "indexing by a mask", /*writes=*/false);
    core::Layout layout(mask.extents(), mask.stride_span());
    if (mask.ndim == 0) layout.push(1, 1);
    const core::Array all = core::with_layout(mask, layout, 0);
    std::vector<core::Array> coordinates;
    run_interruptibly(mask.size(), [&](const core::InterruptCheck& interrupt) {
      return core::nonzero(coordinates, all, interrupt);
    });
    int axis = entry.axis;
    for (core::Array& indices : coordinates) {
      coordinates_.push_back(make_array(state, std::move(indices)));
      out.push_back({Kind::kIndices, true, mask.ndim == 0 ? 0 : 1, axis++,
                     coordinates_.back().get(), 0, 0, 0});
    }
  }
  entries_ = std::move(out);
}

void ArraySelection::start_block() {
  if (block_at_ < 0)
    block_at_ = base_.ndim;
  else if (!is_open_)
    is_split_ = true;
}

void ArraySelection::add(const IndexEntry& entry) {
  if (entry.is_in_block()) start_block();
  is_open_ = entry.is_in_block();
  const int axis = entry.axis;
  switch (entry.kind) {
    case Kind::kInteger:  // as an array of ndim 0, which all places share
      return move(position_of(entry, array_.shape[axis]), array_.strides[axis]);
    case Kind::kSlice:
      return slice(entry);
    case Kind::kEllipsis:
      return keep(axis, entry.axes);
    case Kind::kNewAxis:
      return push(base_, 1, 1);
    case Kind::kMask:
      require_host(entry.array(), "indexing by a mask", /*writes=*/false);
      index_bytes_ += entry.array().size();
      mask_ = &entry;
      return;
    case Kind::kIndices:
      require_host(entry.array(), "indexing by an array", /*writes=*/false);
      index_bytes_ += 8 * entry.array().size();
      block_.add(entry.array().extents());
      if (entry.axes == 1)
        indices_.push_back({entry.array(), axis, array_.shape[axis], array_.strides[axis]});
  }
}

/// Bounds are clipped to the extent, as for Python's sequences.
void ArraySelection::slice(const IndexEntry& entry) {
  Py_ssize_t start = entry.start, stop = entry.stop;
  const std::int64_t stride = array_.strides[entry.axis];
  const std::int64_t count =
      PySlice_AdjustIndices(array_.shape[entry.axis], &start, &stop, entry.step);
  if (count > 0) move(start, stride);
  push(base_, count, count > 1 ? core::wrapped_product(stride, entry.step) : stride);
}

void ArraySelection::find() {
  run_interruptibly(index_bytes_, [this](const core::InterruptCheck& interrupt) {
    const int itemsize = array_.dtype.itemsize();
    if (mask_ == nullptr)
      return core::index_offsets(offsets_, indices_, block_.extents(), itemsize, interrupt);
    const core::ArrayView mask = mask_->array();
    const core::Extents strides(array_.strides + mask_->axis, static_cast<std::size_t>(mask.ndim));
    const bool is_done = core::mask_offsets(offsets_, mask, strides, itemsize, interrupt);
    if (is_done) block_.add(offsets_.layout.extents());
    return is_done;
  });
  for (int axis = 0; axis < block_at_; ++axis) push(result_, base_.shape[axis], 0);
  for (const std::int64_t extent : block_.extents()) push(result_, extent, 0);
  for (int axis = block_at_; axis < base_.ndim; ++axis) push(result_, base_.shape[axis], 0);
}

}  // namespace refarray::extension
