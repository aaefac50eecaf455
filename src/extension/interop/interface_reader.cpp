// Field readers for the dicts of __array_interface__ and __cuda_array_interface__.
#include "extension/interop/interface_reader.hpp"

#include "extension/capi/args.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/interop/array_interface.hpp"

namespace refarray::extension {

using core::Fault;

std::int64_t InterfaceReader::to_integer(PyObject* object, const std::string& what) const {
  if (object == nullptr || PyIndex_Check(object) == 0)
    fail_malformed(what, " must be an int, not ",
                   object == nullptr ? "missing" : type_name(object));
  const Ref index = check(calling<PyNumber_Index>(object));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);  // cannot fail
  if (overflow != 0) fail_malformed(what, " does not fit 64 bits");
  return value;
}

/// Reads a tuple of ints, or a list, which some exporters write, into `out`, which has kMaxRank
/// entries. Returns its length.
int InterfaceReader::read_tuple(PyObject* object, const char* what, std::int64_t* out) const {
  const bool is_list = object != nullptr && PyList_Check(object);
  if (object == nullptr || (!is_list && PyTuple_Check(object) == 0))
    fail_malformed(what, " must be a tuple, not ",
                   object == nullptr ? "missing" : type_name(object));
  const Ref tuple = is_list ? check(PyList_AsTuple(object)) : Ref::borrow(object);
  const Py_ssize_t count = PyTuple_Size(tuple.get());
  if (count > core::kMaxRank)
    fail_malformed(what, " has ", count, " items; the limit is ", core::kMaxRank);
  for (Py_ssize_t i = 0; i < count; ++i) {
    out[i] = to_integer(PyTuple_GetItem(tuple.get(), i), core::text(what, "[", i, "]"));
  }
  return static_cast<int>(count);
}

void InterfaceReader::read_typestr(const Fields& fields, BorrowedElements& out,
                                   Copying& copying) const {
  PyObject* value = fields.get("typestr");
  if (value == nullptr || PyUnicode_Check(value) == 0)
    fail_malformed("typestr must be a str, not ", value == nullptr ? "missing" : type_name(value));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeError) == 0) throw ErrorSet{};
  compat::clear_raised();  // lone surrogates: not a typestr
  const std::string_view typestr(text == nullptr ? "" : text, static_cast<std::size_t>(size));
  auto dtype = dtype_of_typestr(typestr);
  if (!dtype && (typestr.starts_with('<') || typestr.starts_with('>'))) {
    dtype = dtype_of_typestr(std::string("=").append(typestr.substr(1)));
    out.swapped = true;
    if (dtype && !copying.permits()) dtype.reset();
  }
  if (!dtype) {
    refuse_protocol(name_, ": typestr ", short_repr(value),
                    " is not a numeric type that refarray supports in native byte order");
  }
  out.dtype = *dtype;
}

BorrowedElements InterfaceReader::read_elements(const Fields& fields, Copying& copying) const {
  BorrowedElements out{.source = name_};
  read_typestr(fields, out, copying);
  core::Layout& layout = out.layout;
  layout.ndim = read_tuple(fields.get("shape"), "shape", layout.shape);
  PyObject* strides = fields.get("strides");
  if (strides == nullptr) return out;
  const int count = read_tuple(strides, "strides", layout.strides);
  if (count != layout.ndim)
    fail_malformed("strides has ", count, " items, shape has ", layout.ndim);
  out.strided = true;
  return out;
}

BorrowedMemory InterfaceReader::memory_at_address(PyObject* object, const Fields& fields,
                                                  PyObject* pair, std::int64_t offset) const {
  if (PyTuple_Size(pair) != 2)
    fail_malformed("data has ", PyTuple_Size(pair), " items; it must be (address, read-only)");
  PyObject* number = PyTuple_GetItem(pair, 0);
  if (PyIndex_Check(number) == 0 || PyBool_Check(number))
    fail_malformed("data[0] must be an int, not ", type_name(number));
  const Ref address = check(calling<PyNumber_Index>(number));  // NumPy's integers
  if (offset != 0) fail_malformed("offset is ", offset, "; with an address it must be 0");
  BorrowedMemory out;
  out.data = PyLong_AsVoidPtr(address.get());
  if (PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw ErrorSet{};
    compat::clear_raised();
    fail_malformed("data[0] is ", short_repr(address.get()), ", which is not a valid address");
  }
  out.readonly = check(calling<PyObject_IsTrue>(PyTuple_GetItem(pair, 1))) != 0;
  out.owner = Ref::borrow(object);
  out.description = Ref::borrow(fields.dict());
  return out;
}

/// The bytes that `exporter` exports by the buffer protocol.
BorrowedMemory InterfaceReader::memory_in_buffer(State& state, PyObject* exporter,
                                                 std::int64_t offset) const {
  if (PyObject_CheckBuffer(exporter) == 0) {
    fail_malformed(
        "data must be (address, read-only), None or an object with the buffer protocol, not ",
        type_name(exporter));
  }
  if (offset < 0) fail_malformed("offset is ", offset, "; the minimum is 0");
  BorrowedMemory out;
  out.buffer = acquire_buffer(state, exporter, PyBUF_SIMPLE);
  if (out.buffer->obj == nullptr) out.owner = Ref::borrow(exporter);
  out.data = out.buffer->buf;
  out.readonly = out.buffer->readonly != 0;
  out.offset = offset;
  out.nbytes = out.buffer->len;
  return out;
}

BorrowedMemory InterfaceReader::read_data(State& state, PyObject* object,
                                          const Fields& fields) const {
  PyObject* value = fields.get("offset");
  const std::int64_t offset = value == nullptr ? 0 : to_integer(value, "offset");
  PyObject* data = fields.get("data");
  if (data == nullptr) return memory_in_buffer(state, object, offset);
  return PyTuple_Check(data) ? memory_at_address(object, fields, data, offset)
                             : memory_in_buffer(state, data, offset);
}

Ref find_interface(PyObject* object, PyObject* name) {
  if (PyType_Check(object)) return {};  // a class attribute would be the instances' descriptor
  Ref found = Ref::steal(calling<PyObject_GetAttr>(object, name));
  if (!found) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw_exporter_error();
    compat::clear_raised();
  }
  return found.get() == Py_None ? Ref() : std::move(found);
}

Ref InterfaceReader::find(PyObject* object, PyObject* name) const {
  Ref found = find_interface(object, name);
  if (!found) return {};
  if (PyDict_Check(found.get())) return found;
  core::fail(Fault::kType, name_, " of ", type_name(object), " must be a dict, not ",
             type_name(found.get()));
}

void InterfaceReader::reject_mask(const Fields& fields) const {
  if (fields.get("mask") != nullptr)
    refuse_protocol(name_, ": mask is given; refarray arrays do not support masks");
}

}  // namespace refarray::extension
