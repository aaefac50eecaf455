// Implements Index: what each entry is, and for which axes it stands.
#include "extension/indexing/index.hpp"

#include <utility>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/modes/namespace_module.hpp"
#include "extension/modes/strict_index.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using Kind = EntryKind;

[[noreturn, gnu::cold]] void fail_not_index(PyObject* index) {
  core::fail(Fault::kType,
             "an index must be an integer, a slice, '...', None, an array of integers or bools, or "
             "a tuple of those, not ",
             type_name(index));
}

bool is_int(const core::DType& dtype) noexcept {
  return (dtype.kind == core::Kind::kInt || dtype.kind == core::Kind::kUInt) && dtype.lanes == 1;
}

/// Whether an object may be read as an array: a list, or an array of another library.
bool is_sequence(PyObject* index) noexcept {
  return PySequence_Check(index) && !PyTuple_Check(index) && !PyUnicode_Check(index) &&
         !PyBytes_Check(index) && !PyByteArray_Check(index) && !PyRange_Check(index);
}

/// An empty list has no numbers from which to infer a dtype; it selects nothing.
Ref index_array(State& state, PyObject* index) {
  Ref out = as_array(state, index, nullptr);
  if (!PyList_Check(index) || view_of(out.get()).size() != 0) return out;
  constexpr core::DType kIndex{core::Kind::kInt, 64};
  return make_array(state, working_copy(view_of(out.get()), kIndex));
}

/// What __index__ returns. Empty if the object has none, or if it raises TypeError and `may_fail`:
/// an array of another library has __index__, which works for one element.
Ref number_of(PyObject* index, bool may_fail) {
  if (!PyIndex_Check(index) || PyBool_Check(index)) return {};
  Ref out = Ref::steal(calling<PyNumber_Index>(index));
  if (out) return out;
  if (!may_fail || PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw ErrorSet{};
  compat::clear_raised();
  return out;
}

IndexEntry integer(PyObject* number, bool is_array = false) noexcept {
  return {Kind::kInteger, is_array, 1, 0, number, 0, 0, 0};
}

IndexEntry array_entry(PyObject* index) {
  const core::ArrayView array = view_of(index);
  const bool is_mask = array.dtype.kind == core::Kind::kBool && array.dtype.lanes == 1;
  if (!is_mask && !is_int(array.dtype)) {
    core::fail(Fault::kType, "an index array must have an integer or bool dtype, not ",
               core::name(array.dtype));
  }
  return {
      is_mask ? Kind::kMask : Kind::kIndices, true, is_mask ? array.ndim : 1, 0, index, 0, 0, 0};
}

}  // namespace

Index::Index(State& state, PyObject* index) {
  const bool is_tuple = PyTuple_Check(index);
  const Py_ssize_t length = is_tuple ? compat::tuple_size(index) : 1;
  constexpr Py_ssize_t kMaxEntries = 1 << 20;  // so that the counts fit an int
  if (length > kMaxEntries)
    core::fail(Fault::kIndex, "the index has ", length, " entries; the limit is ", kMaxEntries);
  const auto size = static_cast<std::size_t>(length);
  if (size > kFew) many_.resize(size);
  entries_ = {size > kFew ? many_.data() : few_, size};
  for (std::size_t i = 0; i < size; ++i) {
    PyObject* const item = is_tuple ? compat::tuple_item(index, static_cast<Py_ssize_t>(i)) : index;
    entries_[i] = read(state, item);
    ++counts_[static_cast<std::size_t>(entries_[i].kind)];
  }
}

PyObject* Index::hold(Ref object) {
  held_.push_back(std::move(object));
  return held_.back().get();
}

IndexEntry Index::read(State& state, PyObject* index) {
  if (PyLong_CheckExact(index)) return integer(index);
  if (PySlice_Check(index)) {
    IndexEntry out{Kind::kSlice, false, 1, 0, index, 0, 0, 0};
    check(calling<PySlice_Unpack>(index, &out.start, &out.stop, &out.step));
    return out;
  }
  if (index == Py_Ellipsis) return {Kind::kEllipsis, false, 0, 0, index, 0, 0, 0};
  if (index == Py_None) return {Kind::kNewAxis, false, 0, 0, index, 0, 0, 0};
  if (is_array(state, index)) {
    const core::ArrayView array = view_of(index);
    if (array.ndim > 0 || !is_int(array.dtype)) return array_entry(index);
    return integer(hold(check(calling<PyNumber_Index>(index))), /*is_array=*/true);
  }
  refuse_other_namespace(state, index);
  if (state.modes.strict) require_standard_entry(index);
  const bool may_be_array = PyBool_Check(index) || PyList_Check(index) || is_sequence(index);
  if (Ref number = number_of(index, may_be_array)) return integer(hold(std::move(number)));
  if (!may_be_array) fail_not_index(index);
  return array_entry(hold(index_array(state, index)));
}

int Index::place(int ndim) {
  if (const int ellipses = count(Kind::kEllipsis); ellipses > 1)
    core::fail(Fault::kIndex, "the index has ", ellipses, " '...'; the limit is 1");
  std::int64_t axes = 0;
  for (const IndexEntry& entry : entries_) axes += entry.axes;
  if (axes > ndim)
    core::fail(Fault::kIndex, "the index has entries for ", axes, " axes; ndim is ", ndim);
  int axis = 0;
  for (IndexEntry& entry : entries_) {
    if (entry.kind == Kind::kEllipsis) entry.axes = ndim - static_cast<int>(axes);
    entry.axis = axis;
    axis += entry.axes;
  }
  return axis;
}

std::int64_t position_of(PyObject* number, int axis, std::int64_t extent) {
  int overflow = 0;
  const std::int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);  // it cannot fail
  if (overflow != 0 || value >= extent || value < -extent) [[unlikely]] {
    core::fail(Fault::kIndex, "index ", short_repr(number), " is out of range for axis ", axis,
               " of extent ", extent, "; the range is [", -extent, ", ", extent, ")");
  }
  return value < 0 ? value + extent : value;
}

}  // namespace refarray::extension
