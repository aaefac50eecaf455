// Recognises NumPy's masked arrays and scalars, and reads scalars as numbers.
#include "extension/interop/numpy_types.hpp"

#include <string>

#include "core/error.hpp"
#include "extension/array/element.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/modules.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/capi/type_lookup.hpp"
#include "extension/interop/array_interface.hpp"
#include "extension/interop/protocol_order.hpp"

namespace refarray::extension {
namespace {

/// A class of NumPy, remembered in `slot`; nullptr as long as its module has not been imported.
PyTypeObject* find_class(State& state, Slot slot, Slot module_name, const char* name) {
  if (PyObject* known = state.get(slot)) return reinterpret_cast<PyTypeObject*>(known);
  const Ref module = imported_module(state.get(module_name));
  if (!module) return nullptr;
  Ref found = Ref::steal(calling<PyObject_GetAttrString>(module.get(), name));
  if (!found && PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw ErrorSet{};
  compat::clear_raised();  // sys.modules has None or another module under this name, or it is being
                           // imported
  if (!found || PyType_Check(found.get()) == 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(state.set_once(slot, std::move(found)));
}

bool is_instance(PyObject* object, PyTypeObject* type) noexcept {
  return type != nullptr && PyType_IsSubtype(Py_TYPE(object), type) != 0;
}

Ref dtype_object(State& state, PyObject* scalar) {
  return check(calling<PyObject_GetAttr>(scalar, state.get(Key::kDtype)));
}

/// The scalar's dtype as the array interface writes it: "<f4", "|V2", "<M8[s]". NumPy computes it
/// in C, unlike the name.
std::string typestr_of(State& state, PyObject* dtype) {
  const Ref text = check(calling<PyObject_GetAttr>(dtype, state.get(Slot::kStrName)));
  if (!PyUnicode_Check(text.get())) {
    core::fail(core::Fault::kType, "dtype.str of a NumPy scalar must be a str, not ",
               type_name(text.get()));
  }
  return utf8(text.get());
}

/// The one-letter kind: b, i, u, f, c, M, m, or V and others for types defined elsewhere.
char kind_of(const std::string& typestr) noexcept { return typestr.size() > 1 ? typestr[1] : '\0'; }

bool is_time(char kind) noexcept { return kind == 'M' || kind == 'm'; }

/// refarray's dtype of the elements, if it has one. Those of ml_dtypes have a name only; NumPy
/// stores sub-byte elements one per byte.
std::optional<core::DType> dtype_of(PyObject* dtype, const std::string& typestr) {
  if (const auto known = dtype_of_typestr(typestr)) return known;
  const Ref key = check(PyUnicode_InternFromString("name"));
  const Ref name = check(calling<PyObject_GetAttr>(dtype, key.get()));
  if (!PyUnicode_Check(name.get())) return std::nullopt;
  auto out = core::dtype_from_name(utf8(name.get()));
  if (out && out->is_sub_byte()) out->padded = true;
  return out;
}

[[noreturn, gnu::cold]] void fail_time(PyObject* object) {
  core::fail(core::Fault::kType, type_name(object),
             " is a time, not a number; pass x.astype(\"int64\") for its count of units");
}

/// The Python number that item() returns. That of longdouble is a longdouble again: it converts
/// itself.
Ref number_of(State& state, PyObject* object, char kind) {
  const Ref item = check(compat::park_at_exit(
      [&] { return PyObject_VectorcallMethod(state.get(Slot::kItemName), &object, 1, nullptr); }));
  if (Ref number = plain_number(item.get())) return number;
  if (kind == 'f') return check(calling<PyNumber_Float>(object));
  auto* complex_type = reinterpret_cast<PyObject*>(&PyComplex_Type);
  if (kind == 'c')
    return check(calling<PyObject_CallFunctionObjArgs>(complex_type, object, nullptr));
  core::fail(core::Fault::kType, "item() of ", type_name(object), " returned a ",
             type_name(item.get()), "; it must return a number");
}

}  // namespace

void refuse_masked(State& state, PyObject* object) {
  if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) == 0) return;  // a class in Python
  auto* masked = reinterpret_cast<PyTypeObject*>(state.get(Slot::kMaskedArray));
  if (masked == nullptr) {
    // With the property `mask`: other objects do not cost the lookup of numpy.ma in sys.modules,
    // which is repeated as long as nothing imports it.
    if (!find_on_type(state, Py_TYPE(object), state.get(Slot::kMaskName))) return;
    masked = find_class(state, Slot::kMaskedArray, Slot::kNumpyMaName, "MaskedArray");
  }
  if (!is_instance(object, masked)) return;
  refuse_protocol("the mask of a ", type_name(object),
                  " would be lost; pass x.filled(value) to replace the masked elements, or x.data "
                  "to include them");
}

bool is_numpy_scalar(State& state, PyObject* object) {
  return is_instance(object, find_class(state, Slot::kNumpyGeneric, Slot::kNumpyName, "generic")) &&
         !is_instance(object,
                      find_class(state, Slot::kNumpyFlexible, Slot::kNumpyName, "flexible"));
}

bool is_time_scalar(State& state, PyObject* object) {
  return is_numpy_scalar(state, object) &&
         is_time(kind_of(typestr_of(state, dtype_object(state, object).get())));
}

std::optional<NumpyNumber> to_numpy_number(State& state, PyObject* object) {
  if (!is_numpy_scalar(state, object)) return std::nullopt;
  const Ref dtype = dtype_object(state, object);
  const std::string typestr = typestr_of(state, dtype.get());
  const char kind = kind_of(typestr);
  if (is_time(kind)) fail_time(object);
  Ref number = number_of(state, object, kind);
  return NumpyNumber{std::move(number), dtype_of(dtype.get(), typestr)};
}

}  // namespace refarray::extension
