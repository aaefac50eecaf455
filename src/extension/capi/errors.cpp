// The mapping from C++ exceptions to Python exceptions, and text for messages.
#include "extension/capi/errors.hpp"

#include <new>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/state.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

/// Raises refarray.DriverError with the attributes code, name and call. If that fails, the error
/// indicator holds the failure instead.
void set_driver_error(const runtime::DriverError& error) noexcept {
  const Ref module = State::module_of_current_interpreter();
  PyObject* type = module ? State::of_module(module.get()).get(Slot::kDriverError) : nullptr;
  if (type == nullptr) type = PyExc_RuntimeError;
  const Ref made = Ref::steal(calling<PyObject_CallFunction>(type, "s", error.what()));
  if (!made) return;
  const Ref status = Ref::steal(PyLong_FromLong(error.status()));
  const Ref name = Ref::steal(PyUnicode_FromString(error.name().c_str()));
  const Ref call = Ref::steal(PyUnicode_FromString(error.call().c_str()));
  if (!status || !name || !call) return;
  if (PyObject_SetAttrString(made.get(), "code", status.get()) < 0 ||
      PyObject_SetAttrString(made.get(), "name", name.get()) < 0 ||
      PyObject_SetAttrString(made.get(), "call", call.get()) < 0) {
    return;
  }
  PyErr_SetObject(type, made.get());
}

/// An exception of the module state, or a base class of it after module teardown.
Ref own_error(Slot slot, PyObject* base) noexcept {
  const Ref module = State::module_of_current_interpreter();
  PyObject* type = module ? State::of_module(module.get()).get(slot) : nullptr;
  return Ref::borrow(type == nullptr ? base : type);
}

/// The built-in exception type of a fault, or a base class of ours.
PyObject* builtin_type(core::Fault fault) noexcept {
  switch (fault) {
    case core::Fault::kType:
      return PyExc_TypeError;
    case core::Fault::kValue:
    case core::Fault::kLinAlg:
      return PyExc_ValueError;
    case core::Fault::kIndex:
    case core::Fault::kAxis:
      return PyExc_IndexError;
    case core::Fault::kOverflow:
      return PyExc_OverflowError;
    case core::Fault::kBuffer:
    case core::Fault::kNoCopy:
      return PyExc_BufferError;
    case core::Fault::kMemory:
      return PyExc_MemoryError;
    case core::Fault::kDriver:
    case core::Fault::kLedger:
      return PyExc_RuntimeError;
  }
  return PyExc_SystemError;
}

/// LedgerError, which is defined in Python; a ledger that is open has imported its module.
Ref ledger_error() {
  const Ref module = Ref::steal(calling<PyImport_ImportModule>("refarray._ledger"));
  return module ? Ref::steal(PyObject_GetAttrString(module.get(), "LedgerError")) : Ref();
}

Ref type_of(core::Fault fault) {
  PyObject* const base = builtin_type(fault);
  if (fault == core::Fault::kNoCopy) return own_error(Slot::kNoCopyError, base);
  if (fault == core::Fault::kAxis) return own_error(Slot::kAxisError, base);
  if (fault == core::Fault::kLinAlg) return own_error(Slot::kLinAlgError, base);
  if (fault == core::Fault::kLedger) return ledger_error();
  return Ref::borrow(base);
}

void translate() {
  try {  // boundary: the only translator
    throw;
  } catch (const ErrorSet&) {                    // boundary: already set
  } catch (const runtime::DriverError& error) {  // boundary: a driver call failed
    set_driver_error(error);
  } catch (const core::Error& error) {  // boundary: errors of the core
    if (PyErr_Occurred() != nullptr)
      report_unraisable(nullptr);  // left set by a deleter that ran during the unwinding
    const Ref type = type_of(error.fault());
    if (!type) return;  // the import failed, and its error is set
    // Not PyErr_SetString(): a message may quote foreign text that is not valid UTF-8.
    PyErr_Format(type.get(), "%s", error.what());
  } catch (const std::bad_alloc&) {  // boundary: out of memory
    PyErr_NoMemory();
  } catch (const std::exception& error) {  // boundary: anything else is a bug in refarray
    PyErr_Format(PyExc_SystemError, "refarray: unexpected C++ exception: %s", error.what());
  }
}

}  // namespace

bool is_ledger_error_pending() {
  if (!core::is_any_ledger_open() || PyErr_Occurred() == nullptr) return false;
  PyObject* const pending = compat::take_raised();
  const Ref type = ledger_error();
  if (!type) compat::clear_raised();
  compat::restore_raised(pending);
  return type && PyErr_ExceptionMatches(type.get()) != 0;
}

namespace detail {
void set_stack_exhausted() noexcept {
  compat::park_at_exit([] {
    PyErr_SetString(
        PyExc_RecursionError,
        "maximum recursion depth exceeded: 32 KiB of the thread's stack are left, or a "
        "quarter of it (half from CPython 3.14 on), which code that refarray calls may need; "
        "threading.stack_size() makes threads with more");
  });
}
}  // namespace detail

void translate_current_exception() noexcept { compat::park_at_exit(&translate); }

// --- Text for messages.

std::string utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes == nullptr) throw ErrorSet{};
  return {bytes, static_cast<std::size_t>(size)};
}

std::string type_name(PyObject* object) {
  return utf8(check(PyType_GetQualName(Py_TYPE(object))).get());
}

namespace {

bool is_plain(PyObject* object) noexcept {
  return PyLong_CheckExact(object) || PyUnicode_CheckExact(object);
}
bool is_plain_tuple(PyObject* object) noexcept {
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < compat::tuple_size(object); ++i)
    if (!is_plain(compat::tuple_item(object, i))) return false;
  return true;
}

}  // namespace

std::string short_repr(PyObject* object) {
  constexpr Py_ssize_t kLongest = 60;  // characters
  if (!is_plain(object) && !is_plain_tuple(object)) return type_name(object);
  Ref text = Ref::steal(calling<PyObject_Repr>(object));
  if (!text) {
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw ErrorSet{};
    compat::clear_raised();  // more digits than sys.set_int_max_str_digits() allows
    return "an int with too many digits to print";
  }
  if (check(PyUnicode_GetLength(text.get())) <= kLongest) return utf8(text.get());
  return utf8(check(PyUnicode_Substring(text.get(), 0, kLongest)).get()) + "...";
}

}  // namespace refarray::extension
