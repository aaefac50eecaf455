// Indexing, assignment and iteration: integers, slices, '...', None, and tuples of those.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/element.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/indexing/advanced_indexing.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/modes/namespace_module.hpp"
#include "extension/modes/poisoned_views.hpp"
#include "extension/modes/strict_index.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// The kinds of index entry. kArray: indexing by arrays, in advanced_indexing.cpp.
enum class Item { kInteger, kSlice, kEllipsis, kNewAxis, kTuple, kArray };

/// Runs no user code.
Item classify(const State& state, PyObject* index) {
  if (PyLong_CheckExact(index)) return Item::kInteger;
  if (PySlice_Check(index)) return Item::kSlice;
  if (index == Py_Ellipsis) return Item::kEllipsis;
  if (index == Py_None) return Item::kNewAxis;
  if (is_array(state, index)) {
    const core::ArrayView array = view_of(index);
    const bool integer =
        array.dtype.kind == core::Kind::kInt || array.dtype.kind == core::Kind::kUInt;
    return array.ndim == 0 && integer && array.dtype.lanes == 1 ? Item::kInteger : Item::kArray;
  }
  if (is_array_index(state, index)) return Item::kArray;
  if (!PyIndex_Check(index)) fail_not_index(index);
  return Item::kInteger;
}

}  // namespace

void fail_not_index(PyObject* index) {
  core::fail(Fault::kType,
             "an index must be an integer, a slice, '...', None, an array of integers or bools, or "
             "a tuple of those, not ",
             type_name(index));
}

std::int64_t position_of(PyObject* index, int axis, std::int64_t extent) {
  Ref number = Ref::borrow(index);
  if (!PyLong_CheckExact(index)) {
    number = check(calling<PyNumber_Index>(index));
  }
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0 || value >= extent || value < -extent) [[unlikely]] {
    core::fail(Fault::kIndex, "index ", short_repr(number.get()), " is out of range for axis ",
               axis, " of extent ", extent, "; the range is [", -extent, ", ", extent, ")");
  }
  return value < 0 ? value + extent : value;
}

namespace {

/// Builds the layout and offset of a selection, in the order of the array's axes.
class Selection {
 public:
  Selection(const State& state, const core::ArrayView& array) noexcept
      : array_(array), is_strict_(state.modes.strict) {}

  void integer(PyObject* index) {
    const std::int64_t position = position_of(index, axis_, array_.shape[axis_]);
    move(position, array_.strides[axis_++]);
  }

  /// Bounds are clipped to the extent, as for Python's sequences, but not in strict namespaces.
  void slice(PyObject* index) {
    Py_ssize_t start, stop, step;
    check(PySlice_Unpack(index, &start, &stop, &step));
    const std::int64_t stride = array_.strides[axis_];
    const std::int64_t extent = array_.shape[axis_];
    const auto beyond = [extent](Py_ssize_t bound) { return bound < -extent || bound > extent; };
    if (is_strict_ && (beyond(start) || beyond(stop)))
      require_open_slice(index, extent, beyond(start), beyond(stop));
    const std::int64_t count = PySlice_AdjustIndices(extent, &start, &stop, step);
    ++axis_;
    if (count > 0) move(start, stride);
    layout_.push(count, count > 1 ? core::wrapped_product(stride, step) : stride);
  }

  void keep(int axes) noexcept {
    for (const int end = axis_ + axes; axis_ < end; ++axis_)
      layout_.push(array_.shape[axis_], array_.strides[axis_]);
  }

  void new_axis() noexcept { layout_.push(1, 1); }

  core::Array finish() {
    keep(array_.ndim - axis_);
    return core::with_layout(array_, layout_, offset_);
  }

 private:
  /// Overflow is possible for an empty array only, whose strides are arbitrary.
  void move(std::int64_t steps, std::int64_t stride) noexcept {
    offset_ = core::wrapped_sum(offset_, core::wrapped_product(steps, stride));
  }

