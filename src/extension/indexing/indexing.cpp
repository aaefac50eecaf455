// Indexing, assignment and iteration: integers, slices, '...', None, and tuples of those. At the
// end: what the arrays of strict namespaces take of the indices and values that the default
// namespace does.
#include "extension/indexing/indexing.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/modes/poisoned_views.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/compute_hooks.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// Builds the layout and offset of a selection, in the order of the array's axes.
class Selection {
 public:
  Selection(const State& state, const core::ArrayView& array) noexcept
      : array_(array), is_strict_(state.modes.strict) {}

  void add(const IndexEntry& entry) {
    switch (entry.kind) {
      case EntryKind::kInteger:
        return move(position_of(entry, array_.shape[entry.axis]), array_.strides[entry.axis]);
      case EntryKind::kSlice:
        return slice(entry);
      case EntryKind::kEllipsis:
        return keep(entry.axis, entry.axes);
      case EntryKind::kNewAxis:
        return layout_.push(1, 1);
      case EntryKind::kIndices:
      case EntryKind::kMask:  // not here
        return;
    }
  }

  void keep(int axis, int axes) {
    for (const int end = axis + axes; axis < end; ++axis)
      layout_.push(array_.shape[axis], array_.strides[axis]);
  }

  core::Array finish() const { return core::with_layout(array_, layout_, offset_); }

 private:
  /// Bounds are clipped to the extent, as for Python's sequences, but not in strict namespaces.
  void slice(const IndexEntry& entry) {
    const std::int64_t stride = array_.strides[entry.axis];
    const std::int64_t extent = array_.shape[entry.axis];
    if (is_strict_) require_standard_slice(entry, extent);
    auto start = static_cast<Py_ssize_t>(entry.start);
    Py_ssize_t stop = entry.stop;
    const std::int64_t count =
        PySlice_AdjustIndices(python_length(extent), &start, &stop, entry.step);
    if (count > 0) move(start, stride);
    layout_.push(count, count > 1 ? core::wrapped_product(stride, entry.step) : stride);
  }

  /// Overflow is possible for an empty array only, whose strides are arbitrary.
  void move(std::int64_t steps, std::int64_t stride) noexcept {
    offset_ = core::wrapped_sum(offset_, core::wrapped_product(steps, stride));
  }

  const core::ArrayView& array_;
  const bool is_strict_;
  core::Layout layout_;
  std::int64_t offset_ = 0;
};

