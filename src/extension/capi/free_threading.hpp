// Owns what a build without a GIL needs in the GIL's place: code under an object's lock, and care
// where CPython takes none.
#pragma once

#include <Python.h>

#include "extension/capi/compat.hpp"
#include "extension/capi/ref.hpp"

namespace refarray::extension::compat {

/// Runs `body` under the lock of `object`.
template <class Body>
auto with_object_locked(PyObject* object, Body body) noexcept {
  [[maybe_unused]] const ObjectLock lock(object);
  return body();
}

/// Clears the weak references to a dying object, whose list of them is `list`. Without a GIL the
/// list may not be looked at: a thread that drops a weak reference writes there.
inline void clear_weakrefs(PyObject* object, PyObject* const& list) noexcept {
  if (kFreeThreading || list != nullptr) PyObject_ClearWeakRefs(object);
}

/// An object that the calling thread has made, to be used by all. Without a GIL threads wait for
/// each other where they count the references of one object, a type's instances those of the type;
/// of what is made at run time CPython 3.13 itself makes only functions, modules and classes
/// immortal. A count over 32 bits does it, and the object stays until the process ends.
inline Ref make_immortal(Ref object) noexcept {
  if (kFreeThreading && object) Py_SET_REFCNT(object.get(), PY_SSIZE_T_MAX);
  return object;
}

/// A list of `length` items that are yet to be set; empty, with MemoryError set, when there is no
/// memory. CPython 3.13 without a GIL then frees a pointer that PyList_New never wrote; repeating a
/// list of one goes another way.
inline Ref new_list(Py_ssize_t length) noexcept {
  if (!kFreeThreading || length == 0) return Ref::steal(PyList_New(length));
  const Ref one = Ref::steal(PyList_New(0));
  if (!one || PyList_Append(one.get(), Py_None) < 0) return {};
  return Ref::steal(PySequence_Repeat(one.get(), length));
}

}  // namespace refarray::extension::compat
