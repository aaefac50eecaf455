// Owns the methods that give an array to NumPy, whose work is done in Python, and the view with
// another dtype that this needs.
#include "core/error.hpp"
#include "extension/array/manipulation.hpp"
#include "extension/array/object.hpp"
#include "extension/array/values.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"

namespace refarray::extension {
namespace {

constexpr Signature<2> kArrayMethod{"__array__", {Key::kDtype, Key::kCopy}, 2, 0, 0};
constexpr Signature<2> kReinterpret{"_reinterpret", {Key::kX, Key::kDtype}, 2, 2, 2};

/// The half in Python, imported when somebody wants NumPy for the first time.
Ref in_python(const char* function) {
  const Ref module = check(calling<PyImport_ImportModule>("refarray._numpy"));
  return check(PyObject_GetAttrString(module.get(), function));
}

Ref array_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const auto [dtype, copy] = bind(kArrayMethod, State::of_object(self), args, nargs, kwnames);
  return check(calling<PyObject_CallFunctionObjArgs>(in_python("array").get(), self,
                                                     is_given(dtype) ? dtype : Py_None,
                                                     is_given(copy) ? copy : Py_None, nullptr));
}

Ref numpy_method(PyObject* self, PyObject*) {
  return check(calling<PyObject_CallFunctionObjArgs>(in_python("to_numpy").get(), self, nullptr));
}

/// The same bytes as elements of another dtype of the same size.
Ref reinterpret(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, dtype_argument] = bind(kReinterpret, state, args, nargs, kwnames);
  const core::ArrayView array = to_view(state, x, kReinterpret.function);
  const core::DType dtype = to_dtype(state, dtype_argument);
  if (dtype.stored_bits() != array.dtype.stored_bits()) {
    core::fail(core::Fault::kValue, "elements of ", core::name(array.dtype), " take ",
               array.dtype.stored_bits(), " bits, those of ", core::name(dtype), " ",
               dtype.stored_bits());
  }
  core::ArrayView as_other = array;
  as_other.dtype = dtype;
  return make_array(state, as_other, core::StoragePtr::share(array.storage));
}

}  // namespace

PyMethodDef kNumpyMethods[] = {
    {"__array__", method<&array_method>(), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\n"
     "The array as a numpy.ndarray, as NumPy 2 asks for it.\n\n"
     "dtype: of the result; None is the array's own (ml_dtypes' for bfloat16, float8 and padded "
     "float6 and float4).\n"
     "copy: True always copies, False never does, None copies only for another dtype.\n\n"
     "A result that was not copied shares the memory, keeps it alive, and is read-only where the "
     "array is. Raises\n"
     "NoCopyError, a ValueError, for an impossible copy=False, TypeError for elements that NumPy "
     "has no dtype for and for\n"
     "device memory, ImportError without NumPy or ml_dtypes."},
    {"numpy", method<&numpy_method>(), METH_NOARGS,
     "numpy($self, /)\n--\n\n"
     "A numpy.ndarray over the same memory, never a copy.\n\n"
     "It keeps the memory alive and is read-only where the array is. Elements of bfloat16, float8 "
     "and padded float6 and\n"
     "float4 get ml_dtypes' dtypes. Raises TypeError for elements that NumPy has no dtype for "
     "(complex32, vectors,\n"
     "packed ones) and for device memory, ImportError without NumPy or ml_dtypes."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kNumpyFunctions[] = {
    {"_reinterpret", method<&reinterpret>(), METH_FASTCALL | METH_KEYWORDS,
     "_reinterpret($module, x, dtype, /)\n--\n\n"
     "A view of x whose bytes are read as elements of another dtype of the same size."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
