// Creates namespaces: the module, which holds the functions, and the state that results have.
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copy_functions.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/dlpack/dlpack_import.hpp"
#include "extension/module/module.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/value_types.hpp"
#include "extension/objects/watched_arrays.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

void free_namespace(void* module) noexcept {
  free_module(module);
  auto* const state = static_cast<State*>(PyModule_GetState(static_cast<PyObject*>(module)));
  if (state != nullptr) free_watched_arrays(*state);
}

ModuleDefinition& definition() noexcept {
  static ModuleDefinition module(
      {"refarray._namespace", nullptr, nullptr, traverse_module, clear_module, free_namespace});
  return module;
}

struct Arguments {
  PyObject* spec;    // an object with the attribute `name`
  PyObject* object;  // what __array_namespace__() returns
  Modes modes;
  PyObject* device;  // what x.device returns, or None for the CPU
};

/// From a tuple of bools in the order of the fields.
Modes to_modes(PyObject* tuple) {
  constexpr Py_ssize_t kFields = 8;
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != kFields)
    core::fail(Fault::kType, "the modes must be a tuple of ", kFields, " bools");
  const auto field = [tuple](Py_ssize_t i) { return PyTuple_GetItem(tuple, i) == Py_True; };
  return {field(0), field(1), field(2), field(3), field(4), field(5), field(6), field(7)};
}

/// An alias of an array of another namespace as one of the module's.
Ref retyped(PyObject* module, PyObject* array) {
  if (!is_any_array(array))
    core::fail(Fault::kType, "_retyped() takes an array, not ", type_name(array));
  return alias_array(State::of_module(module), array);
}

/// Changes whether the namespace has indexing by masks, and functions whose results have shapes
/// that depend on elements.
Ref allow(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2 || !PyBool_Check(args[0]) || !PyBool_Check(args[1]))
    core::fail(Fault::kType, "_allow() takes two bools");
  Modes& modes = State::of_module(module).modes;
  modes.without_masks = args[0] == Py_False;
  modes.without_counting = args[1] == Py_False;
  return Ref::borrow(Py_None);
}

/// Takes the year of the version whose arrays the namespace has, if it is strict.
Ref set_year(PyObject* module, PyObject* year) {
  const long value = check_number<PyLong_AsLong>(year);
  Modes& modes = State::of_module(module).modes;
  modes.without_index_arrays = modes.strict && value < 2024;
  modes.without_dlpack_keywords = modes.strict && value < 2023;
  return Ref::borrow(Py_None);
}

/// _moved(array, dtype): a copy of an array of another device of the namespace, as one of the
/// module's; with dtype None of the array's dtype.
Ref moved(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2 || !is_any_array(args[0]))
    core::fail(Fault::kType, "_moved() takes an array and a dtype or None");
  const State& state = State::of_module(module);
  const core::ArrayView view = view_of(args[0]);
  const core::DType dtype = to_dtype_or(state, args[1], view.dtype);
  require_convertible(view.dtype, dtype);
  const bool with_host = !state.modes.off_host || !is_off_host(args[0]);
  note_transfer(core::nbytes_of(view.size(), dtype), with_host);
  return make_array(state, working_copy(view, dtype));
}

/// Functions that the modules of namespaces have besides those of the default one.
PyMethodDef kOwnFunctions[] = {
    {"_retyped", method<&retyped>(), METH_O, nullptr},
    {"_moved", method<&moved>(), METH_FASTCALL, nullptr},
    {"_allow", method<&allow>(), METH_FASTCALL, nullptr},
    {"_set_year", method<&set_year>(), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// --- Functions of strict namespaces, which take less than those of the default one.

constexpr FunctionRow kStrictFromDlpack{
    "from_dlpack",
    "x, /, *, device=None, copy=None",
    Category::kCreation,
    2021,
    R"doc(Import the data of any DLPack producer as an array of this namespace.

As refarray.from_dlpack(), without arguments that the standard does not have. Raises
TypeError for dtypes that it does not have.)doc",
};

Ref of_standard(const State& state, Ref array) {
  require_standard(state, view_of(array.get()).dtype);
  return array;
}

Ref strict_asarray(State& state, const Given<kAsarray>& given) {
  return of_standard(state, asarray(state, given));
}

Ref strict_from_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames) {
  const State& state = State::of_module(module);
  bind<kStrictFromDlpack>(state, args, nargs, kwnames);
  return of_standard(state, module_from_dlpack(module, args, nargs, kwnames));
}

