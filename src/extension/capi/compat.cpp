// The parts of compat.hpp that need not be inlined.
#include "extension/capi/compat.hpp"

#include "runtime/drivers/library.hpp"

namespace refarray::extension::compat {

Ref memoryview_exporter(PyObject* view) noexcept {
#if defined(Py_LIMITED_API)
  // Interned, because each new string object would take an entry of the type attribute cache.
  const Ref name = Ref::steal(PyUnicode_InternFromString("obj"));
  Ref exporter = name ? Ref::steal(PyObject_GetAttr(view, name.get())) : Ref();
  if (!exporter) clear_raised();
  return exporter;
#else
  return Ref::borrow(PyMemoryView_GET_BUFFER(view)->obj);
#endif
}

bool is_temporary(PyObject* object) noexcept {
  if (Py_REFCNT(object) != 1) return false;
  // From CPython 3.14 on, a variable that an expression names may have one reference as well: the
  // expression borrows it. Only the interpreter can tell.
  if (Py_Version < 0x030E0000) return true;
  using Function = int (*)(PyObject*);
  static const auto is_unique = reinterpret_cast<Function>(
      runtime::symbol_of_process("PyUnstable_Object_IsUniqueReferencedTemporary"));
  return is_unique != nullptr && is_unique(object) != 0;
}

bool is_attached() noexcept {
#if defined(Py_LIMITED_API)
  // The limited API has no such function that a thread may call which is not attached, but every
  // CPython exports one of the two.
  using Function = PyThreadState* (*)();
  static const auto current = [] {
    void* found = runtime::symbol_of_process("PyThreadState_GetUnchecked");
    if (found == nullptr) found = runtime::symbol_of_process("_PyThreadState_UncheckedGet");
    return reinterpret_cast<Function>(found);
  }();
  return current != nullptr && current() != nullptr;
#elif PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked() != nullptr;
#elif PY_VERSION_HEX >= 0x030C0000
  return _PyThreadState_UncheckedGet() != nullptr;
#else
  // CPython 3.11 has one current thread state per process: that of the thread with the GIL. It may
  // be this thread in a sub-interpreter, whose thread state is not the one PyGILState knows.
  const PyThreadState* current = _PyThreadState_UncheckedGet();
  const PyThreadState* own = PyGILState_GetThisThreadState();
  if (current == nullptr || own == nullptr) return false;
  return current == own || current->thread_id == PyThread_get_thread_ident();
#endif
}

PyObject* make_type_with_attribute(PyObject* module, PyType_Spec* spec, PyType_Spec* metaclass_spec,
                                   const char* attribute, PyObject* value) noexcept {
#if defined(Py_LIMITED_API)
  (void)attribute;
  (void)value;
  PyObject* bases = PyTuple_Pack(1, &PyType_Type);
  if (bases == nullptr) return nullptr;
  // Not associated with the module: types do not traverse their metaclass, so a reference from the
  // metaclass to the module could never be collected.
  PyObject* metaclass = require_type(PyType_FromSpecWithBases(metaclass_spec, bases));
  Py_DECREF(bases);
  if (metaclass == nullptr) return nullptr;
  auto* const maker = reinterpret_cast<PyTypeObject*>(metaclass);
  PyObject* type = require_type(PyType_FromMetaclass(maker, module, spec, nullptr));
  Py_DECREF(metaclass);
  return type;
#else
  (void)metaclass_spec;
  PyObject* type = new_type(module, spec);
  if (type == nullptr) return nullptr;
  auto* as_type = reinterpret_cast<PyTypeObject*>(type);
  if (PyDict_SetItemString(as_type->tp_dict, attribute, value) < 0) {
    Py_DECREF(type);
    return nullptr;
  }
  PyType_Modified(as_type);
  return type;
#endif
}

}  // namespace refarray::extension::compat
