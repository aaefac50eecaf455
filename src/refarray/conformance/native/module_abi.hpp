// Where the structs of the kit's objects lie, and what defines its module. With abi3t, the stable
// ABI of CPythons with and without a GIL, PyObject has no known size and PyModuleDef does not
// exist.
#pragma once

#include <Python.h>

namespace adversary {

struct ModuleParts {
  const char* name;
  const char* doc;
  Py_ssize_t state_size;
  int (*fill)(PyObject*);
  traverseproc traverse;
  inquiry clear;
};

#if defined(Py_TARGET_ABI3T)

/// The first member of the struct of an object.
struct Head {};

/// The struct of an object whose type is final.
template <class Struct>
Struct& struct_of(PyObject* object) noexcept {
  return *static_cast<Struct*>(PyObject_GetTypeData(object, Py_TYPE(object)));
}

/// PyType_Spec::basicsize: negative is what the type adds to its base.
template <class Struct>
inline constexpr int kBasicSize = -static_cast<int>(sizeof(Struct));

using Definition = PySlot;

/// What the module's entry point returns.
inline Definition* define(const ModuleParts& parts) noexcept {
  PyABIInfo_VAR(abi);
  static PySlot slots[] = {
      PySlot_PTR(Py_mod_abi, &abi),
      PySlot_PTR(Py_mod_name, const_cast<char*>(parts.name)),
      PySlot_PTR(Py_mod_doc, const_cast<char*>(parts.doc)),
      PySlot_PTR(Py_mod_state_size, parts.state_size),
      PySlot_PTR(Py_mod_exec, parts.fill),
      PySlot_PTR(Py_mod_state_traverse, parts.traverse),
      PySlot_PTR(Py_mod_state_clear, parts.clear),
      PySlot_PTR(Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED),
      PySlot_PTR(Py_mod_gil, Py_MOD_GIL_NOT_USED),
      PySlot_END,
  };
  return slots;
}

#define ADVERSARY_ENTRY_POINT(name) PyMODEXPORT_FUNC PyModExport_##name()

#else

struct Head {
  PyObject object;
};

template <class Struct>
Struct& struct_of(PyObject* object) noexcept {
  return *reinterpret_cast<Struct*>(object);
}

template <class Struct>
inline constexpr int kBasicSize = static_cast<int>(sizeof(Struct));

using Definition = PyObject;

inline Definition* define(const ModuleParts& parts) noexcept {
  static PyModuleDef_Slot slots[] = {
      {Py_mod_exec, reinterpret_cast<void*>(parts.fill)},
#ifdef Py_mod_multiple_interpreters
      {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_MOD_GIL_NOT_USED
      {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
      {0, nullptr},
  };
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT, parts.name,  parts.doc,
                                   parts.state_size,      nullptr,     slots,
                                   parts.traverse,        parts.clear, nullptr};
  static PyObject* const ready = PyModuleDef_Init(&definition);  // once: it writes to it
  return ready;
}

#define ADVERSARY_ENTRY_POINT(name) PyMODINIT_FUNC PyInit_##name()

#endif

}  // namespace adversary
