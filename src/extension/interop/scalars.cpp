// Implements the protocols by which an object is a number, or exports an array.
#include "extension/interop/scalars.hpp"

#include <string>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/copy/copying.hpp"
#include "extension/interop/array_interface.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/interop/protocol_order.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/foreign_objects.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

bool has_method(const State& state, PyObject* object, Slot name) {
  const Ref found = find_on_type(state, Py_TYPE(object), state.get(name));
  return found && found.get() != Py_None;
}

/// Looks on the type, as Python does for special methods; None there opts out. The name is interned
/// because each new string object would take an entry of CPython's type attribute cache.
bool has_special_method(const State& state, PyObject* object, const char* name) {
  const Ref interned = check(PyUnicode_InternFromString(name));
  const Ref found = find_on_type(state, Py_TYPE(object), interned.get());
  return found && found.get() != Py_None;
}

bool has_slot(PyObject* object, int slot) noexcept {
  return PyType_GetSlot(Py_TYPE(object), slot) != nullptr;
}

/// The slot is set for None too: its class opts out.
bool has_index(const State& state, PyObject* object) {
  return PyIndex_Check(object) != 0 && has_special_method(state, object, "__index__");
}

bool has_length(PyObject* object) noexcept {
  return has_slot(object, Py_mp_length) || has_slot(object, Py_sq_length);
}

/// Whether the type is that of numbers: it converts itself to one, and it is hashable and has no
/// length. Arrays of every library have a length or are not hashable, those of ndim 0 too. Whether
/// it has DLPack says nothing: NumPy's scalars will.
bool is_number_like(const State& state, PyObject* object) {
  auto* const not_hashable = reinterpret_cast<void*>(&PyObject_HashNotImplemented);
  return !has_length(object) && PyType_GetSlot(Py_TYPE(object), Py_tp_hash) != not_hashable &&
         (has_slot(object, Py_nb_float) || has_slot(object, Py_nb_index) ||
          has_special_method(state, object, "__complex__"));
}

/// What the buffer of an object says of it.
enum class Form {
  kNone,     // no scalar
  kNumber,   // read-only, ndim 0, a number of a dtype
  kInexact,  // the same with another format: longdouble
  kItem,     // refused: ml_dtypes, whose types have no format, but have item()
  kTime,
};
struct Examined {
  Form form = Form::kNone;
  BufferPtr buffer;
  core::DType dtype{};  // of kNumber
};

Examined examine(const State& state, PyObject* object) {
  if (PyObject_CheckBuffer(object) == 0 || !is_number_like(state, object)) return {};
  Examined out;
  try {  // boundary: a scalar need not have a format
    out.buffer = acquire_buffer(state, object, PyBUF_FULL_RO);
  } catch (const ProtocolRefused&) {
    compat::clear_raised();
    if (has_method(state, object, Slot::kItemName)) out.form = Form::kItem;
    return out;
  }
  const Py_buffer& buffer = *out.buffer;
  if (buffer.ndim != 0) {
    if (is_time_scalar(state, object)) out.form = Form::kTime;
  } else if (buffer.readonly != 0 && buffer.format != nullptr) {
    if (const auto dtype = dtype_of_format(buffer.format)) {
      out.dtype = *dtype;
      if (buffer.len == dtype->itemsize()) out.form = Form::kNumber;
    } else {
      out.form = Form::kInexact;
    }
  }
  return out;
}

/// The dtype that the attribute `dtype` names, if refarray has it. NumPy stores sub-byte elements
/// one per byte.
std::optional<core::DType> named_dtype(const State& state, PyObject* object) {
  const Ref dtype = check(calling<PyObject_GetAttr>(object, state.get(Key::kDtype)));
  const Ref key = check(PyUnicode_InternFromString("name"));
  const Ref name = check(calling<PyObject_GetAttr>(dtype.get(), key.get()));
  if (!PyUnicode_Check(name.get())) return std::nullopt;
  auto out = core::dtype_from_name(utf8(name.get()));
  if (out && out->is_sub_byte()) out->padded = true;
  return out;
}

std::optional<Scalar> scalar_of_item(const State& state, PyObject* object) {
  const Ref item = check(calling(
      [&] { return PyObject_VectorcallMethod(state.get(Slot::kItemName), &object, 1, nullptr); }));
  Ref number = plain_number(item.get());
  if (!number) return std::nullopt;
  return Scalar{std::move(number), named_dtype(state, object)};
}

[[noreturn, gnu::cold]] void fail_inexact(PyObject* object) {
  core::fail(Fault::kType, type_name(object),
             " has no dtype here; float(x) or complex(x) rounds to a number that has one");
}

