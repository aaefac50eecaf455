// The definition of a module with a State: a PyModuleDef, or with abi3t, which has none, slots.
#pragma once

#include <array>

#include "extension/capi/compat.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

struct ModuleParts {
  const char* name;
  const char* doc;         // or nullptr
  int (*fill)(PyObject*);  // or nullptr
  traverseproc traverse;
  inquiry clear;
  freefunc free;
};

#if defined(Py_TARGET_ABI3T)

/// One per module and process, immutable.
class ModuleDefinition {
 public:
  explicit ModuleDefinition(const ModuleParts& parts) noexcept {
    PyABIInfo_VAR(abi);
    auto at = slots_.begin();
    const auto add = [&at](int slot, auto value) {
      *at++ = PySlot_PTR(static_cast<std::uint16_t>(slot), value);
    };
    add(Py_mod_abi, &abi);
    add(Py_mod_name, const_cast<char*>(parts.name));
    if (parts.doc != nullptr) add(Py_mod_doc, const_cast<char*>(parts.doc));
    add(Py_mod_state_size, sizeof(State));
    add(Py_mod_state_traverse, parts.traverse);
    add(Py_mod_state_clear, parts.clear);
    add(Py_mod_state_free, parts.free);
    if (parts.fill != nullptr) add(Py_mod_exec, parts.fill);
    for (const PyModuleDef_Slot& each : compat::kConcurrencySlots) {
      if (each.slot != 0) add(each.slot, each.value);
    }
  }

  /// What the module's entry point returns.
  PySlot* entry() noexcept { return slots_.data(); }

  /// A new module of `spec`, filled.
  Ref make(PyObject* spec) {
    Ref module = check(calling([&] { return PyModule_FromSlotsAndSpec(entry(), spec); }));
    check(PyModule_Exec(module.get()));  // allocates the state
    return module;
  }

 private:
  std::array<PySlot, 12> slots_{};
};

#define REFARRAY_ENTRY_POINT(name) PyMODEXPORT_FUNC PyModExport_##name()

#else

/// One per module and process, shared by all interpreters and immutable once it is made:
/// PyModuleDef_Init() writes to it.
class ModuleDefinition {
 public:
  explicit ModuleDefinition(const ModuleParts& parts) noexcept
      : definition_{PyModuleDef_HEAD_INIT, parts.name,     parts.doc,   sizeof(State), nullptr,
                    slots_.data(),         parts.traverse, parts.clear, parts.free} {
    auto at = slots_.begin();
    if (parts.fill != nullptr) *at++ = {Py_mod_exec, reinterpret_cast<void*>(parts.fill)};
    for (const PyModuleDef_Slot& each : compat::kConcurrencySlots) *at++ = each;
    PyModuleDef_Init(&definition_);
  }
  ModuleDefinition(const ModuleDefinition&) = delete;

  PyObject* entry() noexcept { return reinterpret_cast<PyObject*>(&definition_); }

  Ref make(PyObject* spec) {
    Ref module = check(calling([&] { return PyModule_FromDefAndSpec(&definition_, spec); }));
    check(PyModule_ExecDef(module.get(), &definition_));
    return module;
  }

 private:
  std::array<PyModuleDef_Slot, 4> slots_{};
  PyModuleDef definition_;
};

#define REFARRAY_ENTRY_POINT(name) PyMODINIT_FUNC PyInit_##name()

#endif

}  // namespace refarray::extension
