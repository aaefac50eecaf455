// Owns reading the dicts of the array interfaces, field by field.
#include "extension/interop/interface_reader.hpp"

#include "extension/capi/args.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/interop/array_interface.hpp"

namespace refarray::extension {

using core::Fault;

std::int64_t InterfaceReader::to_integer(PyObject* object, const std::string& what) const {
  if (object == nullptr || PyIndex_Check(object) == 0)
    malformed(what, " must be an int, not ", object == nullptr ? "missing" : type_name(object));
  const Ref index = check(calling<PyNumber_Index>(object));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow != 0) malformed(what, " does not fit 64 bits");
  return value;
}

/// A tuple of ints into `out`; returns how many there are.
int InterfaceReader::read_tuple(PyObject* tuple, const char* what, std::int64_t* out) const {
  if (tuple == nullptr || PyTuple_Check(tuple) == 0)
    malformed(what, " must be a tuple, not ", tuple == nullptr ? "missing" : type_name(tuple));
  const Py_ssize_t count = PyTuple_Size(tuple);
  if (count > core::kMaxRank)
    malformed(what, " has ", count, " items; the limit is ", core::kMaxRank);
  for (Py_ssize_t i = 0; i < count; ++i) {
    out[i] = to_integer(PyTuple_GetItem(tuple, i), core::text(what, "[", i, "]"));
  }
  return static_cast<int>(count);
}

core::DType InterfaceReader::read_typestr(const Fields& fields) const {
  PyObject* value = fields.get("typestr");
  if (value == nullptr || PyUnicode_Check(value) == 0)
    malformed("typestr must be a str, not ", value == nullptr ? "missing" : type_name(value));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeError) == 0) throw ErrorSet{};
  PyErr_Clear();  // half of a surrogate pair is no typestr either
  const auto dtype =
      text == nullptr ? std::nullopt : dtype_of_typestr({text, static_cast<std::size_t>(size)});
  if (dtype) return *dtype;
  refuse_offer(name_, ": typestr ", short_repr(value),
               " is no number that refarray carries in this machine's byte order");
}

/// Shape and, unless there are none, strides in elements; returns whether there are.
bool InterfaceReader::read_layout(const Fields& fields, const core::DType& dtype,
                                  core::Layout& out) const {
  out.ndim = read_tuple(fields.get("shape"), "shape", out.shape);
  PyObject* given = fields.get("strides");
  if (given == nullptr) return false;
  const int count = read_tuple(given, "strides", out.strides);
  if (count != out.ndim) malformed("strides has ", count, " items, shape has ", out.ndim);
  count_strides_in_elements(name_, dtype.itemsize(), out);
  return true;
}

/// (address, read-only): the object itself keeps the memory, as the interface asks consumers to
/// arrange.
Borrowed InterfaceReader::at_address(PyObject* object, PyObject* pair, std::int64_t offset) const {
  if (PyTuple_Size(pair) != 2)
    malformed("data has ", PyTuple_Size(pair), " items; (address, read-only) has 2");
  PyObject* address = PyTuple_GetItem(pair, 0);
  if (PyLong_Check(address) == 0 || PyBool_Check(address))
    malformed("data[0] must be an int, not ", type_name(address));
  if (offset != 0) malformed("offset is ", offset, "; with an address it must be 0");
  Borrowed out;
  out.data = PyLong_AsVoidPtr(address);
  if (PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw ErrorSet{};
    PyErr_Clear();
    malformed("data[0] is ", short_repr(address), ", which is no address");
  }
  out.readonly = check(calling<PyObject_IsTrue>(PyTuple_GetItem(pair, 1))) != 0;
  out.owner = Ref::borrow(object);
  return out;
}

/// The bytes that `exporter` exports, which are the data or, without data, the object itself.
Borrowed InterfaceReader::in_buffer(PyObject* exporter, std::int64_t offset) const {
  if (PyObject_CheckBuffer(exporter) == 0) {
    malformed("data must be (address, read-only), None or an object with the buffer protocol, not ",
              type_name(exporter));
  }
  if (offset < 0) malformed("offset is ", offset, "; the least is 0");
  Borrowed out;
  out.buffer = hold_buffer(exporter, PyBUF_SIMPLE);
  if (out.buffer->obj == nullptr) out.owner = Ref::borrow(exporter);
  out.data = out.buffer->buf;
  out.readonly = out.buffer->readonly != 0;
  out.offset = offset;
  out.nbytes = out.buffer->len;
  return out;
}

Borrowed InterfaceReader::read_data(PyObject* object, const Fields& fields) const {
  PyObject* given = fields.get("offset");
  const std::int64_t offset = given == nullptr ? 0 : to_integer(given, "offset");
  PyObject* data = fields.get("data");
  if (data == nullptr) return in_buffer(object, offset);
  return PyTuple_Check(data) ? at_address(object, data, offset) : in_buffer(data, offset);
}

/// An empty Ref when there is none: no such attribute, or None.
Ref InterfaceReader::look_up(PyObject* object, PyObject* name) const {
  if (PyType_Check(object)) return {};  // a class shows its instances' property
  Ref found = Ref::steal(calling<PyObject_GetAttr>(object, name));
  if (!found) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw_exporters();
    PyErr_Clear();
    return {};
  }
  if (found.get() == Py_None) return {};
  if (PyDict_Check(found.get())) return found;
  core::fail(Fault::kType, name_, " of ", type_name(object), " must be a dict, not ",
             type_name(found.get()));
}

void InterfaceReader::refuse_mask(const Fields& fields) const {
  if (fields.get("mask") != nullptr)
    refuse_offer(name_, ": mask is given; an array of refarray has none to carry it");
}

}  // namespace refarray::extension
