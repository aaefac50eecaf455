// Owns the exchange table that a spy's type offers: it forwards to the table of the array behind
// the spy, and tells the spy of every tensor that leaves by it.
#include <deque>

#include "module.hpp"

namespace adversary {
namespace {

constexpr const char* kAttribute = "__dlpack_c_exchange_api__";

/// The table of an array's type. Types that have one never let go of it (CAPI-04).
const DLPackExchangeAPI& table_of_type(PyObject* type) {
  const Ref found(PyObject_GetAttrString(type, kAttribute));
  const void* table = PyCapsule_GetPointer(found.get(), kTableName);
  if (table == nullptr) throw PythonError{};
  return *static_cast<const DLPackExchangeAPI*>(table);
}

const DLPackExchangeAPI& table_behind(PyObject* array) {
  return table_of_type(reinterpret_cast<PyObject*>(Py_TYPE(array)));
}

/// Tells the spy of a call that failed; the exception that is set stays the same.
[[noreturn]] void tell_failure(PyObject* spy, PyObject* call) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* told = PyObject_CallMethod(spy, "_table_failed", "OO", call, value);
  if (told == nullptr) PyErr_Clear();
  Py_XDECREF(told);
  PyErr_Restore(type, value, traceback);
  throw PythonError{};
}

/// The tensor of a capsule that the spy has looked at: a stand-in, or as it came.
DLManagedTensorVersioned* let_go(PyObject* capsule) {
  void* managed = PyCapsule_GetPointer(capsule, kNames[1]);
  if (managed == nullptr || PyCapsule_SetName(capsule, kUsedNames[1]) != 0) throw PythonError{};
  return static_cast<DLManagedTensorVersioned*>(managed);
}

/// What a capsule does whose tensor nobody came to look at.
void drop(PyObject* capsule) noexcept {
  if (PyCapsule_IsValid(capsule, kNames[1]) == 0) return;
  call_deleter(PyCapsule_GetPointer(capsule, kNames[1]), true);
}

/// 0 when the body ran to its end, else -1 with an exception set.
template <class Body>
int answered(Body&& body) noexcept {
  PyObject* done = guarded([&] {
    body();
    return Py_None;
  });
  return done == nullptr ? -1 : 0;
}

int from_py(void* object, DLManagedTensorVersioned** out) {
  *out = nullptr;
  return answered([&] {
    auto* spy = static_cast<PyObject*>(object);
    const Ref array(PyObject_GetAttrString(spy, "_array"));
    const Ref call(PyObject_CallMethod(spy, "_table_called", "s", "from_py"));
    DLManagedTensorVersioned* made = nullptr;
    if (table_behind(array.get()).managed_tensor_from_py_object_no_sync(array.get(), &made) != 0) {
      tell_failure(spy, call.get());
    }
    PyObject* plain = PyCapsule_New(made, kNames[1], drop);
    if (plain == nullptr) call_deleter(made, true);
    const Ref capsule(plain);
    const Ref given(PyObject_CallMethod(spy, "_table_gave", "OO", call.get(), capsule.get()));
    *out = let_go(given.get());
  });
}

int lend(void* object, DLTensor* out) {
  return answered([&] {
    auto* spy = static_cast<PyObject*>(object);
    const Ref array(PyObject_GetAttrString(spy, "_array"));
    const Ref call(PyObject_CallMethod(spy, "_table_called", "s", "dltensor"));
    if (table_behind(array.get()).dltensor_from_py_object_no_sync(array.get(), out) != 0) {
      tell_failure(spy, call.get());
    }
    const Ref told(PyObject_CallMethod(spy, "_table_lent", "O", call.get()));
  });
}

/// The rest has no array that could be watched, and is the real table's own.
PyObject* offer(PyObject*, PyObject* type) {
  return guarded([&] {
    static std::deque<DLPackExchangeAPI>& offered = *new std::deque<DLPackExchangeAPI>;
    const DLPackExchangeAPI& real = table_of_type(type);
    if (real.header.version.major != DLPACK_MAJOR_VERSION) {
      fail(PyExc_NotImplementedError, "the table is of another major version");
    }
    DLPackExchangeAPI& made = offered.emplace_back(real);
    made.header.prev_api = nullptr;
    if (made.managed_tensor_from_py_object_no_sync != nullptr) {
      made.managed_tensor_from_py_object_no_sync = from_py;
    }
    if (made.dltensor_from_py_object_no_sync != nullptr) {
      made.dltensor_from_py_object_no_sync = lend;
    }
    return PyCapsule_New(&made, kTableName, nullptr);
  });
}

PyMethodDef functions[] = {
    {"offer", offer, METH_O,
     "A capsule of a table for a type of spies: it forwards to that of an array's type."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_offer(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
