// Implements the conversions between Python objects and core values, and their error messages.
#include "extension/objects/conversions.hpp"

#include <string>

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/value_types.hpp"

namespace refarray::extension {
namespace {

[[noreturn, gnu::cold]] void fail_wrong_type(PyObject* object, const char* what,
                                             const char* wanted) {
  core::fail(core::Fault::kType, what, " must be ", wanted, ", not ", type_name(object));
}

/// `number` must be an int.
std::int64_t int_value(PyObject* number, const char* what) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);  // an int: cannot fail
  if (overflow != 0) {
    core::fail(core::Fault::kOverflow, what, " is ", short_repr(number),
               "; the range is int64, [-2**63, 2**63)");
  }
  return value;
}

Integers one_integer(std::int64_t value) {
  Integers out;
  out.values[out.count++] = value;
  return out;
}

Integers from_sequence(PyObject* sequence, const char* what) {
  const Py_ssize_t count = check(calling<PySequence_Size>(sequence));
  if (count > core::kMaxRank) {
    core::fail(core::Fault::kValue, what, " has ", count, " entries; the limit is ",
               core::kMaxRank);
  }
  Integers out;
  for (Py_ssize_t i = 0; i < count; ++i) {
    // Raises IndexError if an __index__ of an earlier item has shortened the list.
    const Ref item = check(calling<PySequence_GetItem>(sequence, i));
    if (!PyIndex_Check(item.get())) {
      core::fail(core::Fault::kType, what, "[", i, "] must be an integer, not ",
                 type_name(item.get()));
    }
    out.values[out.count++] = to_int64(item.get(), what);
  }
  return out;
}

/// Whether the object is a sequence other than text and bytes.
bool is_integer_sequence(PyObject* object) noexcept {
  return PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
         !PyByteArray_Check(object);
}

constexpr const char* kDtypeWanted =
    "a refarray.DType, its name, bool, int, float or complex, or a dtype of NumPy, ml_dtypes, "
    "PyTorch or JAX";
constexpr const char* kDeviceWanted =
    "a refarray.Device, its name, or a device of PyTorch, JAX or tvm-ffi";

/// The name that `function` of refarray._aliases, which `slot` caches, finds for an object that is
/// not ours: an alias, or a type or object of another library. Nothing for an unknown object.
/// Throws ErrorSet, with a ValueError for what refarray does not have.
std::optional<std::string> foreign_name(const State& state, Slot slot, const char* function,
                                        PyObject* object) {
  if (object == Py_None) return std::nullopt;
  PyObject* find = state.get(slot);
  if (find == nullptr) find = state.set_once(slot, python_function("refarray._aliases", function));
  const Ref name = check(calling<PyObject_CallFunctionObjArgs>(find, object, nullptr));
  if (name.get() == Py_None) return std::nullopt;
  return utf8(name.get());
}

std::optional<core::DType> named_dtype(const State& state, PyObject* object) {
  if (PyUnicode_Check(object)) {
    if (const auto dtype = core::dtype_from_name(utf8(object))) return dtype;
  }
  const auto name = foreign_name(state, Slot::kDtypeName, "dtype_name", object);
  return name ? core::dtype_from_name(*name) : std::nullopt;
}

std::optional<core::Device> named_device(const State& state, PyObject* object) {
  if (PyUnicode_Check(object)) {
    if (const auto device = core::device_from_name(utf8(object))) return device;
  }
  const auto name = foreign_name(state, Slot::kDeviceName, "device_name", object);
  return name ? core::device_from_name(*name) : std::nullopt;
}

bool is_strict_dtype(const State& state, PyObject* object) noexcept {
  PyObject* const dtypes = default_state(state).get(Slot::kStrictDtypes);
  return dtypes != nullptr && Py_TYPE(object) == Py_TYPE(compat::tuple_item(dtypes, 0));
}

std::optional<core::DType> builtin_dtype(PyObject* object) noexcept {
  const auto is = [object](PyTypeObject& type) {
    return object == reinterpret_cast<PyObject*>(&type);
  };
  if (is(PyFloat_Type)) return core::DType{core::Kind::kFloat, 64};
  if (is(PyLong_Type)) return core::DType{core::Kind::kInt, 64};
  if (is(PyBool_Type)) return core::DType{core::Kind::kBool, 8};
  if (is(PyComplex_Type)) return core::DType{core::Kind::kComplex, 128};
  return std::nullopt;
}

/// What `convert` returns; nothing if it raises ValueError, which is cleared.
template <class Convert>
auto unless_refused(Convert convert) -> decltype(convert()) {
  try {  // boundary: a comparison with something else is false, not an error
    return convert();
  } catch (const ErrorSet&) {
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw;
    compat::clear_raised();
    return std::nullopt;
  }
}

}  // namespace

std::int64_t to_int64(PyObject* object, const char* what) {
  if (PyLong_CheckExact(object)) return int_value(object, what);
  if (!PyIndex_Check(object)) fail_wrong_type(object, what, "an integer");
  return int_value(check(calling<PyNumber_Index>(object)).get(), what);
}

