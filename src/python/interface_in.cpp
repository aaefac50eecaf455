// Owns arrays over what an __array_interface__ describes: reading the dict, and what of it is
// refused.
#include <cstdint>
#include <string>

#include "args.hpp"
#include "borrowed.hpp"
#include "errors.hpp"
#include "interface.hpp"
#include "methods.hpp"
#include "offer.hpp"
#include "refarray/core/error.hpp"
#include "words.hpp"

namespace refarray::python {
namespace {

using core::Fault;

constexpr const char* kName = "__array_interface__";

template <class... Parts>
[[noreturn]] void malformed(const Parts&... parts) {
  core::fail(Fault::kBuffer, kName, ": ", parts...);
}

/// A private copy of the dict: whatever code runs while it is read, its values stay.
class Fields {
 public:
  explicit Fields(PyObject* dict) : dict_(check(PyDict_Copy(dict))) {}

  /// Borrowed; nullptr when the key is not there or its value is None, which mean the same.
  PyObject* get(const char* key) const {
    const Ref name = check(PyUnicode_InternFromString(key));
    PyObject* value = calling<PyDict_GetItemWithError>(dict_.get(), name.get());
    if (value == nullptr && PyErr_Occurred() != nullptr) throw ErrorSet{};
    return value == Py_None ? nullptr : value;
  }

 private:
  Ref dict_;
};

std::int64_t to_integer(PyObject* object, const std::string& what) {
  if (object == nullptr || PyIndex_Check(object) == 0)
    malformed(what, " must be an int, not ", object == nullptr ? "missing" : type_name(object));
  const Ref index = check(calling<PyNumber_Index>(object));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow != 0) malformed(what, " does not fit 64 bits");
  return value;
}

/// A tuple of ints into `out`; returns how many there are.
int read_tuple(PyObject* tuple, const char* what, std::int64_t* out) {
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

core::DType read_typestr(const Fields& fields) {
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
  refuse_offer(kName, ": typestr ", short_repr(value),
               " is no number that refarray carries in this machine's byte order");
}

/// Shape and, unless there are none, strides in elements; returns whether there are.
bool read_layout(const Fields& fields, const core::DType& dtype, core::Layout& out) {
  out.ndim = read_tuple(fields.get("shape"), "shape", out.shape);
  PyObject* given = fields.get("strides");
  if (given == nullptr) return false;
  const int count = read_tuple(given, "strides", out.strides);
  if (count != out.ndim) malformed("strides has ", count, " items, shape has ", out.ndim);
  count_strides_in_elements(kName, dtype.itemsize(), out);
  return true;
}

/// (address, read-only): the object itself keeps the memory, as the interface asks consumers to
/// arrange.
Borrowed at_address(PyObject* object, PyObject* pair, std::int64_t offset) {
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
Borrowed in_buffer(PyObject* exporter, std::int64_t offset) {
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

Borrowed read_data(PyObject* object, const Fields& fields) {
  PyObject* given = fields.get("offset");
  const std::int64_t offset = given == nullptr ? 0 : to_integer(given, "offset");
  PyObject* data = fields.get("data");
  if (data == nullptr) return in_buffer(object, offset);
  return PyTuple_Check(data) ? at_address(object, data, offset) : in_buffer(data, offset);
}

/// An empty Ref when there is none: no such attribute, or None.
Ref look_up(const State& state, PyObject* object) {
  if (PyType_Check(object)) return {};  // a class shows its instances' property
  Ref found = Ref::steal(calling<PyObject_GetAttr>(object, state.get(Slot::kInterfaceName)));
  if (!found) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw_exporters();
    PyErr_Clear();
    return {};
  }
  if (found.get() == Py_None) return {};
  if (PyDict_Check(found.get())) return found;
  core::fail(Fault::kType, kName, " of ", type_name(object), " must be a dict, not ",
             type_name(found.get()));
}

Ref from_array_interface(PyObject* module, PyObject* object) {
  Ref out = array_from_interface(State::of_module(module), object);
  if (out) return out;
  core::fail(Fault::kType, "from_array_interface needs an object with __array_interface__, not ",
             type_name(object));
}

}  // namespace

Ref array_from_interface(State& state, PyObject* object) {
  const Ref interface = look_up(state, object);
  if (!interface) return {};
  const Fields fields(interface.get());
  const std::int64_t version = to_integer(fields.get("version"), "version");
  if (version != kInterfaceVersion)
    malformed("version is ", version, "; it must be ", kInterfaceVersion);
  if (fields.get("mask") != nullptr)
    refuse_offer(kName, ": mask is given; an array of refarray has none to carry it");
  const core::DType dtype = read_typestr(fields);
  core::Layout layout;
  const bool strided = read_layout(fields, dtype, layout);
  Borrowed memory = read_data(object, fields);
  return array_over_borrowed(state, std::move(memory), dtype, layout.extents(),
                             strided ? layout.strides : nullptr);
}

PyMethodDef kInterfaceFunctions[] = {
    {"from_array_interface", method<&from_array_interface>(), METH_O,
     "from_array_interface($module, x, /)\n--\n\n"
     "An array over the memory that x describes by __array_interface__ (version 3), never a "
     "copy.\n\n"
     "x: any object with that attribute, which must be a dict. Its data may be (address, "
     "read-only), an object with the\n"
     "    buffer protocol, or None for x's own buffer; strides are in bytes; descr is not read.\n"
     "The array keeps x, or the buffer, until its last view is gone, and is read-only where that "
     "is. Elements that lie\n"
     "outside a buffer are refused; an address cannot be checked. Raises TypeError when there is "
     "no such dict,\n"
     "BufferError for one that is malformed or says what refarray cannot carry: a mask, a dtype "
     "that is no number in\n"
     "this machine's byte order, strides that are no multiple of the item size."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::python
