// Api: calls the functions of a real exchange table and checks them against dlpack.h.
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kit_module.hpp"

namespace adversary {
namespace {

struct ApiObject {
  [[no_unique_address]] Head head;
  const DLPackExchangeAPI* table;
};

constexpr auto kUnwritten = static_cast<std::uintptr_t>(0xDDDDDDDDDDDDDDDD);

const DLPackExchangeAPI& api_of(PyObject* self) { return *struct_of<ApiObject>(self).table; }
ModuleState& state_from(PyObject* self) {
  return *static_cast<ModuleState*>(PyType_GetModuleState(Py_TYPE(self)));
}

/// Checks a return code: 0 without an exception, or -1 with one, which is raised. Anything else
/// raises AssertionError.
bool succeeded(int code) {
  PyObject* pending = PyErr_Occurred();
  if (code == 0 && pending == nullptr) return true;
  if (code == -1 && pending != nullptr) throw PythonError{};
  PyErr_Clear();
  fail(PyExc_AssertionError, "returned %d %s an exception", code,
       pending == nullptr ? "without" : "with");
}

PyObject* api_new(PyObject* module, PyObject* type) {
  return guarded([&] {
    const DLPackExchangeAPI& table = table_of_type(type);
    Ref out(allocate(state_of(module).api_type));
    struct_of<ApiObject>(out.get()).table = &table;
    return out.release();
  });
}

/// Raises AssertionError with the pending exception as its cause.
[[noreturn]] void fail_with_cause(const char* text) {
  PyObject* cause = take_raised();
  PyErr_SetString(PyExc_AssertionError, text);
  Ref raised(take_raised());
  PyException_SetCause(raised.get(), cause);  // steals the reference
  PyErr_SetObject(PyExc_AssertionError, raised.get());
  throw PythonError{};
}

PyObject* api_from_py(PyObject* self, PyObject* object) {
  return guarded([&] {
    auto* out = reinterpret_cast<DLManagedTensorVersioned*>(kUnwritten);
    const int code = api_of(self).managed_tensor_from_py_object_no_sync(object, &out);
    if (code != 0 && out != nullptr) {
      fail_with_cause("A-32: *out is not NULL after a failure");
    }
    succeeded(code);
    if (out == nullptr || out == reinterpret_cast<DLManagedTensorVersioned*>(kUnwritten)) {
      fail(PyExc_AssertionError, "CAPI-11: succeeded without a tensor");
    }
    return new_owned(state_from(self).owned_type, out, true).release();
  });
}

/// On failure the caller keeps the tensor: the test must delete a Tensor; an Owned deletes
/// itself.
PyObject* api_to_py(PyObject* self, PyObject* from) {
  return guarded([&] {
    const bool owned = PyObject_TypeCheck(from, state_from(self).owned_type) != 0;
    void* managed =
        owned ? struct_of<OwnedObject>(from).managed : issue(struct_of<TensorObject>(from));
    void* out = nullptr;
    succeeded(api_of(self).managed_tensor_to_py_object_no_sync(
        static_cast<DLManagedTensorVersioned*>(managed), &out));
    if (owned) struct_of<OwnedObject>(from).managed = nullptr;
    return Ref(static_cast<PyObject*>(out)).release();
  });
}

/// The borrowed DLTensor as a dict.
PyObject* api_dltensor(PyObject* self, PyObject* object) {
  return guarded([&] {
    DLManagedTensor holder{};
    succeeded(api_of(self).dltensor_from_py_object_no_sync(object, &holder.dl_tensor));
    return describe(&holder, false, "").release();
  });
}

using Errors = std::vector<std::pair<std::string, std::string>>;
extern "C" void collect_error(void* context, const char* kind, const char* message) {
  static_cast<Errors*>(context)->emplace_back(kind, message);
}

/// Returns (code, Owned or None, [(kind, message), ...]). An exception that a failed call leaves
/// pending is dropped: SetError may set one. `thread`: call it in a native thread while this thread
/// keeps the GIL.
PyObject* api_allocate(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* names[] = {"prototype", "set_error", "thread", nullptr};
    PyObject* prototype = nullptr;
    int with_set_error = 1;
    int in_thread = 0;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O!|$pp", const_cast<char**>(names),
                                    state_from(self).tensor_type, &prototype, &with_set_error,
                                    &in_thread) == 0) {
      throw PythonError{};
    }
    Errors errors;
    DLManagedTensorVersioned* made = nullptr;
    int code = 1;
    DLTensor* tensor = struct_of<TensorObject>(prototype).tensor->dl_tensor();
    const auto allocate = [&, table = &api_of(self)] {
      code = table->managed_tensor_allocator(tensor, &made, &errors,
                                             with_set_error != 0 ? collect_error : nullptr);
    };
    if (in_thread != 0) {
      std::thread(allocate).join();
    } else {
      allocate();
    }
    const bool raised = PyErr_Occurred() != nullptr;
    PyErr_Clear();
    Ref out = made == nullptr ? Ref(Py_NewRef(Py_None))
                              : new_owned(state_from(self).owned_type, made, true);
    if (code == 0 && raised) fail(PyExc_AssertionError, "returned 0 with an exception");
    Ref list(PyList_New(0));
    for (const auto& [kind, message] : errors) {
      const Ref row(Py_BuildValue("(ss)", kind.c_str(), message.c_str()));
      if (PyList_Append(list.get(), row.get()) < 0) throw PythonError{};
    }
    return Py_BuildValue("(iNN)", code, out.release(), list.release());
  });
}

