// Array.__array__() and Array.numpy(), which are implemented in refarray._numpy.
#include "extension/capi/args.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

constexpr char kArrayMethodDoc[] = R"doc(__array__($self, /, dtype=None, copy=None)
--

Return the array as a numpy.ndarray (NumPy 2's array protocol).

dtype: the dtype of the result. None keeps the array's own: the dtypes of ml_dtypes for
    bfloat16, complex32, float8 and padded float6 and float4.
copy: True always copies, False never does, None copies only to convert the dtype.

A result that is not a copy shares the memory, keeps it alive, and is read-only if the
array is.

Raises NoCopyError, a ValueError, if copy=False is impossible; TypeError for dtypes that
NumPy does not have and for device memory; ImportError without NumPy or ml_dtypes.)doc";

constexpr char kNumpyMethodDoc[] = R"doc(numpy($self, /)
--

Return a numpy.ndarray that shares the array's memory. Never copies.

The result keeps the memory alive and is read-only if the array is. Elements of
bfloat16, float8 and padded float6 and float4 get the dtypes of ml_dtypes.

Raises TypeError for dtypes that NumPy does not have (complex32, vectors, packed
elements) and for device memory; ImportError without NumPy or ml_dtypes.)doc";

constexpr Signature<2> kArrayMethod{"__array__", {Key::kDtype, Key::kCopy}, 2, 0, 0};

constexpr const char* kModule = "refarray._numpy";

/// The array itself if it has the attributes that refarray._numpy uses.
Ref open_array(PyObject* self) {
  return State::of_object(self).modes.strict ? as_default_array(self) : Ref::borrow(self);
}

Ref array_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const auto [dtype, copy] = bind(kArrayMethod, State::of_object(self), args, nargs, kwnames);
  require_sharing(self, sharing::kArrayMethod);
  return check(calling<PyObject_CallFunctionObjArgs>(
      python_function(kModule, "array").get(), open_array(self).get(),
      is_given(dtype) ? dtype : Py_None, is_given(copy) ? copy : Py_None, nullptr));
}

Ref numpy_method(PyObject* self, PyObject*) {
  require_sharing(self, sharing::kNumpyMethod);
  return check(calling<PyObject_CallFunctionObjArgs>(python_function(kModule, "to_numpy").get(),
                                                     self, nullptr));
}

}  // namespace

PyMethodDef kNumpyMethods[] = {
    {"__array__", method<&array_method>(), METH_FASTCALL | METH_KEYWORDS, kArrayMethodDoc},
    {"numpy", method<&numpy_method>(), METH_NOARGS, kNumpyMethodDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
