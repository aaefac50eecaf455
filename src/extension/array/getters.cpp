// Attributes of Array: shape, strides, dtype, device, T, ...
#include <utility>

#include "core/error.hpp"
#include "extension/arrow/arrow_docs.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/modules.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/type_docs.hpp"

namespace refarray::extension {
namespace {

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
