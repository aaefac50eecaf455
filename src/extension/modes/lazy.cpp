// Conversions of elements to Python objects, which lazy namespaces refuse: they would have to
// compute.
#include "core/error.hpp"
#include "extension/array/array_docs.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
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
