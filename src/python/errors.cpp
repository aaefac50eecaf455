// Owns the mapping from C++ exceptions to Python exceptions.
#include "errors.hpp"

#include <new>

#include "refarray/core/error.hpp"
#include "state.hpp"

namespace refarray::python {
namespace {

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
  }
  return PyExc_SystemError;
}

}  // namespace

void translate_current_exception() noexcept {
  try {  // boundary: the one translator
    throw;
  } catch (const ErrorSet&) {           // boundary: the indicator is set already
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

}  // namespace refarray::python
