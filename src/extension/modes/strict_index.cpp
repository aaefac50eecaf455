// Indexing, assignment and iteration of the arrays of a strict namespace: what they take of the
// indices and values that the default namespace does.
#include "extension/modes/strict_index.hpp"

#include <array>
#include <cstdint>

#include "core/error.hpp"
#include "core/ops/promotion.hpp"
#include "extension/array/element.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/indexing/advanced_indexing.hpp"
#include "extension/modes/namespace_module.hpp"
#include "extension/namespace/operands.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

enum class Entry { kInteger, kSlice, kEllipsis, kNewAxis, kMask, kIndices };
constexpr std::size_t kEntries = 6;

Entry entry_of(const State& state, PyObject* object) {
  if (is_array(state, object)) {
    const bool is_mask = view_of(object).dtype.kind == core::Kind::kBool;
    return is_mask ? Entry::kMask : Entry::kIndices;
  }
  refuse_other_namespace(state, object);
  if (PySlice_Check(object)) return Entry::kSlice;
  if (object == Py_Ellipsis) return Entry::kEllipsis;
  if (object == Py_None) return Entry::kNewAxis;
  const bool is_integer = PyIndex_Check(object) && !PyBool_Check(object);
  // Arrays of other libraries have __index__ as well.
  if (is_integer && !PySequence_Check(object)) return Entry::kInteger;
  core::fail(Fault::kIndex,
             "an index of a strict namespace is an integer, a slice, '...', None or an array of "
             "the namespace, not ",
             type_name(object));
}

/// The entries of an index: of a tuple, or the index itself.
class Entries {
 public:
  explicit Entries(PyObject* index) noexcept : index_(index), is_tuple_(PyTuple_Check(index)) {}
  Py_ssize_t size() const noexcept { return is_tuple_ ? PyTuple_Size(index_) : 1; }
  PyObject* operator[](Py_ssize_t at) const noexcept {
    return is_tuple_ ? PyTuple_GetItem(index_, at) : index_;
  }

 private:
  PyObject* index_;
  bool is_tuple_;
};

/// A bound of a slice that does not fit the extent: throws kIndex unless it is None.
void require_none(PyObject* slice, const char* what, std::int64_t extent) {
  const Ref bound = check(PyObject_GetAttrString(slice, what));
  if (bound.get() == Py_None) return;
  const Ref number = check(calling<PyNumber_Index>(bound.get()));
  core::fail(Fault::kIndex, "the ", what, " of a slice is ", short_repr(number.get()),
             ", beyond the axis of extent ", extent, "; strict namespaces do not clip it");
}

/// Whether the index is an integer or a slice for each axis: the most common one.
bool is_plain(const core::ArrayView& array, PyObject* index) noexcept {
  const Entries entries(index);
  if (entries.size() != array.ndim) return false;
  for (int axis = 0; axis < array.ndim; ++axis)
    if (!PyLong_CheckExact(entries[axis]) && !PySlice_Check(entries[axis])) return false;
  return true;
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
  const Operand number(state, plain.get());
  const int row = core::computable_index(target.dtype);
  if (number.row_beside(row, "assignment") == row) return;
  core::fail(Fault::kType, "cannot assign a complex number to elements of ",
             core::name(target.dtype));
}

}  // namespace

void require_open_slice(PyObject* slice, std::int64_t extent, bool start, bool stop) {
  if (start) require_none(slice, "start", extent);
  if (stop) require_none(slice, "stop", extent);
}

void require_standard_index(const State& state, const core::ArrayView& array, PyObject* index,
                            IndexUse use) {
  if (is_plain(array, index)) return;
  const Entries entries(index);
  std::array<int, kEntries> counts{};
  const auto count = [&counts](Entry entry) -> int& {
    return counts[static_cast<std::size_t>(entry)];
  };
  for (Py_ssize_t i = 0; i < entries.size(); ++i) ++count(entry_of(state, entries[i]));
  if (use == IndexUse::kAssign && count(Entry::kNewAxis) + count(Entry::kIndices) > 0)
    core::fail(Fault::kIndex, "strict namespaces do not assign at None or integer arrays");
  if (count(Entry::kIndices) > 0 && state.modes.without_index_arrays)
    core::fail(Fault::kIndex, "integer arrays are indices from version 2024.12 on; see take()");
  if (count(Entry::kMask) > 0) {
    if (entries.size() == 1) return;
    core::fail(Fault::kIndex, "in a strict namespace a mask is the only entry of its index");
  }
  const int named = count(Entry::kInteger) + count(Entry::kSlice) + count(Entry::kIndices);
  if (count(Entry::kEllipsis) == 0 && named < array.ndim) {
    core::fail(Fault::kIndex, "the index has entries for ", named, " axes; ndim is ", array.ndim,
               ", and strict namespaces add no '...'");
  }
  if (count(Entry::kIndices) > 0 && count(Entry::kSlice) + count(Entry::kEllipsis) > 0)
    core::fail(Fault::kIndex, "strict namespaces take integer arrays beside integers only");
}

Ref strict_subscript(PyObject* self, PyObject* index) {
  State& state = State::of_object(self);
  const core::ArrayView array = view_of(self);
  require_standard_index(state, array, index, IndexUse::kRead);
  return subscript(state, array, index);
}

void strict_assign(PyObject* self, PyObject* index, PyObject* value) {
  const State& state = State::of_object(self);
  require_standard_index(state, view_of(self), index, IndexUse::kAssign);
  if (value != nullptr) require_standard_value(state, view_of(self), value);
  array_assign(self, index, value);
}

Ref strict_iter(PyObject* self) {
  const int ndim = view_of(self).ndim;
  if (ndim <= 1) return array_iter(self);
  core::fail(Fault::kType, "ndim is ", ndim,
             "; the arrays of a strict namespace are iterable for ndim 1 only: see unstack()");
}

}  // namespace refarray::extension
