// Indexing by boolean masks and integer arrays, mixed with integers, slices, '...' and None as in
// NumPy.
#include <optional>
#include <utility>

#include "compute/indexing/index_arrays.hpp"
#include "compute/indexing/mask.hpp"
#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/signals.hpp"
#include "extension/compute/indexing/array_selection.hpp"
#include "extension/compute/indexing/taking.hpp"
#include "extension/copy/copying.hpp"
#include "extension/indexing/indexing.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/compute_hooks.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

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

[[noreturn, gnu::cold]] void refuse_device(const core::ArrayView& array) {
  raise(PyExc_NotImplementedError,
        "indexing by an array has no kernel for %s yet; x.to_device(\"cpu\") makes a copy that it "
        "takes",
        core::name(array.device()).c_str());
}

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
  if (!array.device().is_host()) refuse_device(array);
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
  if (!array.device().is_host()) refuse_device(array);
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
