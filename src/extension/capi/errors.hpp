// C++ exceptions ↔ Python exceptions: check() and raise() for C-API calls, slot<> for callbacks.
#pragma once

#include <Python.h>

#include <type_traits>

#include "extension/capi/compat.hpp"
#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// Thrown when Python's error indicator is set. The indicator holds the exception.
struct ErrorSet {};

/// Calls a C-API function that may run Python code and therefore release the GIL; see
/// compat::park_at_exit().
template <auto Function, class... Args>
auto calling(Args... args) {
  return compat::park_at_exit([&] { return Function(args...); });
}

/// Wraps the new reference that a C-API function returned. Throws ErrorSet for nullptr.
inline Ref check(PyObject* object) {
  if (object == nullptr) throw ErrorSet{};
  return Ref::steal(object);
}
/// For C-API functions that return -1 on failure.
template <class T>
  requires std::is_integral_v<T>
T check(T status) {
  if (status < 0) throw ErrorSet{};
  return status;
}

/// Sets a Python exception with PyErr_Format() and throws ErrorSet.
template <class... Args>
[[noreturn, gnu::cold]] void raise(PyObject* type, const char* format, Args... args) {
  compat::park_at_exit([&] { PyErr_Format(type, format, args...); });
  throw ErrorSet{};
}

/// Reports the pending exception as unraisable, which runs sys.unraisablehook, and clears it.
[[gnu::cold]] inline void report_unraisable(PyObject* where) noexcept {
  compat::park_at_exit([where] { PyErr_WriteUnraisable(where); });
}

/// Sets the Python exception for the C++ exception that is being handled. Call it in a catch block.
[[gnu::cold]] void translate_current_exception() noexcept;

/// Whether the pending exception is a LedgerError: a ledger of the thread forbids what was tried.
bool is_ledger_error_pending();

/// False for MemoryError, for what a ledger forbids, and for exceptions such as KeyboardInterrupt,
/// which always propagate.
inline bool may_ignore_pending() {
  return PyErr_ExceptionMatches(PyExc_Exception) != 0 &&
         PyErr_ExceptionMatches(PyExc_MemoryError) == 0 && !is_ledger_error_pending();
}

/// RAII: saves the pending exception while foreign code runs. An exception that the foreign code
/// leaves set is reported as unraisable.
class ErrorGuard {
 public:
  ErrorGuard() noexcept : pending_(compat::take_raised()) {}
  ErrorGuard(const ErrorGuard&) = delete;
  ErrorGuard& operator=(const ErrorGuard&) = delete;
  ~ErrorGuard() {
    if (PyErr_Occurred() != nullptr) report_unraisable(nullptr);
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
template <class T>
struct SlotResult<T*> {
  using type = T*;
  static constexpr T* error = nullptr;
  static T* pass(T* value) noexcept { return value; }
};

template <auto Fn>
struct SlotOf;
template <class R, class... Args, R (*Fn)(Args...)>
  requires(!std::is_void_v<R>)
struct SlotOf<Fn> {
  static typename SlotResult<R>::type call(Args... args) noexcept {
    try {  // boundary: no C++ exception may reach the interpreter
      return SlotResult<R>::pass(Fn(args...));
    } catch (const abi::__forced_unwind&) {  // boundary: see compat::park_at_exit()
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
    } catch (const abi::__forced_unwind&) {  // boundary: see compat::park_at_exit()
      compat::park();
    } catch (...) {  // boundary: as above
      translate_current_exception();
      return -1;
    }
  }
};
}  // namespace detail

/// `Fn` as a noexcept C function for a type slot or a getter. A Ref result becomes PyObject*
/// (nullptr on error, as for any pointer), void becomes 0 or -1.
template <auto Fn>
inline constexpr auto slot = &detail::SlotOf<Fn>::call;
/// slot<Fn> with the type of PyType_Slot::pfunc.
template <auto Fn>
void* slot_pointer() noexcept {
  return reinterpret_cast<void*>(slot<Fn>);
}
/// slot<Fn> with the type of PyMethodDef::ml_meth.
template <auto Fn>
PyCFunction method() noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(slot<Fn>));
}

}  // namespace refarray::extension