/// The view that an index without arrays selects.
core::Array select(const State& state, const core::ArrayView& array, Index& index) {
  const int axes = index.place(array.ndim);
  const int result =
      array.ndim - index.count(EntryKind::kInteger) + index.count(EntryKind::kNewAxis);
  if (result > core::kMaxRank) {
    core::fail(Fault::kIndex, "the result would have ", result, " axes; the limit is ",
               core::kMaxRank);
  }
  Selection selection(state, array);
  for (const IndexEntry& entry : index.entries()) selection.add(entry);
  selection.keep(axes, array.ndim - axes);
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

/// x[i] or x[i:j], for ndim > 0: the commonest indices, without an Index.
[[gnu::noinline]] Ref subscript_first(const State& state, const core::ArrayView& array,
                                      IndexEntry& entry) {
  entry.axis = 0;
  Selection selection(state, array);
  selection.add(entry);
  selection.keep(1, array.ndim - 1);
  return make_array(state, selection.finish());
}

Ref array_subscript(PyObject* self, PyObject* object) {
  State& state = State::of_object(self);
  const core::ArrayView array = view_of(self);
  IndexEntry entry;
  if (array.ndim > 0 && read_simple(object, entry)) return subscript_first(state, array, entry);
  Index index(state, object);
  return subscript(state, array, index);
}

Ref subscript(State& state, const core::ArrayView& array, Index& index) {
  if (index.has_arrays()) return get_by_arrays(state, array, index);
  return make_array(state, select(state, array, index));
}

void require_assignable(PyObject* self, PyObject* value) {
  if (value == nullptr) raise(PyExc_TypeError, "elements of an array cannot be deleted");
  if (!view_of(self).writable()) core::fail(Fault::kValue, "assignment to a read-only array");
}

void array_assign(PyObject* self, PyObject* object, PyObject* value) {
  require_assignable(self, value);
  Index index(State::of_object(self), object);
  assign(self, index, value);
}

void assign(PyObject* self, Index& index, PyObject* value) {
  State& state = State::of_object(self);
  const core::ArrayView array = view_of(self);
  if (index.has_arrays()) {
    refuse_other_owners(state, {self, array, value}, "assignment");
    return assign_by_arrays(state, array, index, value);
  }
  const core::Array target = select(state, array, index);
  refuse_other_owners(state, {self, target, value, /*held=*/1}, "assignment");
  if (array.dtype.lanes == 1) {
    if (const Ref number = plain_number(value)) return assign_number(target, number.get());
    if (const auto scalar = to_scalar(state, value))
      return assign_number(target, scalar->number.get());
  }
  const Ref from = value_array(state, value, array.dtype);
  const core::Array source = spread(target, view_of(from.get()));
  if (!is_arriving(state, value)) return copy_elements(target, source);
  note_transfer(target.view().nbytes(), /*with_host=*/true);
  move_elements(target, source);
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
  return python_length(view_of(self).shape[0]);
}

// --- Of strict namespaces.

namespace {

/// A bound of a slice that does not fit the extent: throws kIndex unless it is None.
void require_none(const IndexEntry& slice, const char* what, std::int64_t value,
                  std::int64_t extent) {
  if (value >= -extent && value <= extent) return;
  const Ref bound = check(PyObject_GetAttrString(slice.object, what));
  if (bound.get() == Py_None) return;
  const Ref number =
      PyLong_CheckExact(bound.get()) ? Ref::borrow(bound.get()) : check(PyLong_FromLongLong(value));
  core::fail(Fault::kIndex, "the ", what, " of a slice is ", short_repr(number.get()),
             ", beyond the axis of extent ", extent, "; strict namespaces do not clip it");
}

/// Whether the array, a value to assign, has a dtype that promotes to `to`.
bool promotes(const core::DType& from, const core::DType& to) noexcept {
  return core::promote(from, to) == to;
}

void require_standard_value(const State& state, const core::ArrayView& target, PyObject* value) {
  if (is_array(state, value)) {
    const core::DType from = view_of(value).dtype;
    if (promotes(from, target.dtype)) return;
    core::fail(Fault::kType, "cannot assign ", core::name(from), " to elements of ",
               core::name(target.dtype), ": it does not promote to it; use astype()");
  }
  const Ref plain = plain_number(value);  // of subclasses too, such as numpy.float64
  if (!plain) {
    refuse_other_namespace(state, value);
    core::fail(Fault::kType, "strict namespaces assign arrays and Python numbers, not ",
               type_name(value));
  }
  const core::ScalarType type = core::computable_scalar(target.dtype);
  if (type_beside(number_kind(plain.get()), type, "assignment") == type) return;
  core::fail(Fault::kType, "cannot assign a complex number to elements of ",
             core::name(target.dtype));
}

}  // namespace

void require_standard_entry(PyObject* object) {
  const bool is_integer = PyIndex_Check(object) && !PyBool_Check(object);
  // Arrays of other libraries have __index__ as well.
  if (is_integer && !PySequence_Check(object)) return;
  core::fail(Fault::kIndex,
             "an index of a strict namespace is an integer, a slice, '...', None or an array of "
             "the namespace, not ",
             type_name(object));
}

void require_standard_slice(const IndexEntry& slice, std::int64_t extent) {
  require_none(slice, "start", slice.start, extent);
  require_none(slice, "stop", slice.stop, extent);
}

void require_standard_index(const State& state, const core::ArrayView& array, const Index& index,
                            IndexUse use) {
  using Kind = EntryKind;
  int arrays_of_no_axis = 0;  // which have been read as integers
  for (const IndexEntry& entry : index.entries())
    arrays_of_no_axis += entry.kind == Kind::kInteger && entry.is_array;
  const int indices = index.count(Kind::kIndices) + arrays_of_no_axis;
  const int integers = index.count(Kind::kInteger) - arrays_of_no_axis;
  if (use == IndexUse::kAssign && index.count(Kind::kNewAxis) + indices > 0)
    core::fail(Fault::kIndex, "strict namespaces do not assign at None or integer arrays");
  if (indices > 0 && state.modes.without_index_arrays)
    core::fail(Fault::kIndex, "integer arrays are indices from version 2024.12 on; see take()");
  if (index.count(Kind::kMask) > 0) {
    if (index.entries().size() == 1) return;
    core::fail(Fault::kIndex, "in a strict namespace a mask is the only entry of its index");
  }
  const int named = integers + index.count(Kind::kSlice) + indices;
  if (index.count(Kind::kEllipsis) == 0 && named < array.ndim) {
    core::fail(Fault::kIndex, "the index has entries for ", named, " axes; ndim is ", array.ndim,
               ", and strict namespaces add no '...'");
  }
  if (indices > 0 && index.count(Kind::kSlice) + index.count(Kind::kEllipsis) > 0)
    core::fail(Fault::kIndex, "strict namespaces take integer arrays beside integers only");
}

Ref strict_subscript(PyObject* self, PyObject* object) {
  State& state = State::of_object(self);
  const core::ArrayView array = view_of(self);
  Index index(state, object);
  require_standard_index(state, array, index, IndexUse::kRead);
  return subscript(state, array, index);
}

void strict_assign(PyObject* self, PyObject* object, PyObject* value) {
  State& state = State::of_object(self);
  require_assignable(self, value);
  Index index(state, object);
  require_standard_index(state, view_of(self), index, IndexUse::kAssign);
  require_standard_value(state, view_of(self), value);
  assign(self, index, value);
}

Ref strict_iter(PyObject* self) {
  const int ndim = view_of(self).ndim;
  if (ndim <= 1) return array_iter(self);
  core::fail(Fault::kType, "ndim is ", ndim,
             "; the arrays of a strict namespace are iterable for ndim 1 only: see unstack()");
}

}  // namespace refarray::extension
