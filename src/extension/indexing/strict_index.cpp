// Indexing, assignment and iteration of the arrays of a strict namespace: what they take of the
// indices and values that the default namespace does.
#include "extension/indexing/strict_index.hpp"

#include <cstdint>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/indexing/indexing.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/number_promotion.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// A bound of a slice that does not fit the extent: throws kIndex unless it is None.
void require_none(const IndexEntry& slice, const char* what, Py_ssize_t value,
                  std::int64_t extent) {
  if (value >= -extent && value <= extent) return;
  const Ref bound = check(PyObject_GetAttrString(slice.object, what));
  if (bound.get() == Py_None) return;
  const Ref number =
      PyLong_CheckExact(bound.get()) ? Ref::borrow(bound.get()) : check(PyLong_FromSsize_t(value));
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
