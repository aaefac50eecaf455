// Indexing by boolean masks and integer arrays, mixed with integers, slices, '...' and None as in
// NumPy.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compute/indexing/index_arrays.hpp"
#include "compute/indexing/mask.hpp"
#include "core/array.hpp"
#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/indexing/taking.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/indexing/indexing.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/compute_hooks.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using Kind = EntryKind;

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
      core::fail(Fault::kIndex, "the result would have more than ", core::kMaxRank,
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
    core::fail(Fault::kIndex, "index arrays of shapes ", core::shape_text(layout_.extents()),
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
  auto start = static_cast<Py_ssize_t>(entry.start);
  Py_ssize_t stop = entry.stop;
  const std::int64_t stride = array_.strides[entry.axis];
  const std::int64_t count =
      PySlice_AdjustIndices(python_length(array_.shape[entry.axis]), &start, &stop, entry.step);
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

// --- Selection and assignment.

/// The layout of `array`, which has the shape of the selection, with the axes of the block merged
/// into one; nothing if no stride expresses that.
[[gnu::noinline]] std::optional<core::Layout> merge_block(
    const core::ArrayView& array, const ArraySelection& selection) noexcept {
  const std::int64_t count = selection.offsets().layout.shape[0];
  core::Layout out;
  const int begin = selection.block_at();
  const int end = begin + selection.block_ndim();
  for (int axis = 0; axis < begin; ++axis) out.push(array.shape[axis], array.strides[axis]);
  std::int64_t inner = 0, extent = 1;
  for (int axis = end - 1; axis >= begin; --axis) {
    if (array.shape[axis] == 1 || count == 0) continue;  // strides are arbitrary
    if (extent == 1)
      inner = array.strides[axis];
    else if (array.strides[axis] != core::wrapped_product(inner, extent))
      return std::nullopt;
    extent *= array.shape[axis];
  }
  out.push(count, inner);
  for (int axis = end; axis < array.ndim; ++axis) out.push(array.shape[axis], array.strides[axis]);
  return out;
}

/// An indexed array on a device and the arrays of the index, as copies on the host.
struct HostIndexing {
  HostIndexing(State& state, const core::ArrayView& array, Index& index, bool writes = false)
      : indexed(make_array(state, core::with_layout(array, layout_of(array), 0))),
        arguments(state, "indexing", arrays_of(indexed.get(), index), writes) {
    std::size_t at = 1;
    index.replace_arrays([&](PyObject*) { return Ref::borrow(arguments[at++]); });
  }

  static core::Layout layout_of(const core::ArrayView& array) {
    return {array.extents(), array.stride_span()};
  }
  static std::vector<PyObject*> arrays_of(PyObject* indexed, const Index& index) {
    std::vector<PyObject*> out{indexed};
    for (const IndexEntry& entry : index.entries())
      if (entry.names_device()) out.push_back(entry.object);
    return out;
  }

  Ref indexed;
  HostArguments arguments;
};

/// The common case, without a plan: a mask of the array's own shape.
Ref select_by_mask(const State& state, const core::ArrayView& array, const core::ArrayView& mask) {
  core::Array out;
  core::note_attempt(core::Entry::kCopy, -1);
  run_interruptibly(array.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::select(out, array, mask, interrupt);
  });
  core::note(core::Entry::kCopy, out.view().nbytes());
  return make_array(state, std::move(out));
}

/// Whether the index selects along the first axis by one array, which needs no plan either.
bool takes_along_first_axis(const core::ArrayView& array, const IndexEntry& entry) noexcept {
  return entry.kind == EntryKind::kIndices && entry.array().ndim == 1 && array.ndim > 0 &&
         entry.array().device() == core::Device{};
}

Ref select_along_first_axis(const State& state, const core::ArrayView& array,
                            const core::ArrayView& indices) {
  core::note_attempt(core::Entry::kCopy, -1);
  core::Array out = take_along(array, indices, 0, "indexing by an array");
  core::note(core::Entry::kCopy, out.view().nbytes());
  return make_array(state, std::move(out));
}

/// The array broadcast to the shape of the selection.
[[gnu::noinline]] core::Array spread(const core::ArrayView& from, const ArraySelection& selection) {
  return core::with_layout(
      from, core::broadcast_layout(from.extents(), from.stride_span(), selection.shape()), 0);
}

[[gnu::noinline]] void gather_into(const core::ArrayView& out, const ArraySelection& selection) {
  const core::Array flat = core::with_layout(out, *merge_block(out, selection), 0);
  const core::Array base = selection.base();
  run_interruptibly(out.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::gather(flat, {base, selection.offsets(), selection.block_at()}, interrupt);
  });
}

