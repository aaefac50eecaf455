// The Python type DType.
#include "extension/objects/dtype_type.hpp"

#include <string>
#include <string_view>

#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/modules.hpp"
#include "extension/capi/value_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/type_docs.hpp"

namespace refarray::extension {
namespace {

using core::DType;

Ref text(std::string_view characters) {
  return check(
      PyUnicode_FromStringAndSize(characters.data(), static_cast<Py_ssize_t>(characters.size())));
}

Ref integer(long value) { return check(PyLong_FromLong(value)); }

Ref dtype_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const State& state = *static_cast<State*>(
      PyType_GetModuleState(type));  // DType cannot be subclassed, so `type` is DType
  return make_dtype(state, to_dtype(state, only_argument(args, kwargs, "O:DType")));
}

Ref dtype_repr(PyObject* self) {
  const DType& dtype = value_in<DType>(self);
  const std::string name = core::name(dtype);
  const bool is_attribute = dtype.lanes == 1 && !dtype.padded;  // refarray.float32
  return text(is_attribute ? "refarray." + name : "refarray.DType('" + name + "')");
}

/// The value of DType.kind: without the bits for kinds that have several sizes.
std::string_view kind_name(const DType& dtype) {
  switch (dtype.kind) {
    case core::Kind::kBool:
      return "bool";
    case core::Kind::kInt:
      return "int";
    case core::Kind::kUInt:
      return "uint";
    case core::Kind::kFloat:
      return "float";
    case core::Kind::kBfloat:
      return "bfloat";
    case core::Kind::kComplex:
      return "complex";
    default:  // a kind with one size has the name of its dtype
      return core::info_of(dtype.scalar()).name;
  }
}

Ref get_name(PyObject* self, void*) { return value_text<DType>(self); }
Ref get_kind(PyObject* self, void*) { return text(kind_name(value_in<DType>(self))); }
Ref get_code(PyObject* self, void*) {
  return integer(static_cast<long>(value_in<DType>(self).kind));
}
Ref get_bits(PyObject* self, void*) { return integer(value_in<DType>(self).bits); }
Ref get_lanes(PyObject* self, void*) { return integer(value_in<DType>(self).lanes); }
Ref get_padded(PyObject* self, void*) {
  return check(PyBool_FromLong(value_in<DType>(self).padded));
}
Ref get_itemsize(PyObject* self, void*) { return integer(value_in<DType>(self).itemsize()); }

Ref get_numpy_dtype(PyObject* self, void*) {
  return check(calling<PyObject_CallFunctionObjArgs>(
      python_function("refarray._numpy", "numpy_dtype").get(), self, nullptr));
}

PyGetSetDef kGetters[] = {
    {"name", slot<&get_name>, nullptr, kDTypeNameDoc, nullptr},
    {"kind", slot<&get_kind>, nullptr, kDTypeKindDoc, nullptr},
    {"code", slot<&get_code>, nullptr, kDTypeCodeDoc, nullptr},
    {"bits", slot<&get_bits>, nullptr, kDTypeBitsDoc, nullptr},
    {"lanes", slot<&get_lanes>, nullptr, kDTypeLanesDoc, nullptr},
    {"padded", slot<&get_padded>, nullptr, kDTypePaddedDoc, nullptr},
    {"itemsize", slot<&get_itemsize>, nullptr, kDTypeItemsizeDoc, nullptr},
    {"__numpy_dtype__", slot<&get_numpy_dtype>, nullptr, kDTypeNumpyDoc, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// --- of strict namespaces: == and hash() only

Ref strict_repr(PyObject* self) {
  return text("refarray_strict." + core::name(value_in<DType>(self)));
}

Ref strict_compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) return Ref::borrow(Py_NotImplemented);
  const bool equal =
      Py_TYPE(other) == Py_TYPE(self) && value_in<DType>(other) == value_in<DType>(self);
  return Ref::borrow(equal == (operation == Py_EQ) ? Py_True : Py_False);
}

/// Pickles the name of a variable of the module refarray_strict.
Ref strict_reduce(PyObject* self, PyObject*) { return value_text<DType>(self); }

Ref make_strict_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"__reduce__", method<&strict_reduce>(), METH_NOARGS, kValueReduceDoc},
      {nullptr, nullptr, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kStrictDTypeDoc)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc_value)},
      {Py_tp_traverse, reinterpret_cast<void*>(&traverse_value)},
      {Py_tp_repr, slot_pointer<&strict_repr>()},
      {Py_tp_hash, slot_pointer<&value_hash<DType>>()},
      {Py_tp_richcompare, slot_pointer<&strict_compare>()},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  PyType_Spec spec{"refarray_strict.DType", static_cast<int>(sizeof(ValueObject<DType>)), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  return compat::make_immortal(check(compat::new_type(module, &spec)));
}

}  // namespace

Ref make_strict_dtypes(PyObject* module) {
  const Ref type = make_strict_type(module);
  Ref out = check(calling<PyTuple_New>(static_cast<Py_ssize_t>(core::kScalars.size())));
  for (std::size_t row = 0; row < core::kScalars.size(); ++row) {
    const core::ScalarInfo& info = core::kScalars[row];
    Ref dtype = compat::make_immortal(new_value_object<DType>(
        reinterpret_cast<PyTypeObject*>(type.get()), {info.kind, info.bits, 1, false}));
    check(PyTuple_SetItem(out.get(), static_cast<Py_ssize_t>(row), dtype.release()));
  }
  return out;
}

Ref new_dtype_object(PyTypeObject* type, const core::DType& dtype) {
  return new_value_object(type, dtype);
}

core::DType dtype_value(PyObject* object) noexcept { return value_in<DType>(object); }

Ref make_dtype_type(PyObject* module) {
  return make_value_type<DType, &dtype_new, &dtype_repr, &dtype_like>(module, "refarray.DType",
                                                                      kDTypeDoc, kGetters);
}

}  // namespace refarray::extension
