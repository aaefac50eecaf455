// Owns what the adversary's Python-facing files share: references, errors, numbers and the object
// layouts.
#pragma once

#include <Python.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "record.hpp"

namespace adversary {

inline constexpr const char* kNames[2] = {"dltensor", "dltensor_versioned"};
inline constexpr const char* kUsedNames[2] = {"used_dltensor", "used_dltensor_versioned"};
inline constexpr const char* kTableName = "dlpack_exchange_api";

/// Thrown while a Python exception is set; it is the exception.
struct PythonError {};

/// An owned reference.
class Ref {
 public:
  explicit Ref(PyObject* object) : object_(object) {
    if (object == nullptr) throw PythonError{};
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_;
};

/// Runs the body of a function that Python calls; C++ exceptions become Python ones.
template <class Body>
PyObject* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const PythonError&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

template <class... Values>
[[noreturn]] void fail(PyObject* type, const char* format, Values... values) {
  PyErr_Format(type, format, values...);
  throw PythonError{};
}

/// An int in [low, high]; the tests' own mistakes must not wrap silently.
std::int64_t to_int(PyObject* object, std::int64_t low, std::int64_t high);
std::uint64_t to_uint64(PyObject* object);
Ref shape_tuple(const std::int64_t* entries, std::int32_t count);

/// Python's handle on a record; `device` is what __dlpack_device__ answers.
struct TensorObject {
  PyObject_HEAD Record* record;
  PyObject* device;
};

/// A managed tensor that this module took as a consumer and must delete.
struct OwnedObject {
  PyObject_HEAD void* managed;
  bool versioned;
};

struct ModuleState {
  PyTypeObject* tensor_type;
  PyTypeObject* owned_type;
  PyTypeObject* table_type;
  PyTypeObject* api_type;
  PyTypeObject* watched_type;
  PyTypeObject* exporter_type;
};
ModuleState& state_of(PyObject* module);

/// The managed struct of a tensor, which now belongs to whoever receives it; once only.
void* issue(TensorObject& tensor);
bool is_tensor(PyObject* object) noexcept;
Ref new_owned(PyTypeObject* type, void* managed, bool versioned);
const DLTensor& tensor_in(void* managed, bool versioned);
/// All fields of a managed struct; nothing behind `flags` when the major version is foreign.
Ref describe(void* managed, bool versioned, const char* name);

/// Each file adds its types and functions.
void add_tensor(PyObject* module, ModuleState& state);
void add_consumer(PyObject* module);
void add_owned(PyObject* module, ModuleState& state);
void add_table(PyObject* module, ModuleState& state);
void add_api(PyObject* module, ModuleState& state);
void add_watch(PyObject* module, ModuleState& state);
void add_offer(PyObject* module);
/// What one build has besides; parts.cpp, of which each build has its own, says what.
void add_parts(PyObject* module, ModuleState& state);
PyTypeObject* add_type(PyObject* module, PyType_Spec& spec);
/// What PyInit_… of a build returns.
PyObject* new_module();

/// An instance with all fields zero, and the end of one: what heap types do in the limited API.
PyObject* allocate(PyTypeObject* type);
void release(PyObject* self) noexcept;

}  // namespace adversary