  const core::ArrayView& array_;
  const bool is_strict_;
  core::Layout layout_;
  std::int64_t offset_ = 0;
  int axis_ = 0;  // the next axis of array_
};

/// The number of entries of each kind in a tuple.
struct Counts {
  int integers = 0;
  int slices = 0;
  int ellipses = 0;
  int new_axes = 0;
  bool has_arrays = false;  // then the others are not counted
};

Counts count_items(const State& state, PyObject* indices, int ndim) {
  const Py_ssize_t length = PyTuple_Size(indices);
  constexpr Py_ssize_t kMaxEntries = 1 << 20;  // so that the counts fit an int
  if (length > kMaxEntries) {
    core::fail(Fault::kIndex, "the index has ", length, " entries; the limit is ", kMaxEntries);
  }
  Counts out;
  for (Py_ssize_t i = 0; i < length; ++i) {
    const Item item = classify(state, PyTuple_GetItem(indices, i));
    out.has_arrays |= item == Item::kArray;
    ++(item == Item::kInteger   ? out.integers
       : item == Item::kSlice   ? out.slices
       : item == Item::kNewAxis ? out.new_axes
                                : out.ellipses);
  }
  if (out.has_arrays) return out;
  if (out.ellipses > 1)
    core::fail(Fault::kIndex, "the index has ", out.ellipses, " '...'; the limit is 1");
  if (out.integers + out.slices > ndim) {
    core::fail(Fault::kIndex, "the index has entries for ", out.integers + out.slices,
               " axes; ndim is ", ndim);
  }
  const int result = ndim - out.integers + out.new_axes;
  if (result > core::kMaxRank) {
    core::fail(Fault::kIndex, "the result would have ", result, " axes; the limit is ",
               core::kMaxRank);
  }
  return out;
}

core::Array select_tuple(const State& state, const core::ArrayView& array, PyObject* indices,
                         const Counts& counts) {
  const Py_ssize_t length = PyTuple_Size(indices);
  Selection selection(state, array);
  for (Py_ssize_t i = 0; i < length; ++i) {
    PyObject* index = PyTuple_GetItem(indices, i);
    switch (classify(state, index)) {
      case Item::kInteger:
        selection.integer(index);
        break;
      case Item::kSlice:
        selection.slice(index);
        break;
      case Item::kEllipsis:
        selection.keep(array.ndim - counts.integers - counts.slices);
        break;
      case Item::kNewAxis:
        selection.new_axis();
        break;
      case Item::kTuple:
      case Item::kArray:  // not here
        break;
    }
  }
  return selection.finish();
}

/// What an index is: a tuple with its counts, or one entry.
struct Index {
  PyObject* object;
  Item item = Item::kTuple;
  Counts counts;

  bool has_arrays() const noexcept { return item == Item::kArray || counts.has_arrays; }
};

Index examine(const State& state, const core::ArrayView& array, PyObject* index) {
  Index out{index, Item::kTuple, {}};
  if (PyTuple_Check(index))
    out.counts = count_items(state, index, array.ndim);
  else
    out.item = classify(state, index);
  return out;
}

/// The view that an index without arrays selects.
core::Array select(const State& state, const core::ArrayView& array, const Index& index) {
  const Item item = index.item;
  if (item == Item::kTuple) return select_tuple(state, array, index.object, index.counts);
  Selection selection(state, array);
  if (array.ndim == 0 && (item == Item::kInteger || item == Item::kSlice)) {
    core::fail(Fault::kIndex, "the index has an entry for 1 axis; ndim is 0");
  }
  if (array.ndim == core::kMaxRank && item == Item::kNewAxis) {
    core::fail(Fault::kIndex, "the result would have ", core::kMaxRank + 1, " axes; the limit is ",
               core::kMaxRank);
  }
  if (item == Item::kInteger) selection.integer(index.object);
  if (item == Item::kSlice) selection.slice(index.object);
  if (item == Item::kNewAxis) selection.new_axis();
  return selection.finish();
}

/// Dtype kinds in the order of type promotion: elements may be assigned to the same or a later
/// kind.
enum class Promotion { kBool, kUInt, kInt, kFloat, kComplex };

Promotion promotion_of(core::Kind kind) noexcept {
  switch (kind) {
    case core::Kind::kBool:
      return Promotion::kBool;
    case core::Kind::kUInt:
      return Promotion::kUInt;
    case core::Kind::kInt:
      return Promotion::kInt;
    case core::Kind::kComplex:
      return Promotion::kComplex;
    default:  // all the floats
      return Promotion::kFloat;
  }
}

/// The value to assign, as an array. Lists of numbers are converted to `to`; arrays keep their
/// dtype, which must promote to it.
Ref value_array(State& state, PyObject* value, const core::DType& to) {
  if (PyList_Check(value) || PyTuple_Check(value) || PyRange_Check(value)) {
    return as_array(state, value, &to);
  }
  refuse_other_namespace(state, value);
  Ref out = is_array(state, value) ? Ref::borrow(value) : as_array(state, value, nullptr);
  const core::DType from = view_of(out.get()).dtype;
  if (!core::can_convert(from, to) || promotion_of(from.kind) > promotion_of(to.kind)) {
    core::fail(Fault::kType, "cannot assign ", core::name(from), " to elements of ", core::name(to),
               ": kinds convert in this order only: bool, uint, int, float, complex; use astype()");
  }
  return out;
}

/// The source with the shape of the target.
core::Array spread(const core::Array& target, const core::ArrayView& source) {
  return core::with_layout(
      source,
      core::broadcast_layout(source.extents(), source.stride_span(), target.layout.extents()), 0);
}

/// Assigns one number to every element: directly to a single element in host memory, otherwise by
/// broadcasting a temporary element.
void assign_number(const core::Array& target, PyObject* number) {
  if (target.layout.ndim == 0 && target.view().device().is_host()) {
    require_host(target, "assignment");
    return write_scalar(target.dtype, target.data, target.bit, number);
  }
  alignas(16) std::byte element[16]{};  // fits the largest scalar, complex128
  write_scalar(target.dtype, element, 0, number);
  core::ArrayView source;
  source.data = element;
  source.dtype = target.dtype;
  move_elements(target, spread(target, source));
}

}  // namespace

