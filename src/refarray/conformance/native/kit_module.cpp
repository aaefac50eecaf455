// The adversary module: definition, state and shared helpers.
#include "kit_module.hpp"

#include <array>
#include <utility>

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

std::uintptr_t to_address(PyObject* object) {
  const std::uint64_t value = to_uint64(object);
  if (!std::in_range<std::uintptr_t>(value)) fail(PyExc_OverflowError, "%R is no address", object);
  return static_cast<std::uintptr_t>(value);
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

void add_functions(PyObject* module, PyMethodDef* functions) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

const DLPackExchangeAPI& table_of_type(PyObject* type) {
  const Ref found(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  const void* table = PyCapsule_GetPointer(found.get(), kTableName);
  if (table == nullptr) throw PythonError{};
  return *static_cast<const DLPackExchangeAPI*>(table);
}

void delete_unconsumed(PyObject* capsule) noexcept {
  for (const bool versioned : {false, true}) {
    if (PyCapsule_IsValid(capsule, kNames[versioned]) == 0) continue;
    call_deleter(PyCapsule_GetPointer(capsule, kNames[versioned]), versioned);
    return;
  }
}

Predicate find_predicate(const char* name, const char* other) noexcept {
  void* found = find_symbol(name);
  if (found == nullptr && other != nullptr) found = find_symbol(other);
  return reinterpret_cast<Predicate>(found);
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
  return status_of([module] {
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
  });
}

std::array<PyTypeObject**, 6> types_of(PyObject* module) {
  ModuleState& state = state_of(module);
  return {&state.tensor_type, &state.owned_type,    &state.table_type,
          &state.api_type,    &state.stand_in_type, &state.exporter_type};
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  for (PyTypeObject** type : types_of(module)) Py_VISIT(*type);
  return 0;
}

int clear(PyObject* module) {
  for (PyTypeObject** type : types_of(module)) Py_CLEAR(*type);
  return 0;
}

}  // namespace

Definition* new_module() {
  return define({"adversary", "Malformed DLPack producers and strict consumers, for tests.",
                 sizeof(ModuleState), execute, traverse, clear});
}

}  // namespace adversary