[[noreturn, gnu::cold]] void fail_time(PyObject* object) {
  core::fail(Fault::kType, type_name(object),
             " is a time, not a number; pass x.astype(\"int64\") for its count of units");
}

/// The element of an array of ndim 0, by the array's own methods: those of its namespace refuse it,
/// or count a transfer. Empty for other arrays.
Ref element_of(const State& state, PyObject* array) {
  const State& own = State::of_object(array);
  const bool is_of_namespace = own.get(Slot::kNamespace) == state.get(Slot::kNamespace);
  if (!is_of_namespace) refuse_other_namespace(state, array);
  const core::ArrayView view = view_of(array);
  if (view.ndim != 0 || view.dtype.lanes != 1) return {};
  switch (view.dtype.kind) {
    case core::Kind::kBool:
      return check(PyBool_FromLong(check(calling<PyObject_IsTrue>(array))));
    case core::Kind::kInt:
    case core::Kind::kUInt:
      return check(calling<PyNumber_Index>(array));
    case core::Kind::kComplex:
      return check(calling<PyObject_CallFunctionObjArgs>(
          reinterpret_cast<PyObject*>(&PyComplex_Type), array, nullptr));
    default:
      return check(calling<PyNumber_Float>(array));
  }
}

}  // namespace

std::optional<Scalar> to_scalar(const State& state, PyObject* object) {
  const Examined found = examine(state, object);
  switch (found.form) {
    case Form::kNumber: {
      const auto* data = static_cast<const std::byte*>(found.buffer->buf);
      return Scalar{read_scalar(found.dtype, data, 0), found.dtype};
    }
    case Form::kInexact:
      fail_inexact(object);
    case Form::kItem:
      return scalar_of_item(state, object);
    case Form::kTime:
      fail_time(object);
    case Form::kNone:
      break;
  }
  const bool is_integer = has_index(state, object) && !has_length(object) &&
                          !has_method(state, object, Slot::kArrayMethodName) &&
                          !exports_memory(state, object);
  if (!is_integer) return std::nullopt;
  return Scalar{plain_number(check(calling<PyNumber_Index>(object)).get()), std::nullopt};
}

bool is_buffer_scalar(const State& state, PyObject* object) {
  return examine(state, object).form != Form::kNone;
}

bool is_time_scalar(const State& state, PyObject* object) {
  if (has_length(object)) return false;
  const Ref interface = find_interface(object, state.get(Slot::kInterfaceName));
  if (!interface || !PyDict_Check(interface.get())) return false;
  PyObject* const typestr = Fields(interface.get()).get("typestr");
  if (typestr == nullptr || !PyUnicode_Check(typestr)) return false;
  const std::string text = utf8(typestr);
  return text.size() > 1 && (text[1] == 'M' || text[1] == 'm');
}

Ref to_exact_number(const State& state, PyObject* object) {
  Ref plain = plain_number(object);
  if (plain || state.modes.strict) return plain;
  std::optional<Scalar> scalar = to_scalar(state, object);
  return scalar ? std::move(scalar->number) : Ref();
}

Ref to_number(State& state, PyObject* object) {
  if (Ref plain = plain_number(object)) return plain;
  if (is_any_array(object)) return element_of(state, object);
  if (auto scalar = to_scalar(state, object)) return std::move(scalar->number);
  if (PyUnicode_Check(object)) return {};  // numpy.str_ exports a buffer
  if (const Ref array = array_over(state, object)) {
    const core::ArrayView view = view_of(array.get());
    if (view.ndim != 0 || view.dtype.lanes != 1) return {};
    core::Array owner;
    const core::ArrayView readable = to_readable(view, "reading a number", owner);
    return read_element(readable.dtype, readable.data, readable.bit);
  }
  if (!has_index(state, object)) return {};
  return plain_number(check(calling<PyNumber_Index>(object)).get());
}

bool exports_memory(const State& state, PyObject* object) {
  if (PyObject_CheckBuffer(object) != 0) return true;
  for (const Slot name : {Slot::kDlpackName, Slot::kExchangeName})
    if (has_method(state, object, name)) return true;
  for (const Slot name : {Slot::kInterfaceName, Slot::kArrayStructName, Slot::kCudaInterfaceName}) {
    // Objects that invent an attribute for every name have neither a dict nor a capsule there.
    const Ref found = find_interface(object, state.get(name));
    if (found && (PyDict_Check(found.get()) || PyCapsule_CheckExact(found.get()))) return true;
  }
  return false;
}

}  // namespace refarray::extension
