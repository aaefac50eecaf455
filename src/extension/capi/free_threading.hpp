// Helpers for the free-threaded build: object locks, immortal objects, CPython workarounds.
#pragma once

#include <Python.h>

#include "extension/capi/compat.hpp"
#include "extension/capi/ref.hpp"

namespace refarray::extension::compat {

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

}  // namespace refarray::extension::compat
