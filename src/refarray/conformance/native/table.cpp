// Table: exchange tables with missing, wrong or invalid members.
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kit_module.hpp"

namespace adversary {
namespace {

struct TableObject {
  [[no_unique_address]] Head head;
  DLPackExchangeAPI* table;  // lives as long as the process (CAPI-04)
};

constexpr auto kPoison = static_cast<std::uintptr_t>(0xDDDDDDDDDDDDDDDD);
std::atomic<int> from_py_calls{0};

/// With the limited API: only whether the thread has a thread state, not whether it holds the GIL.
bool attached() noexcept {
#ifdef Py_LIMITED_API
  return PyGILState_GetThisThreadState() != nullptr;
#else
  return PyGILState_Check() != 0;
#endif
}

/// Exports the managed tensor of the object's attribute `tensor`.
int from_py_give(void* object, DLManagedTensorVersioned** out) {
  if (!attached()) std::abort();  // CAPI-30: the caller must be attached
  ++from_py_calls;
  return status_of([&] {
    const Ref tensor(PyObject_GetAttrString(static_cast<PyObject*>(object), "tensor"));
    if (!is_tensor(tensor.get())) fail(PyExc_TypeError, "`tensor` is not an adversary.Tensor");
    *out = static_cast<DLManagedTensorVersioned*>(issue(struct_of<TensorObject>(tensor.get())));
  });
}
template <int Code>
int from_py_nothing(void*, DLManagedTensorVersioned** out) {
  ++from_py_calls;
  *out = nullptr;
  return Code;
}
/// Returns -1, as it should, or another code, with an exception.
template <int Code>
int from_py_raise(void* object, DLManagedTensorVersioned** out) {
  PyErr_SetString(PyExc_BufferError, Code == -1 ? "the table refuses" : "the table refuses with 1");
  return from_py_nothing<Code>(object, out);
}
int from_py_untouched(void*, DLManagedTensorVersioned**) {
  ++from_py_calls;
  return 0;
}
int from_py_give_and_raise(void* object, DLManagedTensorVersioned** out) {
  if (from_py_give(object, out) == 0)
    PyErr_SetString(PyExc_RuntimeError, "raised although it succeeded");
  return 0;
}

int allocator_refuse(DLTensor*, DLManagedTensorVersioned** out, void* context,
                     void (*set_error)(void*, const char*, const char*)) {
  *out = nullptr;
  if (set_error != nullptr) set_error(context, "MemoryError", "this table allocates nothing");
  return -1;
}
int to_py_refuse(DLManagedTensorVersioned*, void** out) {
  *out = nullptr;
  PyErr_SetString(PyExc_BufferError, "this table imports nothing");
  return -1;
}
int dltensor_refuse(void*, DLTensor*) {
  PyErr_SetString(PyExc_BufferError, "this table exports no DLTensor");
  return -1;
}
int stream_null(DLDeviceType, std::int32_t, void** out) {
  *out = nullptr;
  return 0;
}

struct NamedFromPy {
  std::string_view name;
  DLPackManagedTensorFromPyObjectNoSync function;
};
constexpr NamedFromPy kFromPy[] = {
    {"give", from_py_give},           {"raise", from_py_raise<-1>},
    {"silent", from_py_nothing<-1>},  {"null", from_py_nothing<0>},
    {"untouched", from_py_untouched}, {"give_and_raise", from_py_give_and_raise},
    {"positive", from_py_raise<1>},
};

DLPackManagedTensorFromPyObjectNoSync choose_from_py(std::string_view name) {
  for (const NamedFromPy& row : kFromPy) {
    if (row.name == name) return row.function;
  }
  fail(PyExc_ValueError, "unknown from_py function");
}

TableObject& table_of(PyObject* self) { return struct_of<TableObject>(self); }

/// Keywords: version, prev (a Table or "self"), from_py (a name in kFromPy), missing and poisoned
/// (member names), unmapped (everything after the header is inaccessible).
PyObject* table(PyObject* module, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* names[] = {"version",  "prev",     "from_py", "missing",
                                  "poisoned", "unmapped", nullptr};
    unsigned major = 1;
    unsigned minor = 3;
    PyObject* prev = Py_None;
    const char* from_py = "give";
    const char* missing = "";
    const char* poison = "";
    int unmapped = 0;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|$(II)Osssp", const_cast<char**>(names), &major,
                                    &minor, &prev, &from_py, &missing, &poison, &unmapped) == 0) {
      throw PythonError{};
    }
    PyTypeObject* type = state_of(module).table_type;
    Ref out(allocate(type));
    const std::size_t used =
        unmapped != 0 ? sizeof(DLPackExchangeAPIHeader) : sizeof(DLPackExchangeAPI);
    auto* api = reinterpret_cast<DLPackExchangeAPI*>(Pages(used).last(used));
    table_of(out.get()).table = api;
    api->header.version = {major, minor};
    if (PyObject_TypeCheck(prev, type)) {
      api->header.prev_api = &table_of(prev).table->header;
    } else if (prev != Py_None) {
      api->header.prev_api = &api->header;
    }
    if (unmapped != 0) return out.release();
    DLPackExchangeAPI full{api->header,  allocator_refuse, choose_from_py(from_py),
                           to_py_refuse, dltensor_refuse,  stream_null};
    const auto member = [&](auto& field, std::string_view name) {
      if (name == missing) field = nullptr;
      if (name == poison)
        field = reinterpret_cast<std::remove_reference_t<decltype(field)>>(kPoison);
    };
    member(full.managed_tensor_allocator, "allocator");
    member(full.managed_tensor_from_py_object_no_sync, "from_py");
    member(full.managed_tensor_to_py_object_no_sync, "to_py");
    member(full.dltensor_from_py_object_no_sync, "dltensor");
    member(full.current_work_stream, "stream");
    *api = full;
    return out.release();
  });
}

PyObject* table_capsule(PyObject* self, PyObject* args) {
  const char* name = kTableName;
  if (PyArg_ParseTuple(args, "|s", &name) == 0) return nullptr;
  static std::vector<std::string*>& names = *new std::vector<std::string*>;  // never freed
  names.push_back(new std::string(name));
  return PyCapsule_New(table_of(self).table, names.back()->c_str(), nullptr);
}
PyObject* table_address(PyObject* self, void*) { return PyLong_FromVoidPtr(table_of(self).table); }

PyObject* calls(PyObject*, PyObject*) { return PyLong_FromLong(from_py_calls.exchange(0)); }

PyMethodDef table_methods[] = {
    {"capsule", table_capsule, METH_VARARGS, "Return the table in a capsule of the given name."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef table_getset[] = {
    {"address", table_address, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot table_slots[] = {
    {Py_tp_methods, table_methods},
    {Py_tp_getset, table_getset},
    {Py_tp_dealloc, reinterpret_cast<void*>(release)},
    {0, nullptr},
};
PyType_Spec table_spec = {"adversary.Table", kBasicSize<TableObject>, 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, table_slots};

PyMethodDef functions[] = {
    {"table", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(table)),
     METH_VARARGS | METH_KEYWORDS, "Return a Table, valid or malformed."},
    {"from_py_calls", calls, METH_NOARGS,
     "Return the number of from_py calls of all Tables since the last call."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_table(PyObject* module, ModuleState& state) {
  state.table_type = add_type(module, table_spec);
  add_functions(module, functions);
}

}  // namespace adversary