core::ArrayView assigned_value(State& state, PyObject* value, const core::DType& to,
                               std::byte (&element)[16], Ref& owner) {
  const auto number_view = [&](PyObject* number) {
    write_scalar(to, element, 0, number);
    core::ArrayView out;
    out.data = element;
    out.dtype = to;
    return out;
  };
  if (to.lanes == 1) {
    if (const Ref number = plain_number(value)) return number_view(number.get());
    if (const auto scalar = to_scalar(state, value)) return number_view(scalar->number.get());
  }
  owner = value_array(state, value, to);
  return view_of(owner.get());
}

Ref array_subscript(PyObject* self, PyObject* index) {
  return subscript(State::of_object(self), view_of(self), index);
}

Ref subscript(State& state, const core::ArrayView& array, PyObject* index) {
  const Index examined = examine(state, array, index);
  if (examined.has_arrays()) return get_by_arrays(state, array, index);
  return make_array(state, select(state, array, examined));
}

void array_assign(PyObject* self, PyObject* index, PyObject* value) {
  if (value == nullptr) raise(PyExc_TypeError, "elements of an array cannot be deleted");
  State& state = State::of_object(self);
  const core::ArrayView array = view_of(self);
  if (!array.writable()) core::fail(Fault::kValue, "assignment to a read-only array");
  const Index examined = examine(state, array, index);
  if (examined.has_arrays()) {
    refuse_other_owners(state, {self, array, value}, "assignment");
    return assign_by_arrays(state, array, index, value);
  }
  const core::Array target = select(state, array, examined);
  refuse_other_owners(state, {self, target, value, /*held=*/1}, "assignment");
  if (array.dtype.lanes == 1) {
    if (const Ref number = plain_number(value)) return assign_number(target, number.get());
    if (const auto scalar = to_scalar(state, value))
      return assign_number(target, scalar->number.get());
  }
  const Ref from = value_array(state, value, array.dtype);
  copy_elements(target, spread(target, view_of(from.get())));
}

Ref array_item(PyObject* self, Py_ssize_t index) {
  const State& state = State::of_object(self);
  const core::ArrayView array = view_of(self);
  if (array.ndim == 0) raise(PyExc_TypeError, "an array of ndim 0 is not a sequence");
  if (index < 0 || index >= array.shape[0])
    core::fail(Fault::kIndex, "index ", index, " is out of range for axis 0 of extent ",
               array.shape[0]);
  const core::Layout layout(array.extents().subspan(1), array.stride_span().subspan(1));
  // Overflow is possible for an empty array only, whose strides are arbitrary.
  const std::int64_t offset = core::wrapped_product(index, array.strides[0]);
  return make_array(state, core::with_layout(array, layout, offset));
}

Py_ssize_t array_length(PyObject* self) {
  if (view_of(self).ndim == 0) raise(PyExc_TypeError, "len() of an array of ndim 0");
  return view_of(self).shape[0];
}

}  // namespace refarray::extension