/// The stream as an int. AssertionError if the function did not write it.
PyObject* api_stream(PyObject* self, PyObject* args) {
  return guarded([&] {
    int type = 0;
    int id = 0;
    if (PyArg_ParseTuple(args, "ii", &type, &id) == 0) throw PythonError{};
    void* stream = reinterpret_cast<void*>(kUnwritten);
    succeeded(api_of(self).current_work_stream(static_cast<DLDeviceType>(type), id, &stream));
    if (stream == reinterpret_cast<void*>(kUnwritten))
      fail(PyExc_AssertionError, "CAPI-26: the stream was not written");
    return PyLong_FromVoidPtr(stream);
  });
}

PyObject* api_members(PyObject* self, PyObject*) {
  const DLPackExchangeAPI& api = api_of(self);
  return Py_BuildValue("{s(II)sNsNsNsNsNsNsN}", "version", api.header.version.major,
                       api.header.version.minor, "prev_api",
                       PyBool_FromLong(api.header.prev_api != nullptr), "allocator",
                       PyBool_FromLong(api.managed_tensor_allocator != nullptr), "from_py",
                       PyBool_FromLong(api.managed_tensor_from_py_object_no_sync != nullptr),
                       "to_py", PyBool_FromLong(api.managed_tensor_to_py_object_no_sync != nullptr),
                       "dltensor", PyBool_FromLong(api.dltensor_from_py_object_no_sync != nullptr),
                       "stream", PyBool_FromLong(api.current_work_stream != nullptr), "address",
                       PyLong_FromVoidPtr(const_cast<DLPackExchangeAPI*>(&api)));
}

/// Calls every function of a table in a static destructor, after the interpreter's end. Each must
/// work or fail cleanly; a wrong result ends the process with status 70.
class LateCaller {
 public:
  explicit LateCaller(const DLPackExchangeAPI& table) : table_(table) {}
  LateCaller(const LateCaller&) = delete;
  LateCaller& operator=(const LateCaller&) = delete;
  ~LateCaller() {
    FakeTensor& prototype = FakeTensor::make(TensorFields{});
    DLManagedTensorVersioned* made = nullptr;
    int codes[5] = {};
    codes[0] = table_.managed_tensor_allocator(prototype.dl_tensor(), &made, nullptr, nullptr);
    void* object = made;
    codes[1] = table_.managed_tensor_to_py_object_no_sync(made, &object);
    if (made != nullptr) call_deleter(made, true);  // we still own it
    codes[2] = table_.managed_tensor_from_py_object_no_sync(nullptr, &made);
    DLTensor borrowed{};
    codes[3] = table_.dltensor_from_py_object_no_sync(nullptr, &borrowed);
    codes[4] = table_.current_work_stream(kDLCUDA, 0, &object);
    const bool correct = codes[0] == 0 && codes[1] == -1 && codes[2] == -1 && codes[3] == -1 &&
                         codes[4] == -1 && object == nullptr && made == nullptr;
    if (!correct) std::_Exit(70);
    write_text(kStandardOutput, "called without an interpreter\n");
  }

 private:
  const DLPackExchangeAPI& table_;
};

PyObject* api_call_at_exit(PyObject* self, PyObject*) {
  static const LateCaller caller(api_of(self));
  return Py_NewRef(Py_None);
}

PyMethodDef api_methods[] = {
    {"from_py", api_from_py, METH_O,
     "Call managed_tensor_from_py_object_no_sync; return an Owned."},
    {"to_py", api_to_py, METH_O,
     "Call managed_tensor_to_py_object_no_sync with a Tensor or an Owned."},
    {"dltensor", api_dltensor, METH_O,
     "Call dltensor_from_py_object_no_sync; return the fields as a dict."},
    {"allocate", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(api_allocate)),
     METH_VARARGS | METH_KEYWORDS,
     "Call managed_tensor_allocator; return (code, Owned or None, errors)."},
    {"stream", api_stream, METH_VARARGS, "Return the current work stream of (device type, id)."},
    {"members", api_members, METH_NOARGS,
     "Return the version, which members are set, and the table's address."},
    {"call_at_exit", api_call_at_exit, METH_NOARGS,
     "Call all functions after the interpreter's end."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot api_slots[] = {
    {Py_tp_methods, api_methods},
    {Py_tp_dealloc, reinterpret_cast<void*>(release)},
    {0, nullptr},
};
PyType_Spec api_spec = {"adversary.Api", kBasicSize<ApiObject>, 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, api_slots};

PyMethodDef functions[] = {
    {"api", api_new, METH_O, "Return an Api for the exchange table of a type."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_api(PyObject* module, ModuleState& state) {
  state.api_type = add_type(module, api_spec);
  add_functions(module, functions);
}

}  // namespace adversary
