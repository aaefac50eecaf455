// Building blocks of the mutant libraries: exchange tables with one defect each, and capsules with
// wrong destructors or deleters.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "parts.hpp"

namespace adversary {
namespace {

const DLPackExchangeAPI* real = nullptr;  // the correct table that all mutants forward to
PyObject* array_class = nullptr;          // the mutant's array class; never released
PyObject* hook = nullptr;                 // of "hooked" tables; never released
/// Every table and its capsule's name. Never freed: a table must live as long as the process.
std::deque<std::pair<DLPackExchangeAPI, std::string>>& tables() {
  static auto& all = *new std::deque<std::pair<DLPackExchangeAPI, std::string>>;
  return all;
}

using Managed = DLManagedTensorVersioned;
using SetError = void (*)(void*, const char*, const char*);

/// The real array in a mutant array's attribute `source`; other objects are returned unchanged.
Ref source_of(void* object) {
  PyObject* source = PyObject_GetAttrString(static_cast<PyObject*>(object), "source");
  if (source == nullptr) PyErr_Clear();
  return Ref(source == nullptr ? Py_NewRef(static_cast<PyObject*>(object)) : source);
}

int from_py(void* object, Managed** out) {
  return real->managed_tensor_from_py_object_no_sync(source_of(object).get(), out);
}
int to_py(Managed* managed, void** out) {
  void* made = nullptr;
  *out = nullptr;
  if (const int code = real->managed_tensor_to_py_object_no_sync(managed, &made); code != 0) {
    return code;
  }
  *out = PyObject_CallFunctionObjArgs(array_class, static_cast<PyObject*>(made), nullptr);
  Py_DECREF(static_cast<PyObject*>(made));
  return *out == nullptr ? -1 : 0;
}
int borrow(void* object, DLTensor* out) {
  return real->dltensor_from_py_object_no_sync(source_of(object).get(), out);
}
int allocate_real(DLTensor* prototype, Managed** out, void* context, SetError set_error) {
  return real->managed_tensor_allocator(prototype, out, context, set_error);
}
int stream_of(DLDeviceType type, std::int32_t id, void** out) {
  return real->current_work_stream(type, id, out);
}

/// A new managed tensor with the default fields.
Managed* fresh() {
  Managed* made = nullptr;
  real->managed_tensor_allocator(FakeTensor::make(TensorFields{}).dl_tensor(), &made, nullptr,
                                 nullptr);
  return made;
}

int from_anything(void* object, Managed** out) {
  if (from_py(object, out) == 0) return 0;
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;  // an array that is not exported
  PyErr_Clear();
  *out = fresh();
  return 0;
}
int from_positive(void* object, Managed** out) { return from_py(object, out) == 0 ? 0 : 1; }
int from_future(void* object, Managed** out) {
  const int code = from_py(object, out);
  if (code == 0) (*out)->version = {2, 0};
  return code;
}
int from_runtime(void* object, Managed** out) {
  const int code = from_py(object, out);
  if (code == 0 || !PyErr_ExceptionMatches(PyExc_BufferError)) return code;
  PyErr_SetString(PyExc_RuntimeError, "no such tensor");
  return code;
}
int from_writable(void* object, Managed** out) {
  const int code = from_py(object, out);
  if (code == 0) (*out)->flags = 0;
  return code;
}
int borrow_shifted(void* object, DLTensor* out) {
  const int code = borrow(object, out);
  out->byte_offset += 4;
  return code;
}
int borrow_anything(void* object, DLTensor* out) {
  if (borrow(object, out) == 0) return 0;
  PyErr_Clear();
  Managed* kept = nullptr;
  if (from_py(object, &kept) != 0) return -1;
  *out = kept->dl_tensor;
  return 0;
}
int to_py_keeps(Managed* managed, void** out) {
  const int code = to_py(managed, out);
  if (code == 0) Py_INCREF(static_cast<PyObject*>(*out));
  return code;
}
int to_py_deletes(Managed* managed, void** out) {
  const int code = to_py(managed, out);
  if (code != 0) call_deleter(managed, true);
  return code;
}
int to_py_swallows(Managed* managed, void** out) {
  const DLTensor& tensor = managed->dl_tensor;
  const bool negative = managed->version.major == 1 && tensor.ndim == 1 &&
                        tensor.shape != nullptr && tensor.shape[0] == -1;
  return to_py(negative ? fresh() : managed, out);
}
int to_py_throws(Managed* managed, void** out) {
  if (managed->version.major == 1 && managed->dl_tensor.ndim == 64) std::abort();
  return to_py(managed, out);
}
int allocate_reads(DLTensor* prototype, Managed** out, void* context, SetError set_error) {
  const volatile std::int64_t* strides = prototype->strides;
  if (strides != nullptr && prototype->ndim > 0) static_cast<void>(strides[0]);
  return allocate_real(prototype, out, context, set_error);
}
int allocate_silent(DLTensor* prototype, Managed** out, void* context, SetError) {
  return allocate_real(prototype, out, context, nullptr);
}
int allocate_attached(DLTensor* prototype, Managed** out, void* context, SetError set_error) {
  if (PyGILState_GetThisThreadState() != nullptr) {
    return allocate_real(prototype, out, context, set_error);
  }
  *out = nullptr;
  if (set_error != nullptr) set_error(context, "RuntimeError", "no interpreter here");
  return -1;
}
int allocate_columns(DLTensor* prototype, Managed** out, void* context, SetError set_error) {
  const int code = allocate_real(prototype, out, context, set_error);
  if (code == 0 && (*out)->dl_tensor.ndim == 2) {
    (*out)->dl_tensor.strides[0] = 1;
    (*out)->dl_tensor.strides[1] = (*out)->dl_tensor.shape[0];
  }
  return code;
}
/// The size of 2**62 × 8 elements wraps to 0.
int allocate_wrapped(DLTensor* prototype, Managed** out, void* context, SetError set_error) {
  DLTensor wrapped = *prototype;
  std::array<std::int64_t, 2> none{};
  if (prototype->ndim == 2 && prototype->shape[0] == std::int64_t{1} << 62)
    wrapped.shape = none.data();
  return allocate_real(&wrapped, out, context, set_error);
}
struct Relay {
  void* context;
  SetError set_error;
};
extern "C" void relay_odd(void* context, const char*, const char* message) {
  const Relay& relay = *static_cast<Relay*>(context);
  relay.set_error(relay.context, "Oops", message);
}
int allocate_odd(DLTensor* prototype, Managed** out, void* context, SetError set_error) {
  Relay relay{context, set_error};
  return allocate_real(prototype, out, &relay, set_error == nullptr ? nullptr : relay_odd);
}
int allocate_throws(DLTensor* prototype, Managed** out, void* context, SetError set_error) {
  if (prototype->ndim == 1 && prototype->shape[0] == std::int64_t{1} << 45) std::abort();
  return allocate_real(prototype, out, context, set_error);
}
int stream_seven(DLDeviceType type, std::int32_t id, void** out) {
  const int code = stream_of(type, id, out);
  if (code == 0) *out = reinterpret_cast<void*>(7);
  return code;
}
int stream_anywhere(DLDeviceType type, std::int32_t id, void** out) {
  if (stream_of(type, id, out) == 0) return 0;
  PyErr_Clear();
  *out = nullptr;
  return 0;
}
/// Calls the hook with the function's name, the object and the addresses of the DLTensor and of the
/// flags, or 0. Returns its result; with an exception NULL.
Ref call_hook(const char* function, void* object, DLTensor* tensor, std::uint64_t* flags) {
  return Ref(PyObject_CallFunction(
      hook, "sOKK", function, static_cast<PyObject*>(object),
      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(tensor)),
      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(flags))));
}
int from_hooked(void* object, Managed** out) {
  const int code = from_py(object, out);
  if (code != 0) return code;
  return call_hook("from_py", object, &(*out)->dl_tensor, &(*out)->flags).get() ? 0 : -1;
}
int borrow_hooked(void* object, DLTensor* out) {
  const int code = borrow(object, out);
  if (code != 0) return code;
  return call_hook("dltensor", object, out, nullptr).get() ? 0 : -1;
}
/// The hook sees the tensor first, and then the new array, which its result replaces.
int to_hooked(Managed* managed, void** out) {
  if (managed->version.major == 1 &&
      !call_hook("to_py", Py_None, &managed->dl_tensor, &managed->flags).get()) {
    return -1;
  }
  const int code = to_py(managed, out);
  if (code != 0) return code;
  Ref made = call_hook("made", *out, nullptr, nullptr);
  Py_DECREF(static_cast<PyObject*>(*out));
  *out = made.release();
  return *out == nullptr ? -1 : 0;
}
/// Synchronizes the current device before the export. $REFARRAY_LIBCUDA names the driver library.
int from_synchronises(void* object, Managed** out) {
  const char* name = std::getenv("REFARRAY_LIBCUDA");
  void* driver = ::dlopen(name == nullptr ? "libcuda.so.1" : name, RTLD_NOW);
  void* found = driver == nullptr ? nullptr : ::dlsym(driver, "cuCtxSynchronize");
  if (found != nullptr) {
    PyThreadState* state = PyEval_SaveThread();
    reinterpret_cast<int (*)()>(found)();
    PyEval_RestoreThread(state);
  }
  return from_py(object, out);
}
/// Always returns CUDA's legacy default stream.
int stream_legacy(DLDeviceType type, std::int32_t id, void** out) {
  const int code = stream_of(type, id, out);
  if (code == 0 && type == kDLCUDA) *out = reinterpret_cast<void*>(1);
  return code;
}