/// The array with the axes of the block merged: a view, or a copy.
[[gnu::noinline]] core::Array merged(const core::ArrayView& array,
                                     const ArraySelection& selection) {
  if (const auto flat = merge_block(array, selection)) return core::with_layout(array, *flat, 0);
  const core::Array copy = working_copy(array, array.dtype);
  return core::with_layout(copy, *merge_block(copy, selection), 0);
}

[[gnu::noinline]] void scatter_from(const core::ArrayView& array, const ArraySelection& selection) {
  const core::Array source = merged(array, selection), base = selection.base();
  run_interruptibly(source.view().nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::scatter({base, selection.offsets(), selection.block_at()}, source, interrupt);
  });
}

}  // namespace

Ref get_by_arrays(State& state, const core::ArrayView& array, Index& index) {
  if (!array.device().is_host()) [[unlikely]] {
    const HostIndexing host(state, array, index);
    return host.arguments.on_device(get_by_arrays(state, view_of(host.arguments[0]), index));
  }
  require_host(array, "indexing by an array", /*writes=*/false);
  if (index.entries().size() == 1) {
    const IndexEntry& entry = index.entries()[0];
    const core::ArrayView by = entry.array();
    if (takes_along_first_axis(array, entry)) return select_along_first_axis(state, array, by);
    if (entry.kind == EntryKind::kMask && by.device() == core::Device{} &&
        core::can_select(array, by) && !state.modes.without_masks)
      return select_by_mask(state, array, by);
  }
  ArraySelection selection(state, array, index);
  selection.find();
  core::note(core::Entry::kCopy, core::nbytes_of(core::size_of(selection.shape()), array.dtype));
  core::Array out = core::new_array(array.dtype, selection.shape(), /*zeroed=*/false);
  gather_into(out, selection);
  return make_array(state, std::move(out));
}

void assign_by_arrays(State& state, const core::ArrayView& array, Index& index, PyObject* value) {
  if (!array.device().is_host()) [[unlikely]] {
    alignas(16) std::byte element[16]{};
    Ref read;  // before the array is copied, because reading the value may run user code
    const core::ArrayView from = assigned_value(state, value, array.dtype, element, read);
    if (!read) read = make_array(state, working_copy(from, from.dtype));
    const HostIndexing host(state, array, index, /*writes=*/true);
    assign_by_arrays(state, view_of(host.arguments[0]), index, read.get());
    return write_to_device(array, view_of(host.arguments[0]));
  }
  require_host(array, "assignment");
  ArraySelection selection(state, array, index);
  alignas(16) std::byte element[16]{};  // fits the largest scalar, complex128
  Ref owner;
  const core::ArrayView from = assigned_value(state, value, array.dtype, element, owner);
  selection.find();
  core::Array source = spread(from, selection);  // raises before a copy is made
  const std::int64_t nbytes = core::nbytes_of(core::size_of(selection.shape()), array.dtype);
  if (owner && is_arriving(state, value))
    note_transfer(nbytes, /*with_host=*/true);
  else if (owner)
    core::note(core::Entry::kCopy, nbytes);
  if (from.dtype != array.dtype || !from.device().is_host() || core::may_overlap(from, array))
    source = spread(working_copy(from, array.dtype), selection);
  require_host(source, "assignment", /*writes=*/false);
  scatter_from(source, selection);
}

}  // namespace refarray::extension
