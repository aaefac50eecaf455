// Owns the DType type: what Python code sees of an element type.
#include "extension/array/dtype_type.hpp"

#include <string>
#include <string_view>

#include "extension/array/conversions.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
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
  const State& state = *static_cast<State*>(PyType_GetModuleState(type));  // final: `type` is ours
  return make_dtype(state, to_dtype(state, only_argument(args, kwargs, "O:DType")));
}

Ref dtype_repr(PyObject* self) {
  const DType& dtype = value_in<DType>(self);
  const std::string name = core::name(dtype);
  const bool is_attribute = dtype.lanes == 1 && !dtype.padded;  // refarray.float32
  return text(is_attribute ? "refarray." + name : "refarray.DType('" + name + "')");
}

/// The family, without bits where a family has several sizes.
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
    default:  // the kinds of one size are named as their dtype
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

constexpr const char* kTypeDoc =
    "DType(name)\n--\n\n"
    "The type of an array's elements: immutable, hashable, picklable.\n\n"
    "name is a DType, or a name such as 'float32', 'float32x4' (a vector of 4 lanes) or\n"
    "'float4_e2m1fn_padded' (each element in a byte of its own), or one of bool, int, float, "
    "complex,\n"
    "which stand for bool, int64, float64, complex128. The 27 scalar dtypes are attributes of the "
    "module.\n"
    "A DType equals its name and has the hash of it; dtypes have no order.\n\n"
    "Raises TypeError for anything else, ValueError for a name of no dtype. Array API: data type "
    "objects.";

PyGetSetDef dtype_getters[] = {
    {"name", slot<&get_name>, nullptr, "The name, a str; DType(name) gives an equal DType.",
     nullptr},
    {"kind", slot<&get_kind>, nullptr,
     "The family, a str: 'bool', 'int', 'uint', 'float', 'bfloat', 'complex', or the name of a "
     "float of 8 or fewer bits.",
     nullptr},
    {"code", slot<&get_code>, nullptr, "DLPack's type code (DLDataTypeCode), an int.", nullptr},
    {"bits", slot<&get_bits>, nullptr,
     "Bits of one scalar (of both parts of a complex one), an int.", nullptr},
    {"lanes", slot<&get_lanes>, nullptr,
     "Scalars in one element, an int; 1 unless it is a vector type.", nullptr},
    {"padded", slot<&get_padded>, nullptr,
     "Whether elements of less than a byte each take a whole byte, their value in its low bits "
     "(DLPack's flag\n"
     "IS_SUBBYTE_TYPE_PADDED), instead of lying packed.",
     nullptr},
    {"itemsize", slot<&get_itemsize>, nullptr,
     "Bytes of one element, an int, rounded up: 1 for packed elements of less than a byte.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

Ref new_dtype_object(PyTypeObject* type, const core::DType& dtype) {
  return new_value_object(type, dtype);
}

core::DType dtype_value(PyObject* object) noexcept { return value_in<DType>(object); }

Ref make_dtype_type(PyObject* module) {
  return make_value_type<DType, &dtype_new, &dtype_repr>(module, "refarray.DType", kTypeDoc,
                                                         dtype_getters);
}

}  // namespace refarray::extension
