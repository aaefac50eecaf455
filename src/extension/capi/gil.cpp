// Owns what refarray keeps in the dict of an interpreter, and so for as long as that is there.
#include "extension/capi/gil.hpp"

#include <memory>

#include "extension/capi/errors.hpp"

namespace refarray::extension {
namespace {
constexpr const char* kLeaseKey = "refarray._native.lease";
}

PyObject* interpreter_dict() {
  PyObject* dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (dict == nullptr) {  // it is made when first asked for, and CPython drops why it could not be
    PyErr_NoMemory();
    throw ErrorSet{};
  }
  return dict;
}

InterpreterLease* InterpreterLease::of_current_interpreter() {
  PyObject* dict = interpreter_dict();
  std::unique_ptr<InterpreterLease> fresh(new InterpreterLease(PyInterpreterState_Get()));
  const Ref capsule = check(PyCapsule_New(fresh.get(), kLeaseKey, &end));
  (void)fresh.release();  // the capsule's from here on
  // setdefault, because another thread may be importing us too: the capsule that comes second goes
  // at the end of this function, and its lease with it.
  const Ref kept = check(PyObject_CallMethod(dict, "setdefault", "sO", kLeaseKey, capsule.get()));
  return static_cast<InterpreterLease*>(PyCapsule_GetPointer(kept.get(), kLeaseKey))->share();
}

/// The capsule's destructor: the interpreter goes away.
void InterpreterLease::end(PyObject* capsule) noexcept {
  auto* lease = static_cast<InterpreterLease*>(PyCapsule_GetPointer(capsule, kLeaseKey));
  lease->alive_.store(false, std::memory_order_release);
  lease->drop();
}

}  // namespace refarray::extension
