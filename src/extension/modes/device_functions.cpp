// Functions of namespaces with several devices: each calls the function of the device that its
// arguments are on.
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/compat.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/modes/namespace_functions.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// The place of the object's type among the types of arrays, or -1.
Py_ssize_t place_of_type(PyObject* types, PyObject* object) noexcept {
  for (Py_ssize_t i = 0; i < compat::tuple_size(types); ++i)
    if (compat::tuple_item(types, i) == reinterpret_cast<PyObject*>(Py_TYPE(object))) return i;
  return -1;
}

/// Likewise, also of the first array in a tuple or list: those of concat() and its like. Runs no
/// user code, such as the __len__ of a subclass.
Py_ssize_t place_of(PyObject* types, PyObject* argument) {
  const bool is_list = PyList_Check(argument);
  if (!is_list && !PyTuple_Check(argument)) return place_of_type(types, argument);
  const Ref items = is_list ? check(PyList_AsTuple(argument)) : Ref::borrow(argument);
  for (Py_ssize_t i = 0; i < compat::tuple_size(items.get()); ++i) {
    const Py_ssize_t place = place_of_type(types, compat::tuple_item(items.get(), i));
    if (place >= 0) return place;
  }
  return -1;
}

/// `self` is a tuple: the types of the devices' arrays, and the functions in the same order. The
/// first device takes calls without arrays.
Ref call_by_device(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* const types = compat::tuple_item(self, 0);
  const Py_ssize_t all = nargs + (kwnames == nullptr ? 0 : compat::tuple_size(kwnames));
  Py_ssize_t place = -1;
  for (Py_ssize_t i = 0; i < all && place < 0; ++i) place = place_of(types, args[i]);
  PyObject* const function = compat::tuple_item(compat::tuple_item(self, 1), place < 0 ? 0 : place);
  return check(
      calling<PyObject_Vectorcall>(function, args, static_cast<std::size_t>(nargs), kwnames));
}

/// The definition of a function, which function objects point to: one for each name and docstring,
/// for the life of the process.
PyMethodDef* definition_of(std::string name, std::string doc) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, PyMethodDef> definitions;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] =
      definitions.try_emplace({std::move(name), std::move(doc)}, PyMethodDef{});
  if (is_new) {
    found->second = {found->first.first.c_str(), method<&call_by_device>(),
                     METH_FASTCALL | METH_KEYWORDS, found->first.second.c_str()};
  }
  return &found->second;
}

}  // namespace

Ref by_device(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  const auto is_pair = [](PyObject* object) {
    if (!PyTuple_Check(object) || PyTuple_Size(object) != 2) return false;
    PyObject* const types = compat::tuple_item(object, 0);
    PyObject* const functions = compat::tuple_item(object, 1);
    return PyTuple_Check(types) && PyTuple_Check(functions) && PyTuple_Size(types) > 0 &&
           PyTuple_Size(types) == PyTuple_Size(functions);
  };
  if (nargs != 3 || !PyUnicode_Check(args[0]) || !PyUnicode_Check(args[1]) || !is_pair(args[2]))
    core::fail(Fault::kType, "_by_device() takes a name, a docstring, types and as many functions");
  return check(PyCFunction_NewEx(definition_of(utf8(args[0]), utf8(args[1])), args[2], nullptr));
}

}  // namespace refarray::extension
