// Array.__array__() and Array.numpy(), which are implemented in refarray._numpy, and the dtype view
// that they need.
#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/interop/docstrings.hpp"

namespace refarray::extension {
namespace {

constexpr Signature<2> kArrayMethod{"__array__", {Key::kDtype, Key::kCopy}, 2, 0, 0};
constexpr Signature<2> kReinterpret{"_reinterpret", {Key::kX, Key::kDtype}, 2, 2, 2};

/// A function of refarray._numpy, which is imported on first use.
Ref python_function(const char* function) {
  const Ref module = check(calling<PyImport_ImportModule>("refarray._numpy"));
  return check(PyObject_GetAttrString(module.get(), function));
}

Ref array_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const auto [dtype, copy] = bind(kArrayMethod, State::of_object(self), args, nargs, kwnames);
  return check(calling<PyObject_CallFunctionObjArgs>(python_function("array").get(), self,
                                                     is_given(dtype) ? dtype : Py_None,
                                                     is_given(copy) ? copy : Py_None, nullptr));
}

Ref numpy_method(PyObject* self, PyObject*) {
  return check(
      calling<PyObject_CallFunctionObjArgs>(python_function("to_numpy").get(), self, nullptr));
}

/// A view of the same bytes with another dtype of the same size.
Ref reinterpret(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, dtype_argument] = bind(kReinterpret, state, args, nargs, kwnames);
  const core::ArrayView array = to_view(state, x, kReinterpret.function);
  const core::DType dtype = to_dtype(state, dtype_argument);
  if (dtype.stored_bits() != array.dtype.stored_bits()) {
    core::fail(core::Fault::kValue, "cannot reinterpret ", core::name(array.dtype), " (",
               array.dtype.stored_bits(), " bits) as ", core::name(dtype), " (",
               dtype.stored_bits(), " bits): the sizes differ");
  }
  core::ArrayView as_other = array;
  as_other.dtype = dtype;
  return make_array(state, as_other, core::StoragePtr::share(array.storage));
}

}  // namespace

PyMethodDef kNumpyMethods[] = {
    {"__array__", method<&array_method>(), METH_FASTCALL | METH_KEYWORDS, kArrayMethodDoc},
    {"numpy", method<&numpy_method>(), METH_NOARGS, kNumpyMethodDoc},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kNumpyFunctions[] = {
    {"_reinterpret", method<&reinterpret>(), METH_FASTCALL | METH_KEYWORDS, kReinterpretDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
