// repeat(), roll() and tile(): copies of an array, or of parts of it, side by side; and shifts
// along axes.
#include "extension/compute/manipulation/repeating.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "compute/indexing/index_arrays.hpp"
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/indexing/taking.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {

// --- What others use too.

namespace {

/// Copies the parts before and after the shift, along this axis and those after it.
void roll_from(int axis, const core::Array& to, const core::Array& from,
               const std::int64_t* shifts) {
  while (axis < from.layout.ndim && shifts[axis] == 0) ++axis;
  if (axis == from.layout.ndim) return move_elements(to, from);
  const std::int64_t extent = from.layout.shape[axis];
  const std::int64_t shift = shifts[axis];
  const auto part = [axis](const core::Array& array, std::int64_t begin, std::int64_t count) {
    core::Layout layout = array.layout;
    layout.shape[axis] = count;
    return core::with_layout(array, layout, core::wrapped_product(begin, layout.strides[axis]));
  };
  roll_from(axis + 1, part(to, shift, extent - shift), part(from, 0, extent - shift), shifts);
  roll_from(axis + 1, part(to, 0, shift), part(from, extent - shift, shift), shifts);
}

}  // namespace

core::Array rolled(const core::ArrayView& array, const std::int64_t* shifts) {
  core::note(core::Entry::kCopy, array.nbytes());
  const core::Device device = default_copy_device(array.device());
  Unfinished out(
      allocate_on(device, array.dtype, array.extents(), /*zeroed=*/array.dtype.is_packed()));
  const core::Layout layout(array.extents(), array.stride_span());
  if (array.size() != 0) roll_from(0, out.array(), core::with_layout(array, layout, 0), shifts);
  return out.finish();
}

std::int64_t total_shift(std::int64_t shift, std::int64_t more, std::int64_t extent) noexcept {
  if (extent == 0) return 0;
  more %= extent;
  if (more < 0) more += extent;
  return shift >= extent - more ? shift - (extent - more) : shift + more;
}

core::Array flattened(const core::ArrayView& array) {
  const std::int64_t flat[] = {array.size()};
  if (const auto layout = core::reshape_layout(array.extents(), array.stride_span(), flat))
    return core::with_layout(array, *layout, 0);
  const core::Device device = default_copy_device(array.device());
  return core::with_layout(working_copy(array, array.dtype, device), core::c_layout(flat), 0);
}

// --- repeat

namespace {

using core::Fault;

constexpr FunctionRow kRepeat{
    "repeat",
    "x, repeats, /, *, axis=None",
    Category::kManipulation,
    2023,
    R"doc(Repeat each element along an axis.

repeats: an integer, or an array of integers of shape (1,), or with one number for
    each element along axis. An array must be in memory that the CPU can read.
axis: None repeats the elements of x in row-major order, in a result of ndim 1.

Returns a new array on the device of x. Raises ValueError for negative numbers
and other shapes, IndexError for an axis out of range, OverflowError if the
result is too large, TypeError for arguments of other types.)doc",
};

constexpr FunctionRow kRoll{
    "roll",
    "x, /, shift, *, axis=None",
    Category::kManipulation,
    2021,
    R"doc(Shift elements along axes; those shifted beyond the end come in at the start.

shift: an integer, or as many integers as axis has. Negative numbers shift toward
    the start. The shifts of an axis that is given twice add up.
axis: an axis or a sequence of axes. None shifts the elements in row-major order.

Returns a new array on the device of x. Raises ValueError if the numbers of
entries differ, IndexError for an axis out of range, TypeError for arguments of
other types.)doc",
};

constexpr FunctionRow kTile{
    "tile",
    "x, repetitions, /",
    Category::kManipulation,
    2023,
    R"doc(Return copies of x side by side, as a new array on the device of x.

repetitions: how many along each axis; the last number is for the last axis. If
    there are more numbers than axes, x gets further axes of extent 1 in front.

Raises ValueError for a negative number, OverflowError if an extent is too large,
TypeError for arguments of other types.)doc",
};

std::int64_t times(const char* function, std::int64_t extent, std::int64_t count) {
  std::int64_t out = 0;
  if (!__builtin_mul_overflow(extent, count, &out)) return out;
  core::fail(Fault::kOverflow, function, "(): an extent of ", extent, " repeated ", count,
             " times exceeds 2**63 - 1");
}

void check_count(const char* function, const char* what, std::int64_t count) {
  if (count >= 0) return;
  core::fail(Fault::kValue, function, "(): ", what, " is ", count, "; it must be 0 or more");
}

/// Each element along `axis`, `count` times.
core::Array repeat_by_count(const core::ArrayView& array, std::int64_t count, int axis) {
  check_count(kRepeat.name, "repeats", count);
  core::Layout shape(array.extents(), array.stride_span());
  shape.shape[axis] = times(kRepeat.name, array.shape[axis], count);
  const core::Device device = default_copy_device(array.device());
  Unfinished out(
      allocate_on(device, array.dtype, shape.extents(), /*zeroed=*/array.dtype.is_packed()));
  const core::Layout& made = out.array().layout;
  core::Layout to, from;  // axis is split in two, the elements and their repetitions
  for (int i = 0; i < array.ndim; ++i) {
    to.push(array.shape[i], made.strides[i]);
    from.push(array.shape[i], array.strides[i]);
  }
  to.strides[axis] = core::wrapped_product(made.strides[axis], count);
  to.push(count, made.strides[axis]);
  from.push(count, 0);
  copy_elements(core::with_layout(out.array(), to, 0), core::with_layout(array, from, 0));
  return out.finish();
}

