// Owns arrays as Python objects hold their contents: tolist, item, and bool, int, float, complex,
// index of rank 0.
#include <cstdint>

#include "core/error.hpp"
#include "extension/array/element.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/methods.hpp"
#include "extension/creation/creation.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// The only element, as a number. Throws TypeError unless there is exactly one axis-free scalar.
Ref only_number(PyObject* self, const char* what) {
  const core::ArrayView array = view_of(self);
  if (array.ndim != 0) {
    core::fail(Fault::kType, what, " needs an array of ndim 0; this one has shape ",
               core::shape_text(array.extents()), " and ", array.size(), " elements");
  }
  if (array.dtype.lanes != 1) {
    core::fail(Fault::kType, what, " needs a scalar dtype; ", core::name(array.dtype), " has ",
               int{array.dtype.lanes}, " lanes");
  }
  core::Array keeper;
  const core::ArrayView here = to_readable(array, what, keeper);
  return read_element(here.dtype, here.data, here.bit);
}

/// The same, refusing complex numbers, which have no order and no integer part.
Ref only_real(PyObject* self, const char* what) {
  if (view_of(self).dtype.is_complex()) {
    core::fail(Fault::kType, what, " of dtype ", core::name(view_of(self).dtype),
               ": complex numbers are not real");
  }
  return only_number(self, what);
}

/// A list that is yet to be filled. Its MemoryError says how long a list it was about.
Ref new_list(std::int64_t length) {
  Ref out = compat::new_list(static_cast<Py_ssize_t>(length));
  if (out) return out;
  if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) throw ErrorSet{};
  PyErr_Clear();  // said in our words
  core::fail(Fault::kMemory, "no memory for a list of ", length, " items");
}

/// Elements from `axis` on, `bit` bits after the array's first byte, as nested lists.
Ref to_list(const core::ArrayView& array, int axis, std::int64_t bit) {
  if (axis == array.ndim) return read_element(array.dtype, array.data, bit);
  const std::int64_t extent = array.shape[axis];
  // Wraps for an empty array only.
  const std::int64_t step = core::wrapped_product(array.strides[axis], array.dtype.stored_bits());
  Ref out = new_list(extent);
  for_each_index(extent, [&](std::int64_t i) {
    Ref item = to_list(array, axis + 1, bit);
    check(PyList_SetItem(out.get(), static_cast<Py_ssize_t>(i), item.release()));
    bit = core::wrapped_sum(bit, step);
  });
  return out;
}

Ref tolist(PyObject* self, PyObject*) {
  core::Array keeper;
  const core::ArrayView array = to_readable(view_of(self), "tolist()", keeper);
  return to_list(array, 0, array.bit);
}

Ref item(PyObject* self, PyObject*) {
  const core::ArrayView array = view_of(self);
  if (array.size() != 1) {
    core::fail(Fault::kValue, "item() needs an array of exactly 1 element; this one has ",
               array.size(), ", shape ", core::shape_text(array.extents()));
  }
  core::Array keeper;
  const core::ArrayView here = to_readable(array, "item()", keeper);
  return read_element(here.dtype, here.data, here.bit);
}

}  // namespace

int array_truth(PyObject* self) {
  return check(PyObject_IsTrue(only_number(self, "bool()").get()));
}

Ref array_int(PyObject* self) { return check(PyNumber_Long(only_real(self, "int()").get())); }

Ref array_float(PyObject* self) {
  return check(calling<PyNumber_Float>(only_real(self, "float()").get()));
}

Ref array_index(PyObject* self) {
  const core::DType dtype = view_of(self).dtype;
  if (dtype.kind != core::Kind::kInt && dtype.kind != core::Kind::kUInt) {
    core::fail(Fault::kType,
               "only arrays of an integer dtype can be used as an index; this one is of ",
               core::name(dtype));
  }
  return only_number(self, "an index");
}

Ref array_complex(PyObject* self, PyObject*) {
  const Ref number = only_number(self, "complex()");
  const double real = PyComplex_Check(number.get()) ? PyComplex_RealAsDouble(number.get())
                                                    : PyFloat_AsDouble(number.get());
  return check(PyComplex_FromDoubles(
      real, PyComplex_Check(number.get()) ? PyComplex_ImagAsDouble(number.get()) : 0.0));
}

PyMethodDef kElementMethods[] = {
    {"tolist", method<tolist>(), METH_NOARGS,
     "tolist($self)\n--\n\n"
     "The elements as nested lists, one level per axis; of an array of ndim 0, the number "
     "itself.\n\n"
     "bool becomes bool, integers int, every float float, complex complex; an element of several "
     "lanes a tuple.\n"
     "asarray(x.tolist(), dtype=x.dtype) has equal elements. Of memory on a device a copy is "
     "made first, behind all\n"
     "unfinished work on it. Raises MemoryError when the lists do not fit; of memory that devices "
     "use also BufferError\n"
     "while a graph is captured, and DriverError."},
    {"item", method<item>(), METH_NOARGS,
     "item($self)\n--\n\n"
     "The only element as a Python number, whatever ndim is; a tuple when the dtype has several "
     "lanes.\n\n"
     "Of memory on a device it is copied first, as tolist() does. Raises ValueError, naming the "
     "size, unless there is\n"
     "exactly one element; of memory that devices use also BufferError while a graph is captured, "
     "and DriverError."},
    {"__complex__", method<array_complex>(), METH_NOARGS,
     "__complex__($self)\n--\n\n"
     "The number of an array of ndim 0 as a complex (array API 2025.12, __complex__).\n\n"
     "Raises TypeError, naming shape and size, when ndim is not 0 or the dtype has several lanes."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