PyMethodDef kStrictFunctions[] = {
    entry<kAsarray, &strict_asarray>(),
    entry<kStrictFromDlpack, &strict_from_dlpack>(),
    {nullptr, nullptr, 0, nullptr},
};

// --- Functions of namespaces with several devices: each calls the function of the device that its
// arguments are on.

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

/// _by_device(name, docstring, (types, functions)): a function that calls the one of the array type
/// that the arguments have. The tuple is its __self__.
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

// --- The state.

/// Gives the state the dtypes of strict namespaces, and the module those of the standard.
void take_strict_dtypes(PyObject* module, State& state, PyObject* base) {
  const State& shared = State::of_module(base);
  PyObject* dtypes = shared.get(Slot::kStrictDtypes);
  if (dtypes == nullptr) dtypes = shared.set_once(Slot::kStrictDtypes, make_strict_dtypes(base));
  for (int row = 0; row < static_cast<int>(core::kScalars.size()); ++row) {
    const auto type = static_cast<core::ScalarType>(row);
    PyObject* const dtype = compat::tuple_item(dtypes, row);
    state.set_scalar_dtype(type, Ref::borrow(dtype));
    if (is_standard(type)) {
      const std::string name(core::info_of(type).name);
      check(PyModule_AddObjectRef(module, name.c_str(), dtype));
    }
  }
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(compat::tuple_item(dtypes, 0)));
  state.set(Slot::kDTypeType, Ref::borrow(type));
}

/// Gives the state the device type of strict namespaces.
void take_strict_device(State& state, PyObject* base) {
  const State& shared = State::of_module(base);
  PyObject* cpu = shared.get(Slot::kStrictDevice);
  if (cpu == nullptr) cpu = shared.set_once(Slot::kStrictDevice, make_strict_cpu(base));
  state.set(Slot::kCpuDevice, Ref::borrow(cpu));
  state.set(Slot::kDeviceType, Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(cpu))));
}

/// Fills the state of a new module from that of the default namespace.
void fill(PyObject* module, PyObject* base, const Arguments& from) {
  State& state = *::new (PyModule_GetState(module)) State;
  state.lease = InterpreterLease::of_current_interpreter();
  state.modes = from.modes;
  if (from.modes.poison_views)
    watch_arrays(state);
  else
    open_object_pool(state);
  if (from.modes.immutable) state.object_bits |= ObjectBits::kReadonly;
  if (from.modes.off_host) state.object_bits |= ObjectBits::kOffHost;
  state.share_from(State::of_module(base));
  if (from.modes.strict) {
    take_strict_dtypes(module, state, base);
    take_strict_device(state, base);
  }
  state.set(Slot::kNamespace, Ref::borrow(from.object));
  state.set(Slot::kBase, Ref::borrow(base));
  Ref type = make_array_type(module, state);
  check(PyModule_AddObjectRef(module, "Array", type.get()));
  state.set(Slot::kArrayType, std::move(type));
  if (from.device != Py_None) state.set(Slot::kCpuDevice, Ref::borrow(from.device));
  add_functions(module);
  check(PyModule_AddFunctions(module, kOwnFunctions));
  if (from.modes.strict) check(PyModule_AddFunctions(module, kStrictFunctions));
}

Ref make_namespace(PyObject* base, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 4) core::fail(Fault::kType, "_make_namespace() takes 4 arguments");
  const Arguments from{args[0], args[1], to_modes(args[2]), args[3]};
  Ref module = definition().make(from.spec);
  fill(module.get(), base, from);
  return module;
}

}  // namespace

PyMethodDef kNamespaceFunctions[] = {
    {"_make_namespace", method<&make_namespace>(), METH_FASTCALL, nullptr},
    {"_by_device", method<&by_device>(), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
