// Functions of strict namespaces that take less than those of the default one.
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/creation/creation_rows.hpp"
#include "extension/dlpack/dlpack_import.hpp"
#include "extension/modes/namespace_functions.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

constexpr FunctionRow kStrictFromDlpack{
    "from_dlpack",
    "x, /, *, device=None, copy=None",
    Category::kCreation,
    2021,
    R"doc(Import the data of any DLPack producer as an array of this namespace.

As refarray.from_dlpack(), without arguments that the standard does not have. Raises
TypeError for dtypes that it does not have.)doc",
};

Ref of_standard(PyObject* module, Ref array) {
  require_standard(State::of_module(module), view_of(array.get()).dtype);
  return array;
}

Ref strict_asarray(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return of_standard(module, asarray(module, args, nargs, kwnames));
}

Ref strict_from_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames) {
  bind<kStrictFromDlpack>(State::of_module(module), args, nargs, kwnames);
  return of_standard(module, module_from_dlpack(module, args, nargs, kwnames));
}

}  // namespace

PyMethodDef kStrictFunctions[] = {
    entry<kAsarray, &strict_asarray>(),
    entry<kStrictFromDlpack, &strict_from_dlpack>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
