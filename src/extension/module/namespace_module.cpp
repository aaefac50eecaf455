// Creates namespaces: the module, which holds the functions, and the state that results have.
#include <iterator>
#include <new>
#include <string>

#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/capi/compat.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/modes/namespace_functions.hpp"
#include "extension/module/module.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/device_type.hpp"
#include "extension/objects/dtype_type.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/watched_arrays.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

void free_namespace(void* module) noexcept {
  free_module(module);
  auto* const state = static_cast<State*>(PyModule_GetState(static_cast<PyObject*>(module)));
  if (state != nullptr) free_watched_arrays(*state);
}

PyModuleDef* definition() noexcept {
  // One definition per process, shared by all interpreters and immutable after the first use.
  static PyModuleDef_Slot slots[4] = {{0, nullptr}};
  static PyModuleDef module = [] {
    std::size_t at = 0;
    for (const PyModuleDef_Slot& each : compat::kConcurrencySlots) slots[at++] = each;
    PyModuleDef out{
        PyModuleDef_HEAD_INIT, "refarray._namespace", nullptr,       sizeof(State), nullptr, slots,
        traverse_module,       clear_module,          free_namespace};
    return out;
  }();
  return &module;
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

/// Functions that the modules of namespaces have besides those of the default one.
PyMethodDef kOwnFunctions[] = {
    {"_retyped", method<&retyped>(), METH_O, nullptr},
    {"_moved", method<&moved>(), METH_FASTCALL, nullptr},
    {"_allow", method<&allow>(), METH_FASTCALL, nullptr},
    {"_set_year", method<&set_year>(), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

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
  Ref module = check(calling([&] { return PyModule_FromDefAndSpec(definition(), from.spec); }));
  check(PyModule_ExecDef(module.get(), definition()));  // allocates the state
  fill(module.get(), base, from);
  return module;
}

}  // namespace

void prepare_namespaces() noexcept { PyModuleDef_Init(definition()); }

PyMethodDef kNamespaceFunctions[] = {
    {"_make_namespace", method<&make_namespace>(), METH_FASTCALL, nullptr},
    {"_by_device", method<&by_device>(), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
