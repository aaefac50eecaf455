// The exchange table of a spy's type: forwards to the table of the array behind the spy, and
// reports every exported tensor to the spy.
#include <deque>

#include "kit_module.hpp"

namespace adversary {
namespace {

const DLPackExchangeAPI& table_behind(PyObject* array) {
  return table_of_type(reinterpret_cast<PyObject*>(Py_TYPE(array)));
}

/// Reports a failed call to the spy, keeping the pending exception, and throws PythonError.
[[noreturn]] void report_failure(PyObject* spy, PyObject* call) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* reported = PyObject_CallMethod(spy, "_table_failed", "OO", call, value);
  if (reported == nullptr) PyErr_Clear();
  Py_XDECREF(reported);
  PyErr_Restore(type, value, traceback);
  throw PythonError{};
}

/// Consumes the capsule that the spy returned: its tensor is a stand-in or the original.
DLManagedTensorVersioned* consume(PyObject* capsule) {
  void* managed = PyCapsule_GetPointer(capsule, kNames[1]);
  if (managed == nullptr || PyCapsule_SetName(capsule, kUsedNames[1]) != 0) throw PythonError{};
  return static_cast<DLManagedTensorVersioned*>(managed);
}

int from_py(void* object, DLManagedTensorVersioned** out) {
  *out = nullptr;
  return status_of([&] {
    auto* spy = static_cast<PyObject*>(object);
    const Ref array(PyObject_GetAttrString(spy, "_array"));
    const Ref call(PyObject_CallMethod(spy, "_table_called", "s", "from_py"));
    DLManagedTensorVersioned* made = nullptr;
    if (table_behind(array.get()).managed_tensor_from_py_object_no_sync(array.get(), &made) != 0) {
      report_failure(spy, call.get());
    }
    PyObject* original = PyCapsule_New(made, kNames[1], delete_unconsumed);
    if (original == nullptr) call_deleter(made, true);
    const Ref capsule(original);
    const Ref exported(PyObject_CallMethod(spy, "_table_gave", "OO", call.get(), capsule.get()));
    *out = consume(exported.get());
  });
}

int borrow_dltensor(void* object, DLTensor* out) {
  return status_of([&] {
    auto* spy = static_cast<PyObject*>(object);
    const Ref array(PyObject_GetAttrString(spy, "_array"));
    const Ref call(PyObject_CallMethod(spy, "_table_called", "s", "dltensor"));
    if (table_behind(array.get()).dltensor_from_py_object_no_sync(array.get(), out) != 0) {
      report_failure(spy, call.get());
    }
    const Ref reported(PyObject_CallMethod(spy, "_table_lent", "O", call.get()));
  });
}

/// Copies the table of `type` and replaces the two functions that take an array object.
PyObject* spy_table(PyObject*, PyObject* type) {
  return guarded([&] {
    static std::deque<DLPackExchangeAPI>& tables =
        *new std::deque<DLPackExchangeAPI>;  // never freed
    const DLPackExchangeAPI& real = table_of_type(type);
    if (real.header.version.major != DLPACK_MAJOR_VERSION) {
      fail(PyExc_NotImplementedError, "the table is of another major version");
    }
    DLPackExchangeAPI& made = tables.emplace_back(real);
    made.header.prev_api = nullptr;
    if (made.managed_tensor_from_py_object_no_sync != nullptr) {
      made.managed_tensor_from_py_object_no_sync = from_py;
    }
    if (made.dltensor_from_py_object_no_sync != nullptr) {
      made.dltensor_from_py_object_no_sync = borrow_dltensor;
    }
    return PyCapsule_New(&made, kTableName, nullptr);
  });
}

PyMethodDef functions[] = {
    {"spy_table", spy_table, METH_O,
     "Return a capsule with an exchange table for spies, which forwards to that of an array type."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_spy_table(PyObject* module) { add_functions(module, functions); }

}  // namespace adversary
