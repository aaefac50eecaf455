// Implements Index: what each entry is, and for which axes it stands.
#include <string>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/indexing/indexing.hpp"
#include "extension/objects/namespace.hpp"

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
  if (is_arriving(state, index)) note_transfer(view_of(out.get()).nbytes(), /*with_host=*/true);
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

void set_array(PyObject* array, IndexEntry& out) {
  const core::DType dtype = view_of(array).dtype;
  const bool is_mask = dtype.kind == core::Kind::kBool && dtype.lanes == 1;
  if (!is_mask && !is_int(dtype)) {
    core::fail(Fault::kType, "an index array must have an integer or bool dtype, not ",
               core::name(dtype));
  }
  out.kind = is_mask ? Kind::kMask : Kind::kIndices;
  out.axes = is_mask ? view_of(array).ndim : 1;
  out.is_array = true;
  out.object = array;
}

}  // namespace

Index::Index(State& state, PyObject* index) {
  const bool is_tuple = PyTuple_Check(index);
  const Py_ssize_t length = is_tuple ? compat::tuple_size(index) : 1;
  constexpr Py_ssize_t kMaxEntries = 1 << 20;  // so that the counts fit an int
  if (length > kMaxEntries)
    core::fail(Fault::kIndex, "the index has ", length, " entries; the limit is ", kMaxEntries);
  const auto size = static_cast<std::size_t>(length);
  if (size > kFew) many_ = std::make_unique_for_overwrite<IndexEntry[]>(size);
  entries_ = {size > kFew ? many_.get() : few_, size};
  for (std::size_t i = 0; i < size; ++i) {
    IndexEntry& entry = entries_[i];
    read(state, is_tuple ? compat::tuple_item(index, static_cast<Py_ssize_t>(i)) : index, entry);
    ++counts_[static_cast<std::size_t>(entry.kind)];
    axes_ += entry.axes;
  }
}

PyObject* Index::hold(Ref object) {
  held_.push_back(std::move(object));
  return held_.back().get();
}

/// An int beyond int64 is named in an error.
void Index::read_number(Ref number, IndexEntry& out) {
  read_simple(number.get(), out);
  if (out.object != nullptr) hold(std::move(number));
}

void Index::read(State& state, PyObject* index, IndexEntry& out) {
  if (read_simple(index, out)) return;
  if (index == Py_Ellipsis || index == Py_None) {
    out.kind = index == Py_None ? Kind::kNewAxis : Kind::kEllipsis;
    out.axes = 0;
    return;
  }
  if (is_array(state, index)) {
    const core::ArrayView array = view_of(index);
    if (array.ndim > 0 || !is_int(array.dtype)) return set_array(index, out);
    read_number(check(calling<PyNumber_Index>(index)), out);
    out.is_array = true;
    return;
  }
  refuse_other_namespace(state, index);
  if (state.modes.strict) require_standard_entry(index);
  const bool may_be_array = PyBool_Check(index) || PyList_Check(index) || is_sequence(index);
  if (Ref number = number_of(index, may_be_array)) return read_number(std::move(number), out);
  if (!may_be_array) fail_not_index(index);
  set_array(hold(index_array(state, index)), out);
  out.is_array = false;
}

int Index::place(int ndim) {
  if (const int ellipses = count(Kind::kEllipsis); ellipses > 1)
    core::fail(Fault::kIndex, "the index has ", ellipses, " '...'; the limit is 1");
  if (axes_ > ndim)
    core::fail(Fault::kIndex, "the index has entries for ", axes_, " axes; ndim is ", ndim);
  int axis = 0;
  for (IndexEntry& entry : entries_) {
    if (entry.kind == Kind::kEllipsis) entry.axes = ndim - static_cast<int>(axes_);
    entry.axis = axis;
    axis += entry.axes;
  }
  return axis;
}

std::int64_t position_of(const IndexEntry& entry, std::int64_t extent) {
  const std::int64_t value = entry.start;
  if (value < extent && value >= -extent && entry.object == nullptr) [[likely]]
    return value < 0 ? value + extent : value;
  const std::string text =
      entry.object == nullptr ? std::to_string(value) : short_repr(entry.object);
  core::fail(Fault::kIndex, "index ", text, " is out of range for axis ", entry.axis, " of extent ",
             extent, "; the range is [", -extent, ", ", extent, ")");
}

}  // namespace refarray::extension
