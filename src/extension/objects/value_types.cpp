// The Python types DType and Device: final, immutable objects that wrap a C++ value with a name.
// Each equals objects of the same value, its name, and what stands for it in other libraries; in
// strict namespaces the first only.
#include "extension/objects/value_types.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/own_struct.hpp"
#include "extension/objects/conversions.hpp"
#include "refarray/core/device.hpp"

namespace refarray::extension {
namespace {

using core::Device;
using core::DType;

// --- The common base.

constexpr char kClassGetitemDoc[] = R"doc(__class_getitem__($type, item, /)
--

Return a types.GenericAlias, for annotations. The item is not looked at.)doc";

Ref class_getitem(PyObject* type, PyObject* item) { return check(Py_GenericAlias(type, item)); }

constexpr char kValueReduceDoc[] = R"doc(__reduce__($self, /)
--

Support pickling: the object is pickled as its name.)doc";

/// GC-tracked although it refers to its type only: the module state holds some of these objects,
/// and the collector must see the cycle type -> module -> object -> type when the interpreter ends.
template <class Value>
struct ValueObject {
  [[no_unique_address]] Head head;
  std::atomic<Py_hash_t> hash;  // -1: not computed yet; racing threads compute the same value
  Value value;

  static ValueObject* cast(PyObject* self) noexcept { return own_struct<ValueObject>(self); }
};

template <class Value>
const Value& value_in(PyObject* self) noexcept {
  return ValueObject<Value>::cast(self)->value;
}

template <class Value>
Ref new_value_object(PyTypeObject* type, const Value& value) {
  PyObject* object = compat::park_at_exit([type] { return PyObject_GC_New(PyObject, type); });
  if (object == nullptr) throw ErrorSet{};
  auto* self = ValueObject<Value>::cast(object);
  self->hash.store(-1, std::memory_order_relaxed);
  self->value = value;
  PyObject_GC_Track(object);
  return Ref::steal(object);
}

int traverse_value(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

void dealloc_value(PyObject* self) noexcept {
  const Ref type =
      Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(self)));  // instances own their heap type
  PyObject_GC_UnTrack(self);
  PyObject_GC_Del(self);
}

/// tp_str: the value's name.
template <class Value>
Ref value_text(PyObject* self) {
  const std::string text = core::name(value_in<Value>(self));
  return check(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

/// hash(x) == hash(str(x)), because x == str(x) unless x is of a strict namespace. Objects of other
/// libraries that equal x have hashes of their own, as those of NumPy's dtypes and their names
/// differ.
template <class Value>
Py_hash_t value_hash(PyObject* self) {
  auto& cached = ValueObject<Value>::cast(self)->hash;
  Py_hash_t hash = cached.load(std::memory_order_relaxed);
  if (hash != -1) return hash;
  hash = check_number<PyObject_Hash>(value_text<Value>(self).get());
  cached.store(hash, std::memory_order_relaxed);
  return hash;
}

/// Equal if `kLike` converts `other` to the same value. NotImplemented for what it cannot convert,
/// so that the other operand is asked.
template <class Value, auto kLike, bool kHasName>
Ref value_compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) return Ref::borrow(Py_NotImplemented);
  const Value& own = value_in<Value>(self);
  bool equal = kHasName && PyUnicode_Check(other) &&  // a shortcut: kLike knows the name too
               PyUnicode_CompareWithASCIIString(other, core::name(own).c_str()) == 0;
  if (!equal) {
    const std::optional<Value> value = kLike(State::of_object(self), other);
    if (!value) return Ref::borrow(Py_NotImplemented);
    equal = *value == own;
  }
  return Ref::borrow(equal == (operation == Py_EQ) ? Py_True : Py_False);
}

/// __reduce__(): pickles the name, which determines the value.
template <class Value>
Ref value_reduce(PyObject* self, PyObject*) {
  const Ref text = value_text<Value>(self);
  return check(
      calling<Py_BuildValue>("(O(O))", reinterpret_cast<PyObject*>(Py_TYPE(self)), text.get()));
}

/// Parses the argument of DType(name) and Device(name); returns it as a borrowed reference.
PyObject* only_argument(PyObject* args, PyObject* kwargs, const char* format) {
  const char* const names[] = {"name", nullptr};
  PyObject* out = nullptr;
  parse_arguments(args, kwargs, format, names, &out);
  return out;
}

