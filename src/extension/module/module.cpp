// Owns the module: putting types, functions and constants into it, its state's life, and the PEP
// 489 entry.
#include "extension/array/dtype_type.hpp"
#include "extension/array/pool.hpp"
#include "extension/array/values.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/devices/device_type.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {
namespace {

constexpr const char* kNoCopyDoc =
    "copy=False was asked for and cannot be had.\n\n"
    "Both a BufferError, as __dlpack__ must raise, and a ValueError, as asarray and reshape must "
    "(policy A-01).";

constexpr const char* kDriverErrorDoc =
    "A GPU driver's call failed, for another reason than memory (which is a MemoryError).\n\n"
    "code: the driver's number, an int. name: its name for that. call: what was being done, a str.";

void add_exception(PyObject* module, State& state) {
  const Ref bases = check(PyTuple_Pack(2, PyExc_BufferError, PyExc_ValueError));
  Ref type =
      check(PyErr_NewExceptionWithDoc("refarray.NoCopyError", kNoCopyDoc, bases.get(), nullptr));
  check(PyModule_AddObjectRef(module, "NoCopyError", type.get()));
  state.set(Slot::kNoCopyError, std::move(type));
}

void add_driver_error(PyObject* module, State& state) {
  Ref type = check(PyErr_NewExceptionWithDoc("refarray.DriverError", kDriverErrorDoc,
                                             PyExc_RuntimeError, nullptr));
  check(PyModule_AddObjectRef(module, "DriverError", type.get()));
  state.set(Slot::kDriverError, std::move(type));
}

void add_type(PyObject* module, State& state, const char* name, Slot slot, Ref type) {
  check(PyModule_AddObjectRef(module, name, type.get()));
  state.set(slot, std::move(type));
}

void add_dtypes(PyObject* module, State& state) {
  for (std::size_t row = 0; row < core::kScalars.size(); ++row) {
    const core::ScalarInfo& info = core::kScalars[row];
    Ref dtype = compat::make_immortal(
        new_dtype_object(state.dtype_type(), {info.kind, info.bits, 1, false}));
    check(PyModule_AddObjectRef(module, std::string(info.name).c_str(), dtype.get()));
    state.set_scalar_dtype(static_cast<int>(row), std::move(dtype));
  }
}

void add_functions(PyObject* module) {
  for (PyMethodDef* table :
       {kCreationFunctions, kManipulationFunctions, kBufferFunctions, kInterfaceFunctions,
        kNumpyFunctions, kExchangeFunctions, kProducerFunctions, kInspectFunctions,
        kPickleFunctions, kCopyingFunctions, kStreamFunctions, kDeviceFunctions}) {
    check(PyModule_AddFunctions(module, table));
  }
}

/// C callers (the exchange table) have no module in hand: they find it in the interpreter they run
/// in.
void remember_in_interpreter(PyObject* module) {
  check(PyDict_SetItemString(interpreter_dict(), State::kInterpreterKey, module));
}

void fill(PyObject* module) {
  static const bool settings_are_read = (read_copy_settings(), true);  // once for the process
  static_cast<void>(settings_are_read);
  State& state = *::new (PyModule_GetState(module)) State;
  state.lease = InterpreterLease::of_current_interpreter();
  state.pools_objects =
      !compat::kFreeThreading && PyInterpreterState_GetID(PyInterpreterState_Get()) == 0;
  if (state.pools_objects) object_pool.open();
  state.fill_names();
  add_exception(module, state);
  add_driver_error(module, state);
  add_type(module, state, "DType", Slot::kDTypeType, make_dtype_type(module));
  add_type(module, state, "Device", Slot::kDeviceType, make_device_type(module));
  add_type(module, state, "Array", Slot::kArrayType, make_array_type(module, state));
  state.set(Slot::kCpuDevice,
            compat::make_immortal(new_device_object(state.device_type(), core::Device{})));
  add_dtypes(module, state);
  add_functions(module);
  check(PyModule_AddStringConstant(module, "__version__", REFARRAY_VERSION));
  remember_in_interpreter(module);
}

int traverse(PyObject* module, visitproc visit, void* argument) noexcept {
  auto* state = static_cast<State*>(PyModule_GetState(module));
  return state == nullptr ? 0 : state->traverse(visit, argument);
}
int clear(PyObject* module) noexcept {
  auto* state = static_cast<State*>(PyModule_GetState(module));
  if (state != nullptr) state->clear();
  return 0;
}
void free_module(void* module) noexcept { clear(static_cast<PyObject*>(module)); }

PyModuleDef* definition() noexcept {
  // Once for the process, never changed afterwards: the interpreters share it.
  static PyModuleDef_Slot slots[4] = {{Py_mod_exec, reinterpret_cast<void*>(slot<&fill>)},
                                      {0, nullptr}};
  static PyModuleDef module = [] {
    std::size_t at = 1;
    for (const PyModuleDef_Slot& extra : compat::kConcurrencySlots) slots[at++] = extra;
    PyModuleDef out{
        PyModuleDef_HEAD_INIT,
        "refarray._native",
        "The native half of refarray; its names are public through the package refarray.",
        sizeof(State),
        nullptr,
        slots,
        traverse,
        clear,
        free_module};
    return out;
  }();
  return &module;
}

}  // namespace
}  // namespace refarray::extension

PyMODINIT_FUNC PyInit__native() {
  // Once for the process: two interpreters with a GIL each may import us at the same moment, and
  // this writes into the definition.
  static PyObject* const ready = PyModuleDef_Init(refarray::extension::definition());
  return ready;
}
