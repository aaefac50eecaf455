// The Python type DType.
#include "extension/array/dtype_type.hpp"

#include <string>
#include <string_view>

#include "extension/array/conversions.hpp"
#include "extension/array/docstrings_types.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/modules.hpp"
#include "extension/capi/value_object.hpp"

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
      return core::kScalars[static_cast<std::size_t>(dtype.index())].name;
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

}  // namespace

Ref new_dtype_object(PyTypeObject* type, const core::DType& dtype) {
  return new_value_object(type, dtype);
}

core::DType dtype_value(PyObject* object) noexcept { return value_in<DType>(object); }

Ref make_dtype_type(PyObject* module) {
  return make_value_type<DType, &dtype_new, &dtype_repr, &dtype_like>(module, "refarray.DType",
                                                                      kDTypeDoc, kGetters);
}

}  // namespace refarray::extension