/// Creates the type of such objects; `kNew` is its tp_new, `kRepr` its tp_repr, `kLike` converts
/// objects that are equal to one of them, of which names are some if `kHasName`.
template <class Value, auto kNew, auto kRepr, auto kLike, bool kHasName = true>
Ref make_value_type(PyObject* module, const char* name, const char* doc, PyGetSetDef* getters,
                    PyMethodDef* methods) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(doc)},
      {Py_tp_new, slot_pointer<kNew>()},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc_value)},
      {Py_tp_traverse, reinterpret_cast<void*>(&traverse_value)},
      {Py_tp_repr, slot_pointer<kRepr>()},
      {Py_tp_str, slot_pointer<&value_text<Value>>()},
      {Py_tp_hash, slot_pointer<&value_hash<Value>>()},
      {Py_tp_richcompare, slot_pointer<&value_compare<Value, kLike, kHasName>>()},
      {Py_tp_getset, getters},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  PyType_Spec spec{name, kBasicSize<ValueObject<Value>>, 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, slots};
  return compat::make_immortal(check(compat::new_type(module, &spec)));
}

// --- DType.

constexpr char kStrictDTypeDoc[] =
    R"doc(The type of the elements of the arrays of strict namespaces.

It has == and hash() only, as the standard says: equal to itself, and to nothing else.)doc";

constexpr char kDTypeDoc[] = R"doc(DType(name)
--

The type of the elements of an array: immutable, hashable and picklable.

name: a DType; a name such as 'float32', 'float32x4' (a vector of 4 lanes) or
    'float4_e2m1fn_padded' (one byte for each element); a short name of NumPy such as
    'f4', '<f4' or 'single'; one of the types bool, int, float and complex, for bool,
    int64, float64 and complex128; a dtype or scalar type of NumPy, ml_dtypes, PyTorch
    or JAX; or an object with __dlpack_data_type__() (dmlc/dlpack#172).

The 27 scalar dtypes are attributes of the module. dtype == x is true if DType(x) is
that dtype. The hash is that of the name, so dictionaries find a DType by its name, but
not by an equal object of another library; convert keys by DType(). Dtypes have no
order.

Raises TypeError for an object that is not known to be a dtype, ValueError for an
unknown name and for a dtype that refarray does not have. Array API: data type
objects.)doc";

constexpr char kDTypeNumpyDoc[] =
    R"doc(The equal numpy.dtype, which is imported on first use; ml_dtypes' for bfloat16,
float8 and padded float6 and float4.

NumPy 2.4 reads it where a dtype is expected. Raises AttributeError if NumPy or
ml_dtypes is missing or has no such dtype.)doc";

constexpr char kDTypeDlpackDoc[] = R"doc(__dlpack_data_type__($self, /)
--

Return DLPack's (type code, bits, lanes): ints, the fields of DLDataType.

Whether elements are padded is not among them. tvm-ffi reads it where a dtype is
expected, and refarray of other libraries' dtypes. Proposed in dmlc/dlpack#172.)doc";

constexpr char kDTypeNameDoc[] = "The name, a str; DType(name) returns an equal DType.";

constexpr char kDTypeKindDoc[] = R"doc(The kind, a str.

'bool', 'int', 'uint', 'float', 'bfloat' or 'complex'; for a float of 8 bits or
less, the name of the scalar type.)doc";

constexpr char kDTypeCodeDoc[] = "DLPack's type code (DLDataTypeCode), an int.";

constexpr char kDTypeBitsDoc[] =
    "The bits of one scalar, an int; for a complex dtype those of both parts together.";

constexpr char kDTypeLanesDoc[] =
    "The number of scalars in one element, an int; greater than 1 for vector dtypes.";

constexpr char kDTypePaddedDoc[] =
    R"doc(Whether each element of less than a byte occupies a whole byte, in its low bits.

Otherwise such elements are packed. DLPack: IS_SUBBYTE_TYPE_PADDED.)doc";

constexpr char kDTypeItemsizeDoc[] =
    "The bytes of one element, an int, rounded up: 1 for packed elements of less than a byte.";

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

PyGetSetDef kDTypeGetters[] = {
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

Ref dtype_dlpack(PyObject* self, PyObject*) {
  const DType& dtype = value_in<DType>(self);
  return check(Py_BuildValue("(iii)", static_cast<int>(dtype.kind), static_cast<int>(dtype.bits),
                             static_cast<int>(dtype.lanes)));
}

PyMethodDef kMethodsOfDType[] = {
    {"__dlpack_data_type__", method<&dtype_dlpack>(), METH_NOARGS, kDTypeDlpackDoc},
    {"__reduce__", method<&value_reduce<DType>>(), METH_NOARGS, kValueReduceDoc},
    {"__class_getitem__", method<&class_getitem>(), METH_O | METH_CLASS, kClassGetitemDoc},
    {nullptr, nullptr, 0, nullptr},
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
  PyType_Spec spec{"refarray_strict.DType", kBasicSize<ValueObject<DType>>, 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  return compat::make_immortal(check(compat::new_type(module, &spec)));
}

}  // namespace

PyMethodDef kGenericMethods[] = {
    {"__class_getitem__", method<&class_getitem>(), METH_O | METH_CLASS, kClassGetitemDoc},
    {nullptr, nullptr, 0, nullptr},
};

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
  return make_value_type<DType, &dtype_new, &dtype_repr, &dtype_like>(
      module, "refarray.DType", kDTypeDoc, kDTypeGetters, kMethodsOfDType);
}