Integers to_integers(PyObject* object, const char* what) {
  if (PyTuple_Check(object) || PyList_Check(object)) return from_sequence(object, what);
  const bool sequence = is_integer_sequence(object);
  // Arrays define both __index__ and __getitem__: one whose __index__ raises TypeError is a
  // sequence.
  if (PyIndex_Check(object)) {
    const Ref number = Ref::steal(calling<PyNumber_Index>(object));
    if (number) return one_integer(int_value(number.get(), what));
    if (!sequence || PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw ErrorSet{};
    compat::clear_raised();
  }
  if (!sequence) fail_wrong_type(object, what, "an integer or a sequence of integers");
  return from_sequence(object, what);
}

Integers to_integers(const State& state, PyObject* object, const char* what) {
  if (state.modes.strict && !PyTuple_Check(object) && !PyIndex_Check(object))
    fail_wrong_type(object, what, "an integer or a tuple of integers");
  return to_integers(object, what);
}

void require_tuple(PyObject* object, const char* what) {
  if (!PyTuple_Check(object)) fail_wrong_type(object, what, "a tuple");
}

Integers to_shape(PyObject* object) {
  const Integers out = to_integers(object, "shape");
  for (int i = 0; i < out.count; ++i) {
    if (out.values[i] >= 0) continue;
    core::fail(core::Fault::kValue, "shape is ", core::shape_text(out.span()),
               ": the extent of axis ", i, " is ", out.values[i], "; the minimum is 0");
  }
  return out;
}

core::DType to_dtype(const State& state, PyObject* object) {
  if (Py_TYPE(object) == state.dtype_type()) {
    const core::DType dtype = dtype_value(object);
    if (state.modes.strict) [[unlikely]]
      require_standard(state, dtype);
    return dtype;
  }
  if (state.modes.strict) {
    const State& base = default_state(state);
    if (Py_TYPE(object) == base.dtype_type()) require_standard(state, dtype_value(object));
    fail_wrong_type(object, "dtype", "a dtype of the namespace, which is strict");
  }
  if (is_strict_dtype(state, object)) return dtype_value(object);
  if (const auto dtype = builtin_dtype(object)) return *dtype;
  if (const auto dtype = named_dtype(state, object)) return *dtype;
  if (PyUnicode_Check(object)) {
    core::fail(core::Fault::kValue, "no dtype is named ", short_repr(object),
               "; valid names look like 'float32', 'f4', 'float32x4', 'float4_e2m1fn_padded'");
  }
  if (PyType_Check(object)) {
    const Ref name = check(PyType_GetQualName(reinterpret_cast<PyTypeObject*>(object)));
    core::fail(core::Fault::kType, "dtype must be ", kDtypeWanted, ", not the type ",
               utf8(name.get()));
  }
  fail_wrong_type(object, "dtype", kDtypeWanted);
}

std::optional<core::Device> device_of(const State& state, PyObject* object) noexcept {
  const State& base = default_state(state);
  PyObject* const strict = base.get(Slot::kStrictDevice);
  if (Py_TYPE(object) == base.device_type() ||
      (strict != nullptr && Py_TYPE(object) == Py_TYPE(strict)))
    return device_value(object);
  return std::nullopt;
}

core::Device to_device_value(const State& state, PyObject* object) {
  if (const auto device = device_of(state, object)) return *device;
  if (state.modes.strict) fail_wrong_type(object, "device", "a refarray.Device");
  if (const auto device = named_device(state, object)) return *device;
  if (!PyUnicode_Check(object)) fail_wrong_type(object, "device", kDeviceWanted);
  core::fail(core::Fault::kValue, "no device is named ", short_repr(object),
             "; valid names are 'cpu', 'cuda_host', 'rocm_host', and 'cuda:N', 'rocm:N', "
             "'cuda_managed:N' for device number N");
}

std::optional<core::DType> dtype_like(const State& state, PyObject* object) {
  if (Py_TYPE(object) == state.dtype_type()) return dtype_value(object);
  if (const auto dtype = builtin_dtype(object)) return dtype;
  return unless_refused([&state, object] { return named_dtype(state, object); });
}

std::optional<core::Device> device_like(const State& state, PyObject* object) {
  if (const auto device = device_of(state, object)) return device;
  return unless_refused([&state, object] { return named_device(state, object); });
}

core::DType to_dtype_or(const State& state, PyObject* object, const core::DType& fallback) {
  return is_given(object) ? to_dtype(state, object) : fallback;
}

core::Device to_device_or(const State& state, PyObject* object, const core::Device& fallback) {
  return is_given(object) ? to_device_value(state, object) : fallback;
}

core::ArrayView to_view(const State& state, PyObject* x, const char* function) {
  if (is_array(state, x)) return view_of(x);
  refuse_other_namespace(state, x);
  core::fail(core::Fault::kType, function, "() takes a refarray.Array, not ", type_name(x),
             "; asarray() and from_dlpack() make one");
}

Ref make_dtype(const State& state, const core::DType& dtype) {
  const core::ScalarType type = dtype.scalar();
  if (type != core::ScalarType::kNone && dtype.lanes == 1 && !dtype.padded) [[likely]]
    return Ref::borrow(state.scalar_dtype(type));
  return new_dtype_object(state.dtype_type(), dtype);
}

Ref make_device(const State& state, const core::Device& device) {
  if (device == core::Device{}) [[likely]]
    return Ref::borrow(state.get(Slot::kCpuDevice));
  return new_device_object(state.device_type(), device);
}

Ref make_int_tuple(core::Extents values) {
  Ref out = check(calling<PyTuple_New>(static_cast<Py_ssize_t>(values.size())));
  for (std::size_t i = 0; i < values.size(); ++i) {
    check(PyTuple_SetItem(out.get(), static_cast<Py_ssize_t>(i),
                          check(PyLong_FromLongLong(values[i])).release()));
  }
  return out;
}

}  // namespace refarray::extension
