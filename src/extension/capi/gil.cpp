// InterpreterLease: a capsule in the interpreter's dict, whose destructor marks the end.
#include "extension/capi/gil.hpp"

#include <memory>

#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {
constexpr const char* kLeaseKey = "refarray._native.lease";
}

void call_foreign_code(void (*body)(void*) noexcept, void* argument) noexcept {
  if (runtime::may_wait() && !compat::is_finalizing()) {
    const compat::AnyThreadState attached;
    const ErrorGuard guard;
    return body(argument);
  }
  if (!compat::is_attached()) return body(argument);
  const ErrorGuard guard;
  const Attached here;
  body(argument);
}

void call_driver_code(void (*body)(void*) noexcept, void* argument) noexcept {
  const GilRelease released(compat::is_attached() && !compat::is_finalizing());
  body(argument);
}

PyObject* interpreter_dict() {
  PyObject* dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (dict == nullptr) {  // CPython creates it lazily, and clears the MemoryError if that fails
    PyErr_NoMemory();
    throw ErrorSet{};
  }
  return dict;
}

InterpreterLease* InterpreterLease::of_current_interpreter() {
  PyObject* dict = interpreter_dict();
  std::unique_ptr<InterpreterLease> fresh(new InterpreterLease(PyInterpreterState_Get()));
  const Ref capsule = check(PyCapsule_New(fresh.get(), kLeaseKey, &end));
  (void)fresh.release();  // the capsule owns it from here on
  // setdefault(), because another thread may be importing the module too. The capsule that loses
  // the race is destroyed at the end of this function, together with its lease.
  const Ref kept =
      check(calling<PyObject_CallMethod>(dict, "setdefault", "sO", kLeaseKey, capsule.get()));
  return static_cast<InterpreterLease*>(PyCapsule_GetPointer(kept.get(), kLeaseKey))->share();
}

/// Destructor of the capsule: the interpreter is ending.
void InterpreterLease::end(PyObject* capsule) noexcept {
  auto* lease = static_cast<InterpreterLease*>(PyCapsule_GetPointer(capsule, kLeaseKey));
  lease->alive_.store(false, std::memory_order_release);
  lease->drop();
}

}  // namespace refarray::extension
