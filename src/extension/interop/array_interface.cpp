// __array_interface__: export, the readers of the dict's fields, and import; and import by
// __array_struct__, the array interface as a C struct in a capsule.
#include "extension/interop/array_interface.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/interop/dtype_codes.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/foreign_objects.hpp"

namespace refarray::extension {

// --- Typestr codes, and export.

using core::DType;

namespace {

constexpr char kNative = std::endian::native == std::endian::little ? '<' : '>';

}  // namespace

std::optional<std::string> typestr_of(const DType& dtype) {
  const char* code = code_of(&DTypeCodes::typestr, dtype);
  if (code == nullptr) return std::nullopt;
  return std::string(1, dtype.bits == 8 ? '|' : kNative).append(code);
}

std::optional<DType> dtype_of_typestr(std::string_view typestr) noexcept {
  char order = '=';  // also if there is none, as NumPy reads it
  if (!typestr.empty() && std::string_view("<>|=").find(typestr[0]) != std::string_view::npos) {
    order = typestr[0];
    typestr.remove_prefix(1);
  }
  const auto dtype = dtype_of_code(&DTypeCodes::typestr, typestr);
  // Single bytes have no order. For NumPy '|' means the native order of larger ones.
  const bool native = order == kNative || order == '=' || order == '|';
  return dtype && (native || dtype->bits == 8) ? dtype : std::nullopt;
}

Ref byte_strides_of(const core::ArrayView& array) {
  if (core::is_c_contiguous(array.extents(), array.stride_span())) return Ref::borrow(Py_None);
  std::vector<Py_ssize_t> bytes(static_cast<std::size_t>(array.ndim));
  byte_strides(array, bytes.data());
  const std::vector<std::int64_t> strides(bytes.begin(), bytes.end());
  return make_int_tuple(strides);
}

Ref array_interface(PyObject* self, void*) {
  require_sharing(self, sharing::kArrayInterface);
  const core::ArrayView array = view_of(self);
  const auto typestr = typestr_of(array.dtype);
  if (!typestr) {
    raise(PyExc_AttributeError, "__array_interface__ has no typestr for elements of %s",
          core::name(array.dtype).c_str());
  }
  const runtime::Lent lent = lend_to_host(array, "__array_interface__", array.writable());
  const Ref shape = make_int_tuple(array.extents());
  const Ref strides = byte_strides_of(array);
  const Ref address = check(PyLong_FromVoidPtr(address_of(array, lent)));
  return check(calling<Py_BuildValue>("{s:O,s:s,s:(OO),s:O,s:i}", "shape", shape.get(), "typestr",
                                      typestr->c_str(), "data", address.get(),
                                      array.writable() ? Py_False : Py_True, "strides",
                                      strides.get(), "version", kInterfaceVersion));
}

// --- The readers of fields.

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

// --- Import by __array_interface__.

namespace {

constexpr char kFromArrayInterfaceDoc[] = R"doc(from_array_interface($module, x, /)
--

Return an array over the memory described by x.__array_interface__ (version 3).

Never copies.

x: an object whose attribute __array_interface__ is a dict. The dict's data is
    (address, read-only), an object with the buffer protocol, or None for x's own
    buffer. Its strides are in bytes. Its descr is ignored.

The array keeps x and the dict's values, or the buffer, alive until its last view is
gone, and is read-only if the memory is. An array of refarray shares its storage.
Elements outside a buffer are rejected; an address cannot be checked.

Raises TypeError if x has no such dict, BufferError if the dict is malformed or
describes an array that refarray does not support: a mask (also a masked array's), a
dtype that is not a number in native byte order, strides that are not multiples of the
item size.)doc";

Ref from_array_interface(PyObject* module, PyObject* object) {
  Copying never{.allowed = false};
  Ref out = array_from_interface(State::of_module(module), object, never);
  if (out) return out;
  core::fail(Fault::kType, "from_array_interface needs an object with __array_interface__, not ",
             type_name(object));
}

}  // namespace

Ref array_from_interface(State& state, PyObject* object, Copying& copying) {
  refuse_masked(state, object);
  const InterfaceReader reader("__array_interface__");
  const Ref interface = reader.find(object, state.get(Slot::kInterfaceName));
  if (!interface) return {};
  const Fields fields(interface.get());
  const std::int64_t version = reader.to_integer(fields.get("version"), "version");
  // NumPy's specification asks readers not to refuse future versions; of 2 the fields are the same.
  constexpr std::int64_t kOldest = 2;
  if (version < kOldest)
    reader.fail_malformed("version is ", version, "; the minimum is ", kOldest);
  reader.reject_mask(fields);
  const BorrowedElements elements = reader.read_elements(fields, copying);
  return array_over_borrowed(state, reader.read_data(state, object, fields), elements, copying);
}

PyMethodDef kInterfaceFunctions[] = {
    {"from_array_interface", method<&from_array_interface>(), METH_O, kFromArrayInterfaceDoc},
    {nullptr, nullptr, 0, nullptr}};

// --- Import by __array_struct__.

namespace {

constexpr const char* kName = "__array_struct__";

/// NumPy's PyArrayInterface, as its documentation of the array interface lays it out.
struct ArrayStruct {
  int two;  // 2: a check that the capsule holds such a struct
  int nd;
  char typekind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  // in bytes
  void* data;
  PyObject* descr;  // not read
};
constexpr int kNotSwapped = 0x200;
constexpr int kWritable = 0x400;

/// The capsule in the attribute; an empty Ref if there is none, or the attribute is None.
Ref find_capsule(const State& state, PyObject* object) {
  Ref found = find_interface(object, state.get(Slot::kArrayStructName));
  if (!found) return {};
  if (!PyCapsule_CheckExact(found.get())) {
    core::fail(Fault::kType, kName, " of ", type_name(object), " must be a capsule, not ",
               type_name(found.get()));
  }
  return found;
}

/// A copy of the struct, with the fields that other fields depend on checked.
ArrayStruct read_struct(PyObject* capsule) {
  const auto* pointer = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule, nullptr));
  if (pointer == nullptr) {
    compat::clear_raised();  // replaced by a message that says what is required
    core::fail(Fault::kBuffer, kName, ": the capsule has a name; the interface requires none");
  }
  const ArrayStruct out = *pointer;
  if (out.two != 2) core::fail(Fault::kBuffer, kName, ": two is ", out.two, "; it must be 2");
  if (out.nd < 0 || out.nd > core::kMaxRank) {
    core::fail(Fault::kBuffer, kName, ": nd is ", out.nd, "; it must be 0 to ", core::kMaxRank);
  }
  if (out.nd > 0 && out.shape == nullptr)
    core::fail(Fault::kBuffer, kName, ": shape is NULL, nd ", out.nd);
  return out;
}

