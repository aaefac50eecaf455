// Owns the only code that touches PyCapsules with managed tensors: making (step 5), taking (step
// 6), dropping unconsumed.
#pragma once

#include <Python.h>

#include <cstring>

#include "dlpack/export.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/gil.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::extension {

/// Whether the capsule carries M's unused name, by address first: the names are static (LIFE-07).
template <class M>
bool is_unconsumed(PyObject* capsule) noexcept {
  const char* name = PyCapsule_GetName(capsule);
  if (name == dlpack::Wire<M>::used) return false;
  return name == dlpack::Wire<M>::capsule ||
         (name != nullptr && std::strcmp(name, dlpack::Wire<M>::capsule) == 0);
}

/// A capsule's name, or the beginning of a long one, as it was when asked for: another thread may
/// rename the capsule and free the name.
struct CapsuleName {
  bool given = false;
  char text[101] = {};
};
inline CapsuleName name_of(PyObject* capsule) noexcept {
  return compat::with_object_locked(capsule, [capsule]() noexcept {
    CapsuleName out;
    const char* name = PyCapsule_GetName(capsule);
    if (name == nullptr) PyErr_Clear();  // a capsule may have no name
    out.given = name != nullptr;
    if (out.given) std::strncpy(out.text, name, sizeof out.text - 1);
    return out;
  });
}

/// A capsule's destructor. Acts only while the capsule carries our own unused name: afterwards its
/// consumer calls the deleter (LIFE-08, LIFE-09, A-39). It may run while an exception is pending,
/// and leaves that untouched (LIFE-14).
template <class M>
void drop_unconsumed(PyObject* capsule) noexcept {
  if (!is_unconsumed<M>(capsule)) return;
  dlpack::Managed<M> tensor(
      static_cast<M*>(PyCapsule_GetPointer(capsule, dlpack::Wire<M>::capsule)));
  if (dlpack::own_storage(*tensor) != nullptr) {
    return drop_storage(dlpack::open_own(std::move(tensor)));
  }
  const ErrorGuard guard;  // one that a stranger put under a capsule of ours
  const Attached here;
  tensor.reset();
}

/// Step 5: the capsule owns the tensor from here on. Throws ErrorSet, and then the tensor is let
/// go.
template <class M>
Ref to_capsule(dlpack::Managed<M> tensor) {
  Ref capsule = check(PyCapsule_New(tensor.get(), dlpack::Wire<M>::capsule, &drop_unconsumed<M>));
  (void)tensor.release();  // [5] capsule: ownership moves here, nothing after it can fail
  return capsule;
}

/// Step 6: takes the tensor out of a capsule with M's unused name by renaming it, before anything
/// else is looked at: of two threads with one capsule exactly one gets it. Empty when the name is
/// another one, the capsule untouched. The capsule's destructor stays: it does nothing under the
/// used name. Throws ErrorSet.
template <class M>
dlpack::Managed<M> take(PyObject* capsule) {
  void* pointer = compat::with_object_locked(capsule, [capsule]() noexcept -> void* {
    if (!is_unconsumed<M>(capsule)) return nullptr;
    void* held = PyCapsule_GetPointer(capsule, dlpack::Wire<M>::capsule);
    return PyCapsule_SetName(capsule, dlpack::Wire<M>::used) == 0 ? held : nullptr;
  });  // [6] take: from here the tensor is ours
  if (pointer == nullptr && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return dlpack::Managed<M>(static_cast<M*>(pointer));
}

}  // namespace refarray::extension
