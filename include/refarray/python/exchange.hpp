// Capsules for extension modules on the raw C API, nanobind, pybind11 or Cython: import from a
// Python object, and the capsule of an exported tensor. The functions need the GIL.
#pragma once

#include <Python.h>

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "refarray/core/forced_unwind.hpp"
#include "refarray/dlpack/exchange.hpp"
#include "refarray/dlpack/wire.hpp"

namespace refarray::python {

/// Runs `body`, whose result must be "empty" by default. A C++ exception becomes a Python
/// exception, unless one is set already, and an empty result: nullptr of a PyObject*, or
/// std::nullopt. exchange_error becomes ValueError.
template <class Body>
auto guarded(Body body) noexcept -> decltype(body()) {
  const auto raise = [](PyObject* type, const char* message) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(type, message);
  };
  try {  // boundary: no C++ exception may reach the interpreter
    return core::park_at_exit(body);
  } catch (const std::bad_alloc&) {  // boundary: as above
    raise(PyExc_MemoryError, "out of memory");
  } catch (const std::invalid_argument& error) {  // boundary: as above
    raise(PyExc_ValueError, error.what());
  } catch (const std::out_of_range& error) {  // boundary: as above
    raise(PyExc_IndexError, error.what());
  } catch (const std::exception& error) {  // boundary: as above
    raise(PyExc_RuntimeError, error.what());
  } catch (...) {  // boundary: as above; park_at_exit() lets no forced unwinding through
    raise(PyExc_RuntimeError, "a C++ exception that is no std::exception");
  }
  return {};
}

struct drop_reference {
  void operator()(PyObject* object) const noexcept { Py_DecRef(object); }
};
/// A strong reference that is dropped by a thread that holds the GIL.
using owned = std::unique_ptr<PyObject, drop_reference>;

/// A strong reference that any thread may drop: it takes the GIL of the main interpreter. As the
/// owner of an exported tensor it keeps the Python object alive that the memory belongs to.
class reference {
 public:
  explicit reference(PyObject* borrowed) noexcept : object_(borrowed) { Py_IncRef(borrowed); }
  reference(reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  reference& operator=(reference&&) = delete;
  ~reference() {
    if (object_ == nullptr || Py_IsInitialized() == 0) return;
    core::park_at_exit([this] {
      const PyGILState_STATE state = PyGILState_Ensure();
      Py_DecRef(object_);
      PyGILState_Release(state);
    });
  }

 private:
  PyObject* object_;
};

namespace detail {

/// Takes the tensor of a capsule with M's unused name by renaming the capsule: of two threads one
/// gets it. Empty for any other name, and then the capsule is unchanged.
template <class M>
managed_ptr<M> take(PyObject* capsule) noexcept {
  using Wire = dlpack::Wire<M>;
  const auto rename = [capsule]() noexcept -> void* {
    if (PyCapsule_IsValid(capsule, Wire::capsule) == 0) return nullptr;
    void* tensor = PyCapsule_GetPointer(capsule, Wire::capsule);
    return PyCapsule_SetName(capsule, Wire::used) == 0 ? tensor : nullptr;
  };
#if defined(Py_GIL_DISABLED)
  PyCriticalSection section;
  PyCriticalSection_Begin(&section, capsule);
  void* tensor = rename();
  PyCriticalSection_End(&section);
#else
  void* tensor = rename();
#endif
  return managed_ptr<M>(static_cast<M*>(tensor));
}

/// Calls the deleter of a tensor that nobody took out of its capsule.
template <class M>
void drop_unconsumed(PyObject* capsule) noexcept {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);  // a deleter must not see or lose a pending exception
  take<M>(capsule).reset();
  PyErr_Restore(type, value, traceback);
}

/// The result of x.__dlpack__(), in the newest version that x knows; nullptr with an exception set.
inline owned ask(PyObject* x) noexcept {
  const owned method(PyObject_GetAttrString(x, "__dlpack__"));
  if (method == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return nullptr;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%R has no __dlpack__; an array or a DLPack capsule is needed",
                 reinterpret_cast<PyObject*>(Py_TYPE(x)));
    return nullptr;
  }
  const owned none(PyTuple_New(0));
  const owned keywords(
      Py_BuildValue("{s(II)}", "max_version", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION));
  if (none == nullptr || keywords == nullptr) return nullptr;
  owned capsule(PyObject_Call(method.get(), none.get(), keywords.get()));
  if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();  // a producer of before DLPack 1.0 does not know the keyword
    capsule.reset(PyObject_CallObject(method.get(), nullptr));
  }
  return capsule;
}

}  // namespace detail

/// The tensor of a capsule, which is consumed also if its tensor is refused. std::nullopt with an
/// exception set: TypeError for another object, ValueError for a consumed capsule or a bad tensor.
inline std::optional<managed_tensor> from_capsule(PyObject* capsule) noexcept {
  if (PyCapsule_CheckExact(capsule) == 0) {
    PyErr_Format(PyExc_TypeError, "%R is not a DLPack capsule",
                 reinterpret_cast<PyObject*>(Py_TYPE(capsule)));
    return std::nullopt;
  }
  return guarded([capsule]() -> std::optional<managed_tensor> {
    if (auto tensor = detail::take<DLManagedTensorVersioned>(capsule))
      return managed_tensor(std::move(tensor));
    if (auto tensor = detail::take<DLManagedTensor>(capsule))
      return managed_tensor(std::move(tensor));
    const char* name = PyCapsule_GetName(capsule);
    if (name == nullptr) PyErr_Clear();  // a capsule without a name
    const bool used = name != nullptr && std::strncmp(name, "used_", 5) == 0;
    PyErr_Format(PyExc_ValueError, "the capsule's name is %s%s%s; %s", name == nullptr ? "" : "\"",
                 name == nullptr ? "NULL" : name, name == nullptr ? "" : "\"",
                 used ? "it has been consumed already" : "it is no DLPack capsule");
    return std::nullopt;
  });
}

/// The tensor of an object with `__dlpack__`, or of a capsule. std::nullopt with an exception set:
/// the producer's own, or as for from_capsule().
inline std::optional<managed_tensor> from_object(PyObject* x) noexcept {
  if (PyCapsule_CheckExact(x) != 0) return from_capsule(x);
  const owned capsule = detail::ask(x);
  return capsule == nullptr ? std::nullopt : from_capsule(capsule.get());
}

/// A new capsule that owns the tensor; nullptr with an exception set, and then the tensor is
/// released.
template <class M>
PyObject* to_capsule(managed_ptr<M> tensor) noexcept {
  PyObject* capsule =
      PyCapsule_New(tensor.get(), dlpack::Wire<M>::capsule, &detail::drop_unconsumed<M>);
  if (capsule != nullptr) (void)tensor.release();
  return capsule;
}

}  // namespace refarray::python
