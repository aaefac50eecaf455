// Owns the extension module `adversary`: its state, its slots and the helpers its files share.
#include "module.hpp"

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
    PyTuple_SET_ITEM(out.get(), i, Ref(PyLong_FromLongLong(entries[i])).release());
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
  return reinterpret_cast<PyTypeObject*>(type.release());  // lives in the module state
}

namespace {

int execute(PyObject* module) {
  PyObject* done = guarded([&] {
    ModuleState& state = state_of(module);
    add_tensor(module, state);
    add_consumer(module, state);
    add_table(module, state);
    add_api(module, state);
    add_exporter(module, state);
    add_faults(module);
    add_flipper(module);
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
  Py_VISIT(state.exporter_type);
  return 0;
}

int clear(PyObject* module) {
  ModuleState& state = state_of(module);
  Py_CLEAR(state.tensor_type);
  Py_CLEAR(state.owned_type);
  Py_CLEAR(state.table_type);
  Py_CLEAR(state.api_type);
  Py_CLEAR(state.exporter_type);
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "adversary",
    "Malformed DLPack producers and demanding consumers, for tests.",
    sizeof(ModuleState),
    nullptr,
    slots,
    traverse,
    clear,
    nullptr,
};

}  // namespace
}  // namespace adversary

PyMODINIT_FUNC PyInit_adversary() { return PyModuleDef_Init(&adversary::definition); }