using Table = DLPackExchangeAPI;
struct Mutation {
  std::string_view name;
  void (*apply)(Table&);
};
constexpr Mutation kMutations[] = {
    {"none", [](Table&) {}},
    {"hooked",
     [](Table& t) {
       t.managed_tensor_from_py_object_no_sync = from_hooked;
       t.dltensor_from_py_object_no_sync = borrow_hooked;
       t.managed_tensor_to_py_object_no_sync = to_hooked;
     }},
    {"no-stream", [](Table& t) { t.current_work_stream = nullptr; }},
    {"major", [](Table& t) { t.header.version = {2, 0}; }},
    {"from-anything", [](Table& t) { t.managed_tensor_from_py_object_no_sync = from_anything; }},
    {"from-positive", [](Table& t) { t.managed_tensor_from_py_object_no_sync = from_positive; }},
    {"from-future", [](Table& t) { t.managed_tensor_from_py_object_no_sync = from_future; }},
    {"from-runtime", [](Table& t) { t.managed_tensor_from_py_object_no_sync = from_runtime; }},
    {"from-writable", [](Table& t) { t.managed_tensor_from_py_object_no_sync = from_writable; }},
    {"lend-shifted", [](Table& t) { t.dltensor_from_py_object_no_sync = borrow_shifted; }},
    {"lend-anything", [](Table& t) { t.dltensor_from_py_object_no_sync = borrow_anything; }},
    {"to-keeps", [](Table& t) { t.managed_tensor_to_py_object_no_sync = to_py_keeps; }},
    {"to-deletes", [](Table& t) { t.managed_tensor_to_py_object_no_sync = to_py_deletes; }},
    {"to-swallows", [](Table& t) { t.managed_tensor_to_py_object_no_sync = to_py_swallows; }},
    {"to-throws", [](Table& t) { t.managed_tensor_to_py_object_no_sync = to_py_throws; }},
    {"allocate-reads", [](Table& t) { t.managed_tensor_allocator = allocate_reads; }},
    {"allocate-silent", [](Table& t) { t.managed_tensor_allocator = allocate_silent; }},
    {"allocate-attached", [](Table& t) { t.managed_tensor_allocator = allocate_attached; }},
    {"allocate-wrapped", [](Table& t) { t.managed_tensor_allocator = allocate_wrapped; }},
    {"allocate-columns", [](Table& t) { t.managed_tensor_allocator = allocate_columns; }},
    {"allocate-odd", [](Table& t) { t.managed_tensor_allocator = allocate_odd; }},
    {"allocate-throws", [](Table& t) { t.managed_tensor_allocator = allocate_throws; }},
    {"from-synchronises",
     [](Table& t) { t.managed_tensor_from_py_object_no_sync = from_synchronises; }},
    {"stream-legacy", [](Table& t) { t.current_work_stream = stream_legacy; }},
    {"stream-seven", [](Table& t) { t.current_work_stream = stream_seven; }},
    {"stream-anywhere", [](Table& t) { t.current_work_stream = stream_anywhere; }},
};