BorrowedElements elements_of(const ArrayStruct& fields, Copying& copying) {
  BorrowedElements out{.source = kName};
  const std::string typestr = std::string(1, fields.typekind) + std::to_string(fields.itemsize);
  const auto dtype = dtype_of_typestr(typestr);
  out.swapped = (fields.flags & kNotSwapped) == 0 && fields.itemsize > 1;
  if (!dtype || (out.swapped && !copying.permits())) {
    refuse_protocol(kName, ": typekind ", int{static_cast<unsigned char>(fields.typekind)},
                    ", itemsize ", fields.itemsize, ", flags ", fields.flags,
                    " are not a numeric type that refarray supports in native byte order");
  }
  out.dtype = *dtype;
  out.strided = fields.strides != nullptr;
  for (int axis = 0; axis < fields.nd; ++axis)
    out.layout.push(fields.shape[axis], out.strided ? fields.strides[axis] : 0);
  return out;
}

}  // namespace

Ref array_from_struct(State& state, PyObject* object, Copying& copying) {
  const Ref capsule = find_capsule(state, object);
  if (!capsule) return {};
  const ArrayStruct fields = read_struct(capsule.get());
  BorrowedMemory memory;
  memory.data = fields.data;
  memory.readonly = (fields.flags & kWritable) == 0;
  memory.owner = Ref::borrow(object);
  memory.description = Ref::borrow(capsule.get());
  return array_over_borrowed(state, std::move(memory), elements_of(fields, copying), copying);
}

}  // namespace refarray::extension
