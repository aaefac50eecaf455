// With compat.cpp and lookup.cpp, all that depends on the Python version, on the limited API
// or on free threading.
#pragma once

#include "extension/capi/ref.hpp"
#include "refarray/core/forced_unwind.hpp"

namespace refarray::extension::compat {

using core::park;
using core::park_at_exit;

#if defined(Py_GIL_DISABLED)
inline constexpr bool kFreeThreading = true;
#else
inline constexpr bool kFreeThreading = false;
#endif

/// Unchecked: `tuple` must be a tuple. With the full API these compile to plain loads.
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

/// tp_dealloc of a type. It identifies our types across interpreters, each of which has its own
/// type objects.
inline void* dealloc_of(PyTypeObject* type) noexcept {
#if defined(Py_LIMITED_API)
  return PyType_GetSlot(type, Py_tp_dealloc);
#else
  return reinterpret_cast<void*>(type->tp_dealloc);
#endif
}

/// Whether nobody but the caller's caller, the interpreter's evaluation of an expression, holds the
/// object.
bool is_temporary(PyObject* object) noexcept;

/// tp_descr_get of a type, or nullptr.
inline descrgetfunc descr_get_of(PyTypeObject* type) noexcept {
#if defined(Py_LIMITED_API)
  return reinterpret_cast<descrgetfunc>(PyType_GetSlot(type, Py_tp_descr_get));
#else
  return type->tp_descr_get;
#endif
}

/// PyErr_Clear(). Deletes the exception, and with it what its traceback refers to.
inline void clear_raised() noexcept {
  park_at_exit([] { PyErr_Clear(); });
}

/// The object that an unreleased memoryview is of; empty, without an exception, if it has none.
Ref memoryview_exporter(PyObject* view) noexcept;

/// Clears the error indicator and returns the exception as a new reference; nullptr if none was
/// set.
inline PyObject* take_raised() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return nullptr;
  park_at_exit([&] { PyErr_NormalizeException(&type, &value, &traceback); });
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_DECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

/// Sets the error indicator; steals the reference. nullptr clears it.
inline void restore_raised(PyObject* exception) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception);
#else
  if (exception == nullptr) return clear_raised();
  PyObject* type = Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception)));
  PyErr_Restore(type, exception, PyException_GetTraceback(exception));
#endif
}

/// Whether finalization has begun. From then on no thread may attach.
inline bool is_finalizing() noexcept { return !Py_IsInitialized(); }

/// Whether the calling thread is attached to an interpreter. It may be any thread.
bool is_attached() noexcept;

/// RAII: attaches the calling thread to an interpreter, unless it is already attached to one.
class AnyThreadState {
 public:
  AnyThreadState() noexcept : ensured_(kEnsuresAlways || !is_attached()) {
    if (ensured_) state_ = park_at_exit([] { return PyGILState_Ensure(); });
  }
  AnyThreadState(const AnyThreadState&) = delete;
  AnyThreadState& operator=(const AnyThreadState&) = delete;
  ~AnyThreadState() {
    if (ensured_) park_at_exit([this] { PyGILState_Release(state_); });
  }

 private:
  // From 3.12 on, PyGILState_Ensure() handles attached threads.
#if defined(Py_LIMITED_API)
  static constexpr bool kEnsuresAlways = true;
#else
  static constexpr bool kEnsuresAlways = false;
#endif

  bool ensured_;
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

/// Returns `type`, which a function of CPython made. Sets MemoryError where there is none and no
/// exception: on memory exhaustion CPython 3.11 to 3.13 may fail so.
inline PyObject* require_type(PyObject* type) noexcept {
  if (type == nullptr && PyErr_Occurred() == nullptr) PyErr_NoMemory();
  return type;
}
inline PyObject* new_type(PyObject* module, PyType_Spec* spec) noexcept {
  return require_type(PyType_FromModuleAndSpec(module, spec, nullptr));
}

/// Whether make_type_with_attribute() puts the attribute into the type's dict, where instances find
/// it too.
#if defined(Py_LIMITED_API)
inline constexpr bool kTypeKeepsAttribute = false;
#else
inline constexpr bool kTypeKeepsAttribute = true;
#endif

/// Creates an immutable type with a class attribute. Immutable types reject attributes after
/// creation. With the full API the attribute is written into the type's
/// dict before the type is published; with the limited API a metaclass made from `metaclass_spec`
/// has a property that returns it. nullptr on failure.
PyObject* make_type_with_attribute(PyObject* module, PyType_Spec* spec, PyType_Spec* metaclass_spec,
                                   const char* attribute, PyObject* value) noexcept;

/// RAII: a critical section on `object`. A no-op in builds with a GIL.
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

/// Runs `body` in a critical section on `object`.
template <class Body>
auto with_object_locked(PyObject* object, Body body) noexcept {
  [[maybe_unused]] const ObjectLock lock(object);
  return body();
}

/// Clears the weak references to an object that is being deallocated, which runs their callbacks;
/// `list` is its weak-reference list. Free-threaded builds must not read `list`: other threads
/// write to it when they drop a weak reference.
inline void clear_weakrefs(PyObject* object, PyObject* const& list) noexcept {
  if (kFreeThreading || list != nullptr) park_at_exit([object] { PyObject_ClearWeakRefs(object); });
}

/// Makes an object immortal in free-threaded builds; it then lives until the process ends. Without
/// this, threads contend on the reference count of each shared object, and on that of a type
/// whenever they create its instances. CPython 3.13 does so itself only for functions, modules and
/// classes. A reference count above 32 bits marks an object as immortal. Call it before publishing
/// the object.
inline Ref make_immortal(Ref object) noexcept {
  if (kFreeThreading && object) Py_SET_REFCNT(object.get(), PY_SSIZE_T_MAX);
  return object;
}

/// A list of `length` items, which the caller must set. Returns an empty Ref with MemoryError set
/// when memory runs out. In that case PyList_New() of the free-threaded CPython 3.13 frees an
/// uninitialized pointer; repeating a list of one item avoids that code.
inline Ref new_list(Py_ssize_t length) noexcept {
  if (!kFreeThreading || length == 0)
    return Ref::steal(park_at_exit([length] { return PyList_New(length); }));
  const Ref one = Ref::steal(PyList_New(0));
  if (!one || PyList_Append(one.get(), Py_None) < 0) return {};
  return Ref::steal(PySequence_Repeat(one.get(), length));
}

/// Module slots that declare support for per-interpreter GILs and free threading, where this Python
/// version has them.
inline const PyModuleDef_Slot kConcurrencySlots[] = {
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if defined(Py_MOD_GIL_NOT_USED)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

}  // namespace refarray::extension::compat