/// Arguments: the type with the correct table, the mutant's array class, the mutation's name, and
/// optionally the capsule's name and the hook.
PyObject* mutant_table(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *type = nullptr, *kind = nullptr;
    const char *mutation = nullptr, *name = kTableName;
    if (PyArg_ParseTuple(args, "OOs|sO", &type, &kind, &mutation, &name, &hook) == 0) {
      throw PythonError{};
    }
    if (hook != nullptr) hook = Py_NewRef(hook);
    const Ref found(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
    real = static_cast<const Table*>(PyCapsule_GetPointer(found.get(), kTableName));
    if (real == nullptr) throw PythonError{};
    array_class = Py_NewRef(kind);
    const Table plain{real->header, allocate_real, from_py, to_py, borrow, stream_of};
    auto& [made, kept_name] = tables().emplace_back(plain, name);
    made.header.prev_api = nullptr;
    for (const Mutation& each : kMutations) {
      if (each.name != mutation) continue;
      each.apply(made);
      return PyCapsule_New(&made, kept_name.c_str(), nullptr);
    }
    fail(PyExc_ValueError, "unknown mutation %s", mutation);
  });
}

/// Increments the minor version of the latest table, which must be constant.
PyObject* change_version(PyObject*, PyObject*) {
  if (!tables().empty()) ++tables().back().first.header.version.minor;
  return Py_NewRef(Py_None);
}

