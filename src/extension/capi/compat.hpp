// Owns every difference between Python versions, and between the limited and the full API; nobody
// else tests for them.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace refarray::extension::compat {

#if defined(Py_GIL_DISABLED)
inline constexpr bool kFreeThreading = true;
#else
inline constexpr bool kFreeThreading = false;
#endif

/// A tuple that is known to be one: the full API reads it without a call.
inline Py_ssize_t tuple_size(PyObject* tuple) noexcept {
#if defined(Py_LIMITED_API)
  return PyTuple_Size(tuple);
#else
  return PyTuple_GET_SIZE(tuple);
#endif
}
inline PyObject* tuple_item(PyObject* tuple, Py_ssize_t index) noexcept {
#if defined(Py_LIMITED_API)
  return PyTuple_GetItem(tuple, index);
#else
  return PyTuple_GET_ITEM(tuple, index);
#endif
}

/// The tp_dealloc of a type, by which an array of ours is known in any interpreter.
inline void* dealloc_of(PyTypeObject* type) noexcept {
#if defined(Py_LIMITED_API)
  return PyType_GetSlot(type, Py_tp_dealloc);
#else
  return reinterpret_cast<void*>(type->tp_dealloc);
#endif
}

/// The pending exception, taken out of the thread state; nullptr when there is none.
inline PyObject* take_raised() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return nullptr;
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_DECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

/// Puts an exception back; steals the reference. nullptr clears.
inline void restore_raised(PyObject* exception) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception);
#else
  if (exception == nullptr) return PyErr_Clear();
  PyObject* type = Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception)));
  PyErr_Restore(type, exception, PyException_GetTraceback(exception));
#endif
}

/// Whether the interpreter is going away, so that no thread may attach to it any more. Finalization
/// begins with this.
inline bool is_finalizing() noexcept { return !Py_IsInitialized(); }

/// Waits for ever.
[[noreturn]] inline void park() noexcept {
  for (;;) pause();
}

/// Runs `body`, which may give up the GIL and take it again. While the interpreter is being
/// finalized CPython before 3.14 ends a daemon thread where it takes the GIL, by unwinding its
/// stack; our frames must not run their destructors then, without a GIL: the thread is parked
/// instead, as CPython 3.14 does itself.
template <class Body>
auto park_at_exit(Body body) {
  try {  // boundary: pthread_exit() comes as an exception of its own kind
    return body();
  } catch (
      const abi::__forced_unwind&) {  // boundary: as above; it cannot be ended, only kept waiting
    park();
  }
}

/// Attaches the calling thread to some interpreter for as long as it lives; a no-op for a thread
/// that is attached.
class AnyThreadState {
 public:
  AnyThreadState() noexcept : ensured_(!is_attached()) {
    if (ensured_) held_ = PyGILState_Ensure();
  }
  AnyThreadState(const AnyThreadState&) = delete;
  AnyThreadState& operator=(const AnyThreadState&) = delete;
  ~AnyThreadState() {
    if (ensured_) PyGILState_Release(held_);
  }

 private:
  static bool is_attached() noexcept {
#if defined(Py_LIMITED_API)
    return false;  // cannot be asked; from 3.12 on PyGILState_Ensure sees an attached thread of any
                   // interpreter itself
#elif PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked() != nullptr;
#else
    return _PyThreadState_UncheckedGet() != nullptr;
#endif
  }

  bool ensured_;
  PyGILState_STATE held_ = PyGILState_UNLOCKED;
};

/// PyType_FromModuleAndSpec(); CPython 3.11 may run out of memory in there without saying so.
inline PyObject* new_type(PyObject* module, PyType_Spec* spec) noexcept {
  PyObject* type = PyType_FromModuleAndSpec(module, spec, nullptr);
  if (type == nullptr && PyErr_Occurred() == nullptr) PyErr_NoMemory();
  return type;
}

/// Whether the type's own dict holds the attribute (full API), so that instances find it there too.
#if defined(Py_LIMITED_API)
inline constexpr bool kTypeKeepsAttribute = false;
#else
inline constexpr bool kTypeKeepsAttribute = true;
#endif

/// Makes the array type. The exchange table must be found on the type; an immutable type cannot be
/// given an attribute after it was made, so: with the full API it goes into the dict before anybody
/// sees the type, with the limited API the type gets a metaclass whose property answers.
/// `metaclass_spec` is used by the latter only.
inline PyObject* make_type_with_attribute(PyObject* module, PyType_Spec* spec,
                                          PyType_Spec* metaclass_spec, const char* attribute,
                                          PyObject* value) noexcept {
#if defined(Py_LIMITED_API)
  (void)attribute;
  (void)value;
  PyObject* bases = PyTuple_Pack(1, &PyType_Type);
  if (bases == nullptr) return nullptr;
  // Without the module: a metaclass that holds it could never be collected, since no type visits
  // its metaclass.
  PyObject* metaclass = PyType_FromSpecWithBases(metaclass_spec, bases);
  Py_DECREF(bases);
  if (metaclass == nullptr) return nullptr;
  PyObject* type =
      PyType_FromMetaclass(reinterpret_cast<PyTypeObject*>(metaclass), module, spec, nullptr);
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

/// Keeps other threads out of code that locks the same object: a no-op where the GIL already does.
class ObjectLock {
 public:
#if defined(Py_GIL_DISABLED)
  explicit ObjectLock(PyObject* object) noexcept { PyCriticalSection_Begin(&section_, object); }
  ~ObjectLock() { PyCriticalSection_End(&section_); }
#else
  explicit ObjectLock(PyObject* /*object*/) noexcept {}
#endif
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

#if defined(Py_GIL_DISABLED)
 private:
  PyCriticalSection section_;
#endif
};

/// The slots that declare sub-interpreters with their own GIL and free threading, as far as this
/// Python knows them.
inline const PyModuleDef_Slot kConcurrencySlots[] = {
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

}  // namespace refarray::extension::compat
