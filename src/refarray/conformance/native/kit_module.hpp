// Common parts of the adversary's Python types: references, errors, conversions, object layouts.
#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "fake_tensor.hpp"
#include "module_abi.hpp"
#include "system.hpp"

namespace adversary {

inline constexpr const char* kNames[2] = {"dltensor", "dltensor_versioned"};
inline constexpr const char* kUsedNames[2] = {"used_dltensor", "used_dltensor_versioned"};
inline constexpr const char* kTableName = "dlpack_exchange_api";

/// Thrown with a Python exception set.
struct PythonError {};

/// A strong reference. The constructor throws PythonError for nullptr.
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

#if defined(__GLIBCXX__)
using ForcedUnwind = abi::__forced_unwind;
#else
struct ForcedUnwind {};  // thrown by nobody: the end of a thread does not unwind
#endif

/// Runs `body`, which acquires the GIL. CPython before 3.14 ends a daemon thread there once the
/// interpreter is ending, which would unwind our frames: the thread is parked instead.
template <class Body>
void park_at_exit(Body&& body) noexcept {
  try {
    body();
  } catch (const ForcedUnwind&) {
    park();
  }
}

/// Runs the body of a function that Python calls; turns C++ exceptions into Python exceptions.
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

/// Runs the body of a C function: 0, or -1 with an exception set if the body throws.
template <class Body>
int status_of(Body&& body) noexcept {
  PyObject* done = guarded([&] {
    body();
    return Py_None;
  });
  return done == nullptr ? -1 : 0;
}

template <class... Values>
[[noreturn]] void fail(PyObject* type, const char* format, Values... values) {
  PyErr_Format(type, format, values...);
  throw PythonError{};
}

/// Clears the error indicator and returns the exception, without its traceback before 3.12, as a
/// new reference; nullptr if none was set.
inline PyObject* take_raised() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

/// An int in [low, high]; OverflowError otherwise, so that mistakes in a test do not wrap silently.
std::int64_t to_int(PyObject* object, std::int64_t low, std::int64_t high);
std::uint64_t to_uint64(PyObject* object);
/// An address or an offset in memory. OverflowError beyond the pointers of this machine.
std::uintptr_t to_address(PyObject* object);
Ref shape_tuple(const std::int64_t* entries, std::int32_t count);
/// The exchange table of an array's type. It lives as long as the process (CAPI-04).
const DLPackExchangeAPI& table_of_type(PyObject* type);
/// Destructor of a capsule: calls the deleter unless the capsule was consumed.
void delete_unconsumed(PyObject* capsule) noexcept;
using Predicate = int (*)();
/// A predicate of CPython that the limited API lacks before some version; nullptr if neither name
/// exists.
Predicate find_predicate(const char* name, const char* other = nullptr) noexcept;

/// Before 3.13 the limited API has no such function, but every CPython exports one of the two.
inline bool is_finalizing() noexcept {
  static const Predicate found = find_predicate("Py_IsFinalizing", "_Py_IsFinalizing");
  return found != nullptr && found() != 0;
}
/// A tensor of more axes is malformed: no library has as many, and none of its entries is read.
inline constexpr std::int32_t kMostAxes = 64;

/// The Python object of a FakeTensor; __dlpack_device__() returns `device`.
struct TensorObject {
  [[no_unique_address]] Head head;
  FakeTensor* tensor;
  PyObject* device;
};

/// A managed tensor that this module consumed and whose deleter it must call.
struct OwnedObject {
  [[no_unique_address]] Head head;
  void* managed;
  bool versioned;
};

struct ModuleState {
  PyTypeObject* tensor_type;
  PyTypeObject* owned_type;
  PyTypeObject* table_type;
  PyTypeObject* api_type;
  PyTypeObject* stand_in_type;
  PyTypeObject* exporter_type;
};
ModuleState& state_of(PyObject* module);

/// Transfers ownership of the tensor's managed struct to the caller. Raises RuntimeError on a
/// second call.
void* issue(TensorObject& tensor);
bool is_tensor(PyObject* object) noexcept;
Ref new_owned(PyTypeObject* type, void* managed, bool versioned);
const DLTensor& tensor_in(void* managed, bool versioned);
/// All fields of a managed struct as a dict; only those up to `flags` for an unknown major version.
Ref describe(void* managed, bool versioned, const char* name);

// Each file adds its types and functions.
void add_tensor(PyObject* module, ModuleState& state);
void add_consumer(PyObject* module);
void add_exit_report(PyObject* module);
void add_owned(PyObject* module, ModuleState& state);
void add_table(PyObject* module, ModuleState& state);
void add_api(PyObject* module, ModuleState& state);
void add_stand_in(PyObject* module, ModuleState& state);
void add_spy_table(PyObject* module);
void add_native_method(PyObject* module);
/// Adds the parts that only one build has. Each build has its own parts.cpp.
void add_parts(PyObject* module, ModuleState& state);
PyTypeObject* add_type(PyObject* module, PyType_Spec& spec);
void add_functions(PyObject* module, PyMethodDef* functions);
/// What the entry point returns.
Definition* new_module();

/// tp_alloc and tp_dealloc of a heap type in the limited API. Fields are zero-initialized.
PyObject* allocate(PyTypeObject* type);
void release(PyObject* self) noexcept;

}  // namespace adversary
