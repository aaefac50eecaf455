// Owns the border between C++ exceptions and Python's: check, raise, and slot, which makes a C
// function of a C++ one.
#pragma once

#include <Python.h>

#include <type_traits>

#include "extension/capi/compat.hpp"
#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// Thrown when Python's error indicator is set; carries nothing.
struct ErrorSet {};

/// A C-API call that may run Python code, and so give up the GIL and take it again
/// (compat::park_at_exit).
template <auto Function, class... Args>
auto calling(Args... args) {
  return compat::park_at_exit([&] { return Function(args...); });
}

/// A new reference from a C-API call; throws when the call failed.
inline Ref check(PyObject* object) {
  if (object == nullptr) throw ErrorSet{};
  return Ref::steal(object);
}
/// A C-API call that returns -1 on failure.
template <class T>
  requires std::is_integral_v<T>
T check(T status) {
  if (status < 0) throw ErrorSet{};
  return status;
}

/// Sets a Python exception (PyErr_Format's format) and throws ErrorSet.
template <class... Args>
[[noreturn, gnu::cold]] void raise(PyObject* type, const char* format, Args... args) {
  PyErr_Format(type, format, args...);
  throw ErrorSet{};
}

/// The one ladder from C++ exceptions to Python's; to be called in a catch block.
[[gnu::cold]] void translate_current_exception() noexcept;

/// Keeps a pending exception safe while foreign code runs; what that code leaves behind is reported
/// as unraisable.
class ErrorGuard {
 public:
  ErrorGuard() noexcept : pending_(compat::take_raised()) {}
  ErrorGuard(const ErrorGuard&) = delete;
  ErrorGuard& operator=(const ErrorGuard&) = delete;
  ~ErrorGuard() {
    if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(nullptr);
    if (pending_ != nullptr) compat::restore_raised(pending_);
  }

 private:
  PyObject* pending_;
};

namespace detail {
template <class R>
struct SlotResult {  // -1 for int, Py_ssize_t, Py_hash_t
  using type = R;
  static constexpr R error = static_cast<R>(-1);
  static R pass(R value) noexcept { return value; }
};
template <>
struct SlotResult<Ref> {
  using type = PyObject*;
  static constexpr PyObject* error = nullptr;
  static PyObject* pass(Ref value) noexcept { return value.release(); }
};

template <auto Fn>
struct SlotOf;
template <class R, class... Args, R (*Fn)(Args...)>
  requires(!std::is_void_v<R>)
struct SlotOf<Fn> {
  static typename SlotResult<R>::type call(Args... args) noexcept {
    try {  // boundary: no C++ exception may reach the interpreter
      return SlotResult<R>::pass(Fn(args...));
    } catch (
        const abi::__forced_unwind&) {  // boundary: a daemon thread at exit, see park_at_exit()
      compat::park();
    } catch (...) {  // boundary: as above
      translate_current_exception();
      return SlotResult<R>::error;
    }
  }
};
template <class... Args, void (*Fn)(Args...)>
struct SlotOf<Fn> {
  static int call(Args... args) noexcept {
    try {  // boundary: no C++ exception may reach the interpreter
      Fn(args...);
      return 0;
    } catch (
        const abi::__forced_unwind&) {  // boundary: a daemon thread at exit, see park_at_exit()
      compat::park();
    } catch (...) {  // boundary: as above
      translate_current_exception();
      return -1;
    }
  }
};
}  // namespace detail

/// A noexcept C function for a type slot or a getter: Ref becomes PyObject* (nullptr on error),
/// void becomes 0 or -1.
template <auto Fn>
inline constexpr auto slot = &detail::SlotOf<Fn>::call;
/// The same, as PyType_Slot wants it.
template <auto Fn>
void* slot_pointer() noexcept {
  return reinterpret_cast<void*>(slot<Fn>);
}
/// The same, as PyMethodDef wants it.
template <auto Fn>
PyCFunction method() noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(slot<Fn>));
}

}  // namespace refarray::extension
