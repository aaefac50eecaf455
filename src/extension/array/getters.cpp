// Owns the attributes of array objects.
#include <utility>

#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"

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

/// Checked, because a broadcast array may have more elements than any memory has bytes.
Ref get_nbytes(PyObject* self, void*) {
  const core::ArrayView array = view_of(self);
  return check(PyLong_FromLongLong(core::checked_nbytes(array.size(), array.dtype)));
}

/// The array with its last two axes swapped.
Ref last_two_swapped(PyObject* self) {
  const core::ArrayView array = view_of(self);
  core::Layout layout(array.extents(), array.stride_span());
  std::swap(layout.shape[layout.ndim - 1], layout.shape[layout.ndim - 2]);
  std::swap(layout.strides[layout.ndim - 1], layout.strides[layout.ndim - 2]);
  return make_array(State::of_object(self), core::with_layout(array, layout, 0));
}

Ref get_T(PyObject* self, void*) {
  const int ndim = view_of(self).ndim;
  if (ndim == 2) return last_two_swapped(self);
  core::fail(core::Fault::kValue, "ndim is ", ndim,
             "; T is for ndim 2 only: use mT or permute_dims");
}

Ref get_mT(PyObject* self, void*) {
  const int ndim = view_of(self).ndim;
  if (ndim >= 2) return last_two_swapped(self);
  core::fail(core::Fault::kValue, "ndim is ", ndim, "; mT is for ndim 2 or more");
}

}  // namespace

PyGetSetDef kArrayGetters[] = {
    {"shape", slot<&get_shape>, nullptr,
     "The extent of each axis, a tuple of ints. Array API: shape.", nullptr},
    {"strides", slot<&get_strides>, nullptr,
     "How many ELEMENTS (not bytes) lie from one index to the next along each axis, a tuple of "
     "ints; it may be zero or\n"
     "negative. On an axis of extent 1, and in an empty array, a stride means nothing.",
     nullptr},
    {"dtype", slot<&get_dtype>, nullptr, "The type of the elements, a DType. Array API: dtype.",
     nullptr},
    {"device", slot<&get_device>, nullptr, "Where the elements are, a Device. Array API: device.",
     nullptr},
    {"ndim", slot<&get_ndim>, nullptr,
     "How many axes there are, an int from 0 to 64. Array API: ndim.", nullptr},
    {"size", slot<&get_size>, nullptr,
     "How many elements there are, an int; 1 when ndim is 0. Array API: size.", nullptr},
    {"nbytes", slot<&get_nbytes>, nullptr,
     "Bytes that `size` elements take without gaps, an int: packed elements of less than a byte "
     "are counted in bits and\n"
     "rounded up once. Raises OverflowError when a broadcast array has too many.",
     nullptr},
    {"itemsize", slot<&get_itemsize>, nullptr,
     "Bytes of one element, an int, rounded up: 1 for packed elements of less than a byte.",
     nullptr},
    {"readonly", slot<&get_readonly>, nullptr,
     "Whether assignment through this array is refused. Every view of a read-only array is "
     "read-only.",
     nullptr},
    {"T", slot<&get_T>, nullptr,
     "The transpose of an array with ndim 2, a view. Raises ValueError for any other ndim. Array "
     "API: T.",
     nullptr},
    {"mT", slot<&get_mT>, nullptr,
     "Each matrix in the last two axes transposed, a view. Raises ValueError when ndim < 2. Array "
     "API: mT.",
     nullptr},
    {"__array_interface__", slot<&array_interface>, nullptr,
     "The elements as NumPy's array interface, version 3, describes them, a dict: shape, typestr, "
     "data (address and\n"
     "read-only flag), strides in BYTES or None when row-major. Whoever reads the memory must keep "
     "this array. Raises\n"
     "AttributeError for dtypes without a typestr (bfloat16, float8 ...) and for device memory.",
     nullptr},
    {"__cuda_array_interface__", slot<&cuda_array_interface>, nullptr,
     "The elements as the CUDA array interface, version 3, describes them, a dict: as "
     "__array_interface__, and stream, the\n"
     "CUDA stream (1 and 2 are the default ones) whose work the consumer has to wait for, or None. "
     "Raises AttributeError\n"
     "for dtypes without a typestr and for memory that is not CUDA's.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace refarray::extension