core::Array repeat_by_array(const core::ArrayView& array, const core::ArrayView& repeats,
                            int axis) {
  core::check_index_dtype(repeats.dtype, "repeats");
  if (repeats.ndim > 1 ||
      (repeats.ndim == 1 && repeats.shape[0] != 1 && repeats.shape[0] != array.shape[axis])) {
    core::fail(Fault::kValue, "repeat(): repeats has shape ", core::shape_text(repeats.extents()),
               ", which does not broadcast to (", array.shape[axis], ",)");
  }
  require_computable_memory(array, kRepeat.name);
  require_computable_memory(repeats, kRepeat.name);
  core::note_attempt(core::Entry::kCopy, -1);
  const std::int64_t shape[] = {array.shape[axis]};
  const core::Array all = core::with_layout(
      repeats, core::broadcast_layout(repeats.extents(), repeats.stride_span(), shape), 0);
  core::Array indices;
  run_interruptibly(8 * array.shape[axis], [&](const core::InterruptCheck& interrupt) {
    return core::repeated_indices(indices, all, interrupt);
  });
  core::Array out = take_along(array, indices, axis, "repeat()");
  core::note(core::Entry::kCopy, out.view().nbytes());
  return out;
}

Ref repeat(const State& state, const Given<kRepeat>& given) {
  const auto [x, repeats, axis_argument] = given;
  core::ArrayView array = to_view(state, x, kRepeat.name);
  core::Array flat;
  int axis = 0;
  if (is_given(axis_argument)) {
    axis = core::normalize_axis(to_int64(axis_argument, "axis"), array.ndim);
  } else {
    flat = flattened(array);
    array = flat;
  }
  if (array.ndim == core::kMaxRank) {
    core::fail(Fault::kValue, "repeat(): x has ndim ", array.ndim, "; the limit is ",
               core::kMaxRank - 1);
  }
  refuse_other_namespace(state, repeats);
  if (is_array(state, repeats)) refuse_counting(state, kRepeat.name);
  return make_array(state, is_array(state, repeats)
                               ? repeat_by_array(array, view_of(repeats), axis)
                               : repeat_by_count(array, to_int64(repeats, "repeats"), axis));
}

// --- roll

Ref roll(const State& state, const Given<kRoll>& given) {
  const auto [x, shift, axis] = given;
  const core::ArrayView array = to_view(state, x, kRoll.name);
  const Integers shifts = to_integers(state, shift, "shift");
  if (!is_given(axis)) {
    if (shifts.count != 1) {
      core::fail(Fault::kValue, "roll(): shift has ", shifts.count,
                 " entries; without axis it must be one integer");
    }
    const core::Array flat = flattened(array);
    const std::int64_t by[] = {total_shift(0, shifts.values[0], array.size())};
    const core::Array out = rolled(flat, by);
    return make_array(state, core::with_layout(out, core::c_layout(array.extents()), 0));
  }
  const Integers axes = to_integers(state, axis, "axis");
  const bool is_one = shifts.count == 1 && !PyTuple_Check(shift) && !PyList_Check(shift);
  if (!is_one && shifts.count != axes.count) {
    core::fail(Fault::kValue, "roll(): shift has ", shifts.count, " entries, axis has ", axes.count,
               "; the numbers must be equal, or shift one integer");
  }
  std::int64_t by[core::kMaxRank] = {};
  for (int i = 0; i < axes.count; ++i) {  // shifts of an axis that is given twice add up
    const int at = core::normalize_axis(axes.values[i], array.ndim);
    by[at] = total_shift(by[at], shifts.values[is_one ? 0 : i], array.shape[at]);
  }
  return make_array(state, rolled(array, by));
}

// --- tile

Ref tile(const State& state, const Given<kTile>& given) {
  const auto [x, repetitions] = given;
  const core::ArrayView array = to_view(state, x, kTile.name);
  if (state.modes.strict) require_tuple(repetitions, "repetitions");
  const Integers counts = to_integers(state, repetitions, "repetitions");
  const int ndim = array.ndim > counts.count ? array.ndim : counts.count;
  core::Layout shape;
  for (int i = 0; i < ndim; ++i) {
    const int of_array = i - (ndim - array.ndim), of_counts = i - (ndim - counts.count);
    const std::int64_t count = of_counts < 0 ? 1 : counts.values[of_counts];
    check_count(kTile.name, "an entry of repetitions", count);
    shape.push(times(kTile.name, of_array < 0 ? 1 : array.shape[of_array], count), count);
  }
  const core::Device device = default_copy_device(array.device());
  Unfinished out(
      allocate_on(device, array.dtype, shape.extents(), /*zeroed=*/array.dtype.is_packed()));
  if (out.array().view().size() == 0) return make_array(state, out.finish());
  core::Layout to, from;  // each axis is split in two; axes of extent 1 are left out, so that
                          // the others are fewer than 64
  for (int i = 0; i < ndim; ++i) {
    const int of_array = i - (ndim - array.ndim);
    const std::int64_t extent = of_array < 0 ? 1 : array.shape[of_array];
    const std::int64_t count = shape.strides[i];
    const std::int64_t stride = out.array().layout.strides[i];
    if (count != 1) {
      to.push(count, core::wrapped_product(stride, extent));
      from.push(count, 0);
    }
    if (extent != 1) {
      to.push(extent, stride);
      from.push(extent, array.strides[of_array]);
    }
  }
  copy_elements(core::with_layout(out.array(), to, 0), core::with_layout(array, from, 0));
  return make_array(state, out.finish());
}

}  // namespace

PyMethodDef kRepeatingFunctions[] = {
    computing_entry<kRepeat, &repeat>(),
    entry<kRoll, &roll>(),
    entry<kTile, &tile>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
