// The names of DLPack capsules: telling an unconsumed capsule from any other.
#pragma once

#include <cstring>

#include "extension/capi/errors.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::extension {

/// Whether the capsule has M's unused name. Addresses are compared first: names are usually static
/// strings of one library (LIFE-07).
template <class M>
bool is_unconsumed(PyObject* capsule) noexcept {
  const char* name = PyCapsule_GetName(capsule);
  if (name == dlpack::Wire<M>::used) return false;
  return name == dlpack::Wire<M>::capsule ||
         (name != nullptr && std::strcmp(name, dlpack::Wire<M>::capsule) == 0);
}

/// Step 6. Takes the tensor out of a capsule with M's unused name by renaming the capsule before
/// reading the tensor: of two threads exactly one gets it. Empty for any other name, and then the
/// capsule is unchanged. The capsule keeps its destructor, which does nothing under the used name.
template <class M>
dlpack::Managed<M> take(PyObject* capsule) {
  void* pointer = compat::with_object_locked(capsule, [capsule]() noexcept -> void* {
    if (!is_unconsumed<M>(capsule)) return nullptr;
    void* tensor = PyCapsule_GetPointer(capsule, dlpack::Wire<M>::capsule);
    return PyCapsule_SetName(capsule, dlpack::Wire<M>::used) == 0 ? tensor : nullptr;
  });  // [6] take: the tensor is ours from here on
  if (pointer == nullptr && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return dlpack::Managed<M>(static_cast<M*>(pointer));
}

/// A copy of a capsule's name, truncated to 100 characters: another thread may rename the capsule
/// and free the name.
struct CapsuleName {
  bool has_name = false;
  char text[101] = {};
};
inline CapsuleName name_of(PyObject* capsule) noexcept {
  return compat::with_object_locked(capsule, [capsule]() noexcept {
    CapsuleName out;
    const char* name = PyCapsule_GetName(capsule);
    if (name == nullptr) compat::clear_raised();  // capsules without a name are valid
    out.has_name = name != nullptr;
    if (out.has_name) std::strncpy(out.text, name, sizeof out.text - 1);
    return out;
  });
}

/// Says why nothing could be taken out of `capsule`. `producer`: whose __dlpack__ returned it;
/// nullptr for an argument of from_capsule().
[[noreturn, gnu::cold]] inline void refuse_capsule(PyObject* capsule, PyObject* producer) {
  if (!PyCapsule_CheckExact(capsule)) {
    if (producer == nullptr) {
      raise(PyExc_TypeError, "from_capsule() takes a DLPack capsule, not %R",
            reinterpret_cast<PyObject*>(Py_TYPE(capsule)));
    }
    raise(PyExc_TypeError, "__dlpack__() of %R returned %R, not a capsule",
          reinterpret_cast<PyObject*>(Py_TYPE(producer)),
          reinterpret_cast<PyObject*>(Py_TYPE(capsule)));
  }
  const CapsuleName name = name_of(capsule);
  if (!name.has_name) {
    raise(PyExc_BufferError, "the capsule has no name; it must be \"%s\" or \"%s\"",
          dlpack::Wire<DLManagedTensorVersioned>::capsule, dlpack::Wire<DLManagedTensor>::capsule);
  }
  const bool used = std::strcmp(name.text, dlpack::Wire<DLManagedTensorVersioned>::used) == 0 ||
                    std::strcmp(name.text, dlpack::Wire<DLManagedTensor>::used) == 0;
  raise(PyExc_BufferError,
        used ? "the capsule has been consumed already (its name is \"%s\")"
             : "the capsule's name is \"%s\", which is not a DLPack name",
        name.text);
}

}  // namespace refarray::extension
