// tolist(), item(), and the number protocol of arrays of ndim 0: bool, int, float, complex, index.
// Lazy namespaces have instead of them what refuses: they would have to compute.
#include <algorithm>
#include <cstdint>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr char kTolistDoc[] = R"doc(tolist($self)
--

Return the elements as nested lists, one level for each axis.

An array of ndim 0 returns its number. Elements become bool, int, float or
complex; an element with several lanes becomes a tuple. An array with equal
elements is asarray(x.tolist(), dtype=x.dtype).

Elements in device memory are first copied to the CPU, after all unfinished work
on the array. Raises MemoryError if the lists do not fit in memory; for memory
that devices use also BufferError while a graph is being captured, and
DriverError.)doc";

constexpr char kItemDoc[] = R"doc(item($self)
--

Return the element of an array of size 1, of any ndim, as a Python number.

An element with several lanes becomes a tuple. An element in device memory is
first copied to the CPU, as by tolist(). Raises ValueError if the size is not 1;
for memory that devices use also BufferError while a graph is being captured,
and DriverError.)doc";

constexpr char kFormatDoc[] = R"doc(__format__($self, format_spec, /)
--

Return the array as text.

An empty format_spec gives str(x). Any other formats the number in an array of ndim 0 as
format(x.item(), format_spec) does; TypeError for other arrays and for vector dtypes.)doc";

constexpr char kRoundDoc[] = R"doc(__round__($self, ndigits=None, /)
--

Return round(x.item(), ndigits), a Python number, of an array of ndim 0.

Raises TypeError for other arrays, and for complex and vector dtypes.)doc";

constexpr char kComplexDoc[] = R"doc(__complex__($self)
--

Return the number in an array of ndim 0 as a complex.

Raises TypeError if ndim is not 0 or the dtype has several lanes. Array API
2025.12: __complex__.)doc";

/// The number in an array of ndim 0. Throws TypeError for other arrays and for vector dtypes.
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
  core::Array owner;
  const core::ArrayView readable = read_elements(self, what, owner);
  return read_element(readable.dtype, readable.data, readable.bit);
}

/// As only_number; throws TypeError for complex dtypes too.
Ref only_real(PyObject* self, const char* what) {
  if (view_of(self).dtype.is_complex()) {
    core::fail(Fault::kType, what, " of dtype ", core::name(view_of(self).dtype),
               " is not defined: complex numbers are not real");
  }
  return only_number(self, what);
}

/// A list of null items, to be filled. Its MemoryError names the length.
Ref new_list(std::int64_t length) {
  const bool fits = std::in_range<Py_ssize_t>(length);
  Ref out = fits ? compat::new_list(static_cast<Py_ssize_t>(length)) : Ref();
  if (out) return out;
  if (fits && PyErr_ExceptionMatches(PyExc_MemoryError) == 0) throw ErrorSet{};
  compat::clear_raised();  // replaced by a message with the length
  core::fail(Fault::kMemory, "no memory for a list of ", length, " items");
}

/// The axes from `axis` on as nested lists; the first element is at bit offset `bit` from
/// array.data.
Ref to_list(const core::ArrayView& array, int axis, std::int64_t bit) {
  if (axis == array.ndim) return read_element(array.dtype, array.data, bit);
  const std::int64_t extent = array.shape[axis];
  // Overflow is possible for an empty array only, whose strides are arbitrary.
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
  core::Array owner;
  const core::ArrayView array = read_elements(self, "tolist()", owner);
  return to_list(array, 0, array.bit);
}

Ref item(PyObject* self, PyObject*) {
  const core::ArrayView array = view_of(self);
  if (array.size() != 1) {
    core::fail(Fault::kValue, "item() needs an array of exactly 1 element; this one has ",
               array.size(), ", shape ", core::shape_text(array.extents()));
  }
  core::Array owner;
  const core::ArrayView readable = read_elements(self, "item()", owner);
  return read_element(readable.dtype, readable.data, readable.bit);
}

