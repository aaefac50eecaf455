// Attributes of Array: shape, strides, dtype, device, T, ...
#include <utility>

#include "core/error.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

constexpr char kArrayShapeDoc[] = "The extent of each axis, a tuple of ints. Array API: shape.";

constexpr char kArrayStridesDoc[] =
    R"doc(The distance between neighbouring indices of each axis, in ELEMENTS, not bytes.

A tuple of ints, which may be zero or negative. The strides of axes of extent 1,
and all strides of an empty array, are arbitrary.)doc";

constexpr char kArrayDtypeDoc[] = "The type of the elements, a DType. Array API: dtype.";

constexpr char kArrayDeviceDoc[] = "The device of the memory, a Device. Array API: device.";

constexpr char kArrayNdimDoc[] = "The number of axes, an int from 0 to 64. Array API: ndim.";

constexpr char kArraySizeDoc[] = "The number of elements, an int; 1 if ndim is 0. Array API: size.";

constexpr char kArrayNbytesDoc[] =
    R"doc(The number of bytes of a compact copy of the elements, an int.

Packed elements of less than a byte are counted in bits and rounded up once.
Raises OverflowError if the bytes of a broadcast array do not fit 63 bits.)doc";

constexpr char kArrayItemsizeDoc[] =
    "The bytes of one element, an int, rounded up: 1 for packed elements of less than a byte.";

constexpr char kArrayReadonlyDoc[] =
    R"doc(Whether assignment through this array raises ValueError.

Views of a read-only array are read-only.)doc";

constexpr char kArrayTransposeDoc[] = R"doc(The transpose of a two-dimensional array, a view.

Raises ValueError if ndim is not 2. Array API: T.)doc";

constexpr char kArrayMatrixTransposeDoc[] =
    R"doc(The transpose of each matrix in the last two axes, a view.

Raises ValueError if ndim is less than 2. Array API: mT.)doc";

constexpr char kArrowAttributeDoc[] =
    R"doc(The method that exports a one-dimensional array to Arrow (Arrow PyCapsule interface).

Raises AttributeError for other arrays, so that consumers try another protocol: those of
another ndim, in device memory, and of a dtype that Arrow does not have.)doc";

constexpr char kArrayInterfaceDoc[] =
    R"doc(The memory as NumPy's array interface, version 3: a dict.

Its keys are shape, typestr, data (the address and whether it is read-only) and
strides, in BYTES, or None for row-major arrays. The consumer must keep this array
alive while it uses the memory. Raises AttributeError for dtypes without a typestr
(bfloat16, float8, ...), for memory of a device, virtual ones included, and with
poisoned views.)doc";

constexpr char kArrayNumpyDtypeDoc[] =
    R"doc(The dtype of the elements as a numpy.dtype: dtype.__numpy_dtype__.

NumPy 2.4 reads it where a dtype is expected.)doc";

constexpr char kArrayPriorityDoc[] =
    R"doc(A float that makes NumPy leave operators with this operand to the array.)doc";

constexpr char kCudaArrayInterfaceDoc[] =
    R"doc(The memory as the CUDA array interface, version 3: a dict.

Its keys are those of __array_interface__, and stream: the CUDA stream that the
consumer must wait for, or None. The values 1 and 2 are the legacy and the
per-thread default stream. Raises AttributeError for dtypes without a typestr, for
memory that is not CUDA memory, and with poisoned views.)doc";

Ref get_shape(PyObject* self, void*) { return make_int_tuple(view_of(self).extents()); }
Ref get_strides(PyObject* self, void*) { return make_int_tuple(view_of(self).stride_span()); }
Ref get_dtype(PyObject* self, void*) {
  return make_dtype(State::of_object(self), view_of(self).dtype);
}
Ref get_device(PyObject* self, void*) {
  return make_device(State::of_object(self), view_of(self).device());
}
Ref get_ndim(PyObject* self, void*) { return check(PyLong_FromLong(view_of(self).ndim)); }
Ref get_size(PyObject* self, void*) { return check(PyLong_FromLongLong(view_of(self).size())); }
Ref get_itemsize(PyObject* self, void*) {
  return check(PyLong_FromLong(view_of(self).dtype.itemsize()));
}
Ref get_readonly(PyObject* self, void*) {
  return check(PyBool_FromLong(!view_of(self).writable()));
}

Ref get_numpy_dtype(PyObject* self, void*) {
  return check(
      calling<PyObject_CallFunctionObjArgs>(python_function("refarray._numpy", "numpy_dtype").get(),
                                            get_dtype(self, nullptr).get(), nullptr));
}

/// NumPy's arrays and scalars leave an operator to an operand of higher priority. Those of its own
/// classes are at most 15; PyTorch's tensors have this one too.
Ref get_priority(PyObject*, void*) { return check(PyFloat_FromDouble(1000)); }

/// Checked: a broadcast array may have more bytes than int64 can count.
Ref get_nbytes(PyObject* self, void*) {
  const core::ArrayView array = view_of(self);
  return check(PyLong_FromLongLong(core::checked_nbytes(array.size(), array.dtype)));
}

/// A view with the last two axes swapped; ndim must be 2 or more.
Ref last_two_swapped(PyObject* self) {
  const core::ArrayView array = view_of(self);
  return make_array(State::of_object(self),
                    core::with_layout(array, core::last_axes_swapped(array), 0));
}

Ref get_T(PyObject* self, void*) {
  const int ndim = view_of(self).ndim;
  if (ndim == 2) return last_two_swapped(self);
  core::fail(core::Fault::kValue, "ndim is ", ndim,
             "; T is for ndim 2 only: use mT or permute_dims()");
}

Ref get_mT(PyObject* self, void*) {
  const int ndim = view_of(self).ndim;
  if (ndim >= 2) return last_two_swapped(self);
  core::fail(core::Fault::kValue, "ndim is ", ndim, "; mT is for ndim 2 or more");
}

}  // namespace

PyGetSetDef kArrayGetters[] = {
    {"shape", slot<&get_shape>, nullptr, kArrayShapeDoc, nullptr},
    {"strides", slot<&get_strides>, nullptr, kArrayStridesDoc, nullptr},
    {"dtype", slot<&get_dtype>, nullptr, kArrayDtypeDoc, nullptr},
    {"device", slot<&get_device>, nullptr, kArrayDeviceDoc, nullptr},
    {"ndim", slot<&get_ndim>, nullptr, kArrayNdimDoc, nullptr},
    {"size", slot<&get_size>, nullptr, kArraySizeDoc, nullptr},
    {"nbytes", slot<&get_nbytes>, nullptr, kArrayNbytesDoc, nullptr},
    {"itemsize", slot<&get_itemsize>, nullptr, kArrayItemsizeDoc, nullptr},
    {"readonly", slot<&get_readonly>, nullptr, kArrayReadonlyDoc, nullptr},
    {"T", slot<&get_T>, nullptr, kArrayTransposeDoc, nullptr},
    {"mT", slot<&get_mT>, nullptr, kArrayMatrixTransposeDoc, nullptr},
    {"__arrow_c_array__", slot<&arrow_method>, nullptr, kArrowAttributeDoc, nullptr},
    {"__numpy_dtype__", slot<&get_numpy_dtype>, nullptr, kArrayNumpyDtypeDoc, nullptr},
    {"__array_interface__", slot<&array_interface>, nullptr, kArrayInterfaceDoc, nullptr},
    {"__array_priority__", slot<&get_priority>, nullptr, kArrayPriorityDoc, nullptr},
    {"__cuda_array_interface__", slot<&cuda_array_interface>, nullptr, kCudaArrayInterfaceDoc,
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace refarray::extension
