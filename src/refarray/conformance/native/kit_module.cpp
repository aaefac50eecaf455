// The adversary module: definition, state and shared helpers.
#include "kit_module.hpp"

namespace adversary {

std::int64_t to_int(PyObject* object, std::int64_t low, std::int64_t high) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
  if (value < low || value > high) {
    fail(PyExc_OverflowError, "%lld is outside [%lld, %lld]", value, static_cast<long long>(low),
         static_cast<long long>(high));
  }
  return value;
}

std::uint64_t to_uint64(PyObject* object) {
  const unsigned long long value = PyLong_AsUnsignedLongLong(object);
  if (value == ~0ULL && PyErr_Occurred() != nullptr) throw PythonError{};
  return value;
}

Ref shape_tuple(const std::int64_t* entries, std::int32_t count) {
  Ref out(PyTuple_New(count));
  for (std::int32_t i = 0; i < count; ++i) {
    Ref entry(PyLong_FromLongLong(entries[i]));
    if (PyTuple_SetItem(out.get(), i, entry.release()) != 0) throw PythonError{};
  }
  return out;
}

ModuleState& state_of(PyObject* module) {
  return *static_cast<ModuleState*>(PyModule_GetState(module));
}

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec) {
  Ref type(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) < 0)
    throw PythonError{};
  return reinterpret_cast<PyTypeObject*>(type.release());  // the module state owns it
}

PyObject* allocate(PyTypeObject* type) {
  PyObject* out = PyType_GenericAlloc(type, 0);
  if (out == nullptr) throw PythonError{};
  return out;
}

void release(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

namespace {

int execute(PyObject* module) {
  PyObject* done = guarded([&] {
    ModuleState& state = state_of(module);
    add_tensor(module, state);
    add_consumer(module);
    add_exit_report(module);
    add_owned(module, state);
    add_table(module, state);
    add_api(module, state);
    add_stand_in(module, state);
    add_spy_table(module);
    add_native_method(module);
    add_parts(module, state);
    return Py_None;
  });
  return done == nullptr ? -1 : 0;
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  ModuleState& state = state_of(module);
  Py_VISIT(state.tensor_type);
  Py_VISIT(state.owned_type);
  Py_VISIT(state.table_type);
  Py_VISIT(state.api_type);
  Py_VISIT(state.stand_in_type);
  Py_VISIT(state.exporter_type);
  return 0;
}

int clear(PyObject* module) {
  ModuleState& state = state_of(module);
  Py_CLEAR(state.tensor_type);
  Py_CLEAR(state.owned_type);
  Py_CLEAR(state.table_type);
  Py_CLEAR(state.api_type);
  Py_CLEAR(state.stand_in_type);
  Py_CLEAR(state.exporter_type);
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "adversary",
    "Malformed DLPack producers and strict consumers, for tests.",
    sizeof(ModuleState),
    nullptr,
    slots,
    traverse,
    clear,
    nullptr,
};

}  // namespace

PyObject* new_module() { return PyModuleDef_Init(&definition); }

}  // namespace adversary