/// An empty specification gives str(self), as Python requires.
Ref format(PyObject* self, PyObject* specification) {
  if (!PyUnicode_Check(specification))
    core::fail(Fault::kType, "a format specification must be a str, not ",
               type_name(specification));
  if (check(PyUnicode_GetLength(specification)) == 0) return check(calling<PyObject_Str>(self));
  return check(
      calling<PyObject_Format>(only_number(self, "a format specification").get(), specification));
}

Ref round(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs > 1) raise(PyExc_TypeError, "__round__() takes at most 1 argument (%zd given)", nargs);
  const Ref number = only_real(self, "round()");
  const Ref name = check(PyUnicode_InternFromString("__round__"));
  const Ref function = check(calling<PyObject_GetAttr>(number.get(), name.get()));
  if (nargs == 0 || args[0] == Py_None) return check(calling<PyObject_CallNoArgs>(function.get()));
  const Py_ssize_t digits = calling<PyNumber_AsSsize_t>(args[0], nullptr);
  if (digits == -1 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  // An int computes 10 ** -digits first, without end for large ones. No element has 400 digits.
  const Ref bounded = check(PyLong_FromSsize_t(std::max<Py_ssize_t>(digits, -400)));
  return check(calling<PyObject_CallFunctionObjArgs>(function.get(), bounded.get(), nullptr));
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
               "only an array of an integer dtype can be used as an index; this one has dtype ",
               core::name(dtype));
  }
  return only_number(self, "an index");
}

Ref array_complex(PyObject* self, PyObject*) {
  const Ref number = only_number(self, "complex()");
  const double real = PyComplex_Check(number.get()) ? PyComplex_RealAsDouble(number.get())
                                                    : check_number<PyFloat_AsDouble>(number.get());
  return check(PyComplex_FromDoubles(
      real, PyComplex_Check(number.get()) ? PyComplex_ImagAsDouble(number.get()) : 0.0));
}

PyMethodDef kElementMethods[] = {
    {"tolist", method<tolist>(), METH_NOARGS, kTolistDoc},
    {"item", method<item>(), METH_NOARGS, kItemDoc},
    {"__complex__", method<array_complex>(), METH_NOARGS, kComplexDoc},
    {"__format__", method<format>(), METH_O, kFormatDoc},
    {"__round__", method<round>(), METH_FASTCALL, kRoundDoc},
    {nullptr, nullptr, 0, nullptr},
};

// --- Of lazy namespaces.

namespace {

/// The standard's exception for implementations that do not compute at once.
[[noreturn]] void fail_lazy(PyObject* self, const char* what) {
  core::fail(core::Fault::kValue, what, " needs the elements of an array of ",
             utf8(namespace_name(State::of_object(self)).get()), ", which is lazy");
}

Ref lazy_complex(PyObject* self, PyObject*) { fail_lazy(self, "complex()"); }
Ref lazy_tolist(PyObject* self, PyObject*) { fail_lazy(self, "tolist()"); }
Ref lazy_item(PyObject* self, PyObject*) { fail_lazy(self, "item()"); }
/// An empty specification gives str(self), as Python requires.
Ref lazy_format(PyObject* self, PyObject* specification) {
  if (PyUnicode_Check(specification) && check(PyUnicode_GetLength(specification)) == 0)
    return check(calling<PyObject_Str>(self));
  fail_lazy(self, "a format specification");
}
Ref lazy_round(PyObject* self, PyObject* const*, Py_ssize_t) { fail_lazy(self, "round()"); }

}  // namespace

int lazy_truth(PyObject* self) { fail_lazy(self, "bool()"); }
Ref lazy_number(PyObject* self) { fail_lazy(self, "int(), float() or an index"); }

PyMethodDef kLazyMethods[] = {
    {"tolist", method<lazy_tolist>(), METH_NOARGS, kTolistDoc},
    {"item", method<lazy_item>(), METH_NOARGS, kItemDoc},
    {"__complex__", method<lazy_complex>(), METH_NOARGS, kComplexDoc},
    {"__format__", method<lazy_format>(), METH_O, kFormatDoc},
    {"__round__", method<lazy_round>(), METH_FASTCALL, kRoundDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
