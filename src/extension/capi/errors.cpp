// Owns the mapping from C++ exceptions to Python exceptions.
#include "extension/capi/errors.hpp"

#include <new>

#include "core/error.hpp"
#include "extension/module/state.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

/// A DriverError with what a program may want to know as attributes. The indicator is set in any
/// case.
void set_driver_error(const runtime::DriverError& error) noexcept {
  const Ref module = State::module_of_current_interpreter();
  PyObject* type = module ? State::of_module(module.get()).get(Slot::kDriverError) : nullptr;
  if (type == nullptr) type = PyExc_RuntimeError;
  const Ref made = Ref::steal(PyObject_CallFunction(type, "s", error.what()));
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

/// NoCopyError lives in the module state; without a module (it is being torn down) its base serves.
Ref no_copy_error() noexcept {
  const Ref module = State::module_of_current_interpreter();
  PyObject* type = module ? State::of_module(module.get()).get(Slot::kNoCopyError) : nullptr;
  return Ref::borrow(type == nullptr ? PyExc_BufferError : type);
}

/// For every fault but kNoCopy.
PyObject* builtin_type(core::Fault fault) noexcept {
  switch (fault) {
    case core::Fault::kType:
      return PyExc_TypeError;
    case core::Fault::kValue:
      return PyExc_ValueError;
    case core::Fault::kIndex:
      return PyExc_IndexError;
    case core::Fault::kOverflow:
      return PyExc_OverflowError;
    case core::Fault::kBuffer:
    case core::Fault::kNoCopy:
      return PyExc_BufferError;
    case core::Fault::kMemory:
      return PyExc_MemoryError;
    case core::Fault::kDriver:
      return PyExc_RuntimeError;
  }
  return PyExc_SystemError;
}

}  // namespace

void translate_current_exception() noexcept {
  try {  // boundary: the one translator
    throw;
  } catch (const ErrorSet&) {                    // boundary: the indicator is set already
  } catch (const runtime::DriverError& error) {  // boundary: a driver's
    set_driver_error(error);
  } catch (const core::Error& error) {  // boundary: the core's faults
    if (PyErr_Occurred() != nullptr)
      PyErr_WriteUnraisable(nullptr);  // left by a deleter that ran meanwhile
    const Ref type = error.fault() == core::Fault::kNoCopy
                         ? no_copy_error()
                         : Ref::borrow(builtin_type(error.fault()));
    // Not PyErr_SetString: what a message quotes of somebody's text need not be UTF-8.
    PyErr_Format(type.get(), "%s", error.what());
  } catch (const std::bad_alloc&) {  // boundary: allocation
    PyErr_NoMemory();
  } catch (
      const std::exception& error) {  // boundary: anything else is a defect of ours, and says so
    PyErr_Format(PyExc_SystemError, "refarray: unexpected C++ exception: %s", error.what());
  }
}

}  // namespace refarray::extension