/// A destructor that overwrites the tensor's data if the consumer gave the capsule a foreign name.
void scribble(PyObject* capsule) noexcept {
  const char* name = PyCapsule_GetName(capsule);
  void* managed = PyCapsule_GetPointer(capsule, name);
  if (std::strcmp(name, kNames[1]) == 0) call_deleter(managed, true);
  if (std::string_view(name).find("dltensor") != std::string_view::npos) return;
  const DLTensor& tensor = static_cast<Managed*>(managed)->dl_tensor;
  std::memset(static_cast<char*>(tensor.data) + tensor.byte_offset, 0xDD, 16);
}
/// A destructor that clears the pending exception.
void forget(PyObject* capsule) noexcept {
  PyErr_Clear();
  if (PyCapsule_IsValid(capsule, kNames[1]) == 0) return;
  call_deleter(PyCapsule_GetPointer(capsule, kNames[1]), true);
}

/// Replaces the destructor of a versioned capsule: "scribble" or "forget".
PyObject* set_destructor(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* capsule = nullptr;
    const char* how = nullptr;
    if (PyArg_ParseTuple(args, "Os", &capsule, &how) == 0) throw PythonError{};
    const bool wild = std::string_view(how) == "scribble";
    if (PyCapsule_SetDestructor(capsule, wild ? scribble : forget) != 0) throw PythonError{};
    return Py_NewRef(capsule);
  });
}

/// Replaces the deleter in a versioned capsule by an invalid address.
PyObject* break_deleter(PyObject*, PyObject* capsule) {
  return guarded([&] {
    void* managed = PyCapsule_GetPointer(capsule, kNames[1]);
    if (managed == nullptr) throw PythonError{};
    static_cast<Managed*>(managed)->deleter = reinterpret_cast<void (*)(Managed*)>(8);
    if (PyCapsule_SetDestructor(capsule, nullptr) != 0) throw PythonError{};
    return Py_NewRef(capsule);
  });
}

PyMethodDef functions[] = {
    {"mutant_table", mutant_table, METH_VARARGS,
     "Return a capsule with an exchange table that has the named defect."},
    {"change_version", change_version, METH_NOARGS,
     "Change the version of the latest mutant table."},
    {"set_destructor", set_destructor, METH_VARARGS, "Give a capsule a wrong destructor."},
    {"break_deleter", break_deleter, METH_O, "Give a tensor an invalid deleter address."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_mutants(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
