// C++ exceptions ↔ Python exceptions: check() and raise() for C-API calls, slot<> for callbacks,
// and text about Python objects for messages.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "core/memory/thread_stack.hpp"
#include "extension/capi/compat.hpp"

namespace refarray::extension {

/// Thrown when Python's error indicator is set. The indicator holds the exception.
struct ErrorSet {};

namespace detail {
/// What a C function returns when it has set an exception: -1 for numbers, nullptr for pointers.
template <class R>
struct SlotResult {
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

/// Sets RecursionError.
[[gnu::cold]] void set_stack_exhausted() noexcept;
}  // namespace detail

/// Runs `body`, which calls foreign code or a C-API function that may run Python code. That code
/// may release the GIL (see compat::park_at_exit()), and may call refarray again, without end:
/// when too little of the thread's stack is left, RecursionError is set, and the result is that of
/// a C function that failed.
template <class Body>
auto calling(Body body) {
  using Result = decltype(body());
  if (!core::has_stack_left()) [[unlikely]] {
    detail::set_stack_exhausted();
    return Result{detail::SlotResult<Result>::error};
  }
  return compat::park_at_exit(body);
}
/// The same for one C-API function, which returns nullptr or -1 on failure.
template <auto Function, class... Args>
auto calling(Args... args) {
  return calling([&] { return Function(args...); });
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

/// For C-API functions that read a number, which may be -1 as well:
/// `check_number<PyFloat_AsDouble>`.
template <auto Function>
auto check_number(PyObject* object) {
  const auto out = calling<Function>(object);
  if (out == static_cast<decltype(out)>(-1) && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return out;
}

/// PyArg_ParseTupleAndKeywords(), which returns 0 on failure. `names` ends with nullptr.
template <class... Out>
void parse_arguments(PyObject* args, PyObject* kwargs, const char* format, const char* const* names,
                     Out*... out) {
  check(calling([&] {
    return PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names), out...) - 1;
  }));
}

/// Sets a Python exception with PyErr_Format(), which may call foreign code for %R, and throws
/// ErrorSet.
template <class... Args>
[[noreturn, gnu::cold]] void raise(PyObject* type, const char* format, Args... args) {
  calling([&] { return PyErr_Format(type, format, args...); });
  throw ErrorSet{};
}

/// Reports the pending exception as unraisable, which runs sys.unraisablehook, and clears it; with
/// too little stack left it only does the latter.
[[gnu::cold]] inline void report_unraisable(PyObject* where) noexcept {
  if (!core::has_stack_left()) return compat::clear_raised();
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
template <auto Fn>
struct SlotOf;
template <class R, class... Args, R (*Fn)(Args...)>
  requires(!std::is_void_v<R>)
struct SlotOf<Fn> {
  static typename SlotResult<R>::type call(Args... args) noexcept {
    try {  // boundary: no C++ exception may reach the interpreter
      return SlotResult<R>::pass(Fn(args...));
    } catch (const core::ForcedUnwind&) {  // boundary: see compat::park_at_exit()
      compat::park();
    } catch (...) {
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
    } catch (const core::ForcedUnwind&) {  // boundary: see compat::park_at_exit()
      compat::park();
    } catch (...) {
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

// --- Text for messages.

/// A str as UTF-8. Throws ErrorSet if it has lone surrogates.
std::string utf8(PyObject* text);

/// The qualified name of the object's type: "float", "list", "Array".
std::string type_name(PyObject* object);

/// The repr of an exact int or str, or of a tuple of them, truncated to one line; for any other
/// object its type name. Never runs the object's own code, so it is safe in every message.
std::string short_repr(PyObject* object);

/// A number of items as Python's sequences count them. OverflowError if they cannot have as many,
/// which a broadcast array can where addresses have 32 bits.
inline Py_ssize_t python_length(std::int64_t count) {
  if (!std::in_range<Py_ssize_t>(count)) {
    raise(PyExc_OverflowError, "%lld items are more than the %zd of a Python sequence",
          static_cast<long long>(count), PY_SSIZE_T_MAX);
  }
  return static_cast<Py_ssize_t>(count);
}

}  // namespace refarray::extension