// --- Device.

namespace {

constexpr char kDeviceDoc[] = R"doc(Device(name)
--

The device on which an array's elements are stored. Immutable, hashable, picklable.

name: a Device or a str: 'cpu', 'cuda:1', 'rocm:0', 'cuda_managed:0', or 'cuda_host'
    and 'rocm_host' for pinned host memory, where 'cuda' means 'cuda:0' and 'hip:1'
    means 'rocm:1'; or a device of PyTorch, JAX or tvm-ffi. torch.device('cuda') means
    'cuda:0', whatever PyTorch's current device is.

Creating a Device does not check that this machine has such a device. device == x is
true if Device(x) is that device. The hash is that of the name, as str() returns it.

Raises TypeError for an object that is not known to be a device, ValueError for an
unknown name and for a device that refarray does not support. Array API: device
objects.)doc";

constexpr char kDeviceKindDoc[] =
    R"doc(The kind of memory, a str.

One of 'cpu', 'cuda', 'cuda_host', 'cuda_managed', 'rocm' and 'rocm_host'.)doc";

constexpr char kDeviceIdDoc[] =
    R"doc(The index among the devices of this kind, an int; 0 for kinds with one device.)doc";

constexpr char kDeviceDlpackDoc[] =
    R"doc(The device in DLPack's terms: a pair of ints, (device type, device id).

__dlpack_device__() of an array on this device returns the same pair.)doc";

Ref device_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const State& state = *static_cast<State*>(PyType_GetModuleState(type));  // final, so ours
  const Device device = to_device_value(state, only_argument(args, kwargs, "O:Device"));
  return type == state.device_type() ? make_device(state, device) : new_device_object(type, device);
}

Ref device_repr(PyObject* self) {
  return check(
      PyUnicode_FromFormat("refarray.Device('%s')", core::name(value_in<Device>(self)).c_str()));
}

Ref device_kind(PyObject* self, void*) {
  const std::string name = core::name(value_in<Device>(self));
  const std::string_view kind = std::string_view(name).substr(0, name.find(':'));
  return check(PyUnicode_FromStringAndSize(kind.data(), static_cast<Py_ssize_t>(kind.size())));
}

Ref device_id(PyObject* self, void*) { return check(PyLong_FromLong(value_in<Device>(self).id)); }

Ref device_dlpack(PyObject* self, void*) {
  const Device& device = value_in<Device>(self);
  return check(
      calling<Py_BuildValue>("(ii)", static_cast<int>(device.kind), static_cast<int>(device.id)));
}

PyGetSetDef kDeviceGetters[] = {
    {"kind", slot<&device_kind>, nullptr, kDeviceKindDoc, nullptr},
    {"id", slot<&device_id>, nullptr, kDeviceIdDoc, nullptr},
    {"dlpack", slot<&device_dlpack>, nullptr, kDeviceDlpackDoc, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kMethodsOfDevice[] = {
    {"__reduce__", method<&value_reduce<Device>>(), METH_NOARGS, kValueReduceDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Ref new_device_object(PyTypeObject* type, const core::Device& device) {
  return new_value_object(type, device);
}

core::Device device_value(PyObject* object) noexcept { return value_in<Device>(object); }

Ref make_strict_cpu(PyObject* module) {
  constexpr bool kHasName = false;
  const Ref type = make_value_type<Device, &device_new, &device_repr, &device_of, kHasName>(
      module, "refarray_strict.Device", kDeviceDoc, kDeviceGetters, kMethodsOfDevice);
  return compat::make_immortal(
      new_device_object(reinterpret_cast<PyTypeObject*>(type.get()), Device{}));
}

Ref make_device_type(PyObject* module) {
  return make_value_type<Device, &device_new, &device_repr, &device_like>(
      module, "refarray.Device", kDeviceDoc, kDeviceGetters, kMethodsOfDevice);
}

}  // namespace refarray::extension
