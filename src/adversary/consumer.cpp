// Owns the consumer's side: reading and taking capsules, and deleting what was taken at awkward
// moments.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "module.hpp"

namespace adversary {
namespace {

OwnedObject& self_of(PyObject* self) { return *reinterpret_cast<OwnedObject*>(self); }

/// The limited API has no name for it before 3.13; every CPython exports one of these two.
bool finalizing() noexcept {
  using Ask = int (*)();
  static const Ask ask = [] {
    void* found = ::dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (found == nullptr) found = ::dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    return reinterpret_cast<Ask>(found);
  }();
  return ask != nullptr && ask() != 0;
}

/// The managed tensor leaves the Python object; NULL when it left before.
void* let_go(OwnedObject& owned) noexcept { return std::exchange(owned.managed, nullptr); }

void* held(OwnedObject& owned) {
  if (owned.managed == nullptr) fail(PyExc_RuntimeError, "this managed tensor was dropped before");
  return owned.managed;
}

/// As let_go(), for methods.
void* taken(PyObject* self) {
  held(self_of(self));
  return let_go(self_of(self));
}

/// Deletes what it was given when the process ends, long after the interpreter did.
class Graveyard {
 public:
  Graveyard() = default;
  Graveyard(const Graveyard&) = delete;
  Graveyard& operator=(const Graveyard&) = delete;
  ~Graveyard() {
    for (std::thread& thread : threads_) thread.join();
    for (const auto& [managed, versioned] : tensors_) call_deleter(managed, versioned);
    const std::string line = "graveyard: " + std::to_string(threads_.size()) + " threads, " +
                             std::to_string(tensors_.size()) + " tensors\n";
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, line.data(), line.size());
  }
  void keep(void* managed, bool versioned) {
    const std::lock_guard lock(mutex_);
    tensors_.emplace_back(managed, versioned);
  }
  void add(std::thread thread) {
    const std::lock_guard lock(mutex_);
    threads_.push_back(std::move(thread));
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<void*, bool>> tensors_;
  std::vector<std::thread> threads_;
};

Graveyard& graveyard() {
  static Graveyard it;
  return it;
}

const DLTensor& tensor_in(void* managed, bool versioned) {
  return versioned ? static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor
                   : static_cast<DLManagedTensor*>(managed)->dl_tensor;
}

void set(const Ref& dict, const char* key, Ref value) {
  if (PyDict_SetItemString(dict.get(), key, value.get()) < 0) throw PythonError{};
}

void describe_tensor(const Ref& out, const DLTensor& tensor) {
  const auto entries = [&](const std::int64_t* at) {
    return at == nullptr ? Ref(Py_NewRef(Py_None)) : shape_tuple(at, tensor.ndim);
  };
  set(out, "data", Ref(PyLong_FromVoidPtr(tensor.data)));
  set(out, "device",
      Ref(Py_BuildValue("(ii)", static_cast<int>(tensor.device.device_type),
                        tensor.device.device_id)));
  set(out, "ndim", Ref(PyLong_FromLong(tensor.ndim)));
  set(out, "dtype",
      Ref(Py_BuildValue("(iii)", tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)));
  set(out, "shape", entries(tensor.shape));
  set(out, "strides", entries(tensor.strides));
  set(out, "byte_offset", Ref(PyLong_FromUnsignedLongLong(tensor.byte_offset)));
}

/// Which unused name the capsule carries; throws otherwise.
bool kind_of(PyObject* capsule) {
  if (!PyCapsule_CheckExact(capsule)) fail(PyExc_TypeError, "%R is not a capsule", capsule);
  for (const bool versioned : {false, true}) {
    if (PyCapsule_IsValid(capsule, kNames[versioned]) != 0) return versioned;
  }
  fail(PyExc_ValueError, "the capsule is named %s", PyCapsule_GetName(capsule));
}

PyObject* inspect(PyObject*, PyObject* capsule) {
  return guarded([&] {
    const char* name = PyCapsule_GetName(capsule);
    if (name == nullptr) fail(PyExc_ValueError, "the capsule has no name");
    const bool versioned = std::strstr(name, "versioned") != nullptr;
    Ref out = describe(PyCapsule_GetPointer(capsule, name), versioned, name);
    set(out, "managed", Ref(PyLong_FromVoidPtr(PyCapsule_GetPointer(capsule, name))));
    set(out, "name_address", Ref(PyLong_FromVoidPtr(const_cast<char*>(name))));
    set(out, "destructor", Ref(PyBool_FromLong(PyCapsule_GetDestructor(capsule) != nullptr)));
    set(out, "context", Ref(PyLong_FromVoidPtr(PyCapsule_GetContext(capsule))));
    return out.release();
  });
}

PyObject* name_of(PyObject*, PyObject* capsule) {
  return guarded([&] {
    const char* name = PyCapsule_GetName(capsule);
    if (name == nullptr && PyErr_Occurred() != nullptr) throw PythonError{};
    return name == nullptr ? Py_NewRef(Py_None) : PyUnicode_FromString(name);
  });
}

PyObject* take(PyObject* module, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* names[] = {"capsule", "rename", "clear_destructor", nullptr};
    PyObject* capsule = nullptr;
    int rename = 1;
    int clear = 0;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pp", const_cast<char**>(names), &capsule,
                                    &rename, &clear) == 0) {
      throw PythonError{};
    }
    const bool versioned = kind_of(capsule);
    void* managed = PyCapsule_GetPointer(capsule, kNames[versioned]);
    if (clear != 0 && PyCapsule_SetDestructor(capsule, nullptr) != 0) throw PythonError{};
    if (rename != 0 && PyCapsule_SetName(capsule, kUsedNames[versioned]) != 0) throw PythonError{};
    return new_owned(state_of(module).owned_type, managed, versioned).release();
  });
}

PyObject* rename_capsule(PyObject*, PyObject* args) {
  PyObject* capsule = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "Os", &capsule, &name) == 0) return nullptr;
  static std::vector<std::string*>& kept =
      *new std::vector<std::string*>;  // names outlive capsules
  kept.push_back(new std::string(name));
  if (PyCapsule_SetName(capsule, kept.back()->c_str()) != 0) return nullptr;
  Py_RETURN_NONE;
}

/// Drops the last item of a list while `error` is pending; returns what is pending afterwards.
PyObject* drop_pending(PyObject*, PyObject* args) {
  PyObject* list = nullptr;
  PyObject* error = nullptr;
  if (PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &error) == 0) return nullptr;
  const Py_ssize_t size = PyList_Size(list);
  if (size == 0) return PyErr_Format(PyExc_IndexError, "nothing to drop");
  PyObject* last = Py_NewRef(PyList_GetItem(list, size - 1));
  if (PyList_SetSlice(list, size - 1, size, nullptr) < 0) return nullptr;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(last);
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* value = PyErr_GetRaisedException();
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
#endif
  return value == nullptr ? Py_NewRef(Py_None) : value;
}

PyObject* drop(PyObject* self, PyObject*) {
  return guarded([&] {
    call_deleter(taken(self), self_of(self).versioned);
    return PyErr_Occurred() != nullptr ? nullptr
                                       : Py_NewRef(Py_None);  // LIFE-15: raises what was left set
  });
}

/// The deleter runs in a thread that Python does not know; the caller keeps or releases the GIL
/// meanwhile.
PyObject* drop_in_thread(PyObject* self, PyObject* hold_gil) {
  return guarded([&] {
    const bool versioned = self_of(self).versioned;
    std::thread thread([managed = taken(self), versioned] { call_deleter(managed, versioned); });
    if (hold_gil == Py_True) {
      thread.join();
    } else {
      PyThreadState* saved = PyEval_SaveThread();
      thread.join();
      PyEval_RestoreThread(saved);
    }
    return Py_NewRef(Py_None);
  });
}

/// As a deleter may that forwards to ours: in a thread of Python's, but without the GIL.
PyObject* drop_without_gil(PyObject* self, PyObject*) {
  return guarded([&] {
    void* managed = taken(self);
    PyThreadState* saved = PyEval_SaveThread();
    call_deleter(managed, self_of(self).versioned);
    PyEval_RestoreThread(saved);
    return Py_NewRef(Py_None);
  });
}

/// A managed tensor changes interpreters: its address leaves one and is owned in the other.
PyObject* leave(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(taken(self)); });
}
PyObject* adopt(PyObject* module, PyObject* address) {
  return guarded([&] {
    void* managed = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred() != nullptr) throw PythonError{};
    return new_owned(state_of(module).owned_type, managed, /*versioned=*/true).release();
  });
}

PyObject* keep_until_exit(PyObject* self, PyObject*) {
  return guarded([&] {
    graveyard().keep(taken(self), self_of(self).versioned);
    return Py_NewRef(Py_None);
  });
}

/// A native thread deletes when finalization has begun (False) or is over (True).
PyObject* drop_at_finalization(PyObject* self, PyObject* over) {
  return guarded([&] {
    const bool versioned = self_of(self).versioned;
    const bool wait_for_end = over == Py_True;
    graveyard().add(std::thread([managed = taken(self), versioned, wait_for_end] {
      while (Py_IsInitialized() != 0 && (wait_for_end || !finalizing())) std::this_thread::yield();
      call_deleter(managed, versioned);
    }));
    return Py_NewRef(Py_None);
  });
}

PyObject* read_bytes(PyObject* self, PyObject* count) {
  return guarded([&] {
    const DLTensor& tensor = tensor_in(held(self_of(self)), self_of(self).versioned);
    const auto* at = static_cast<const char*>(tensor.data) + tensor.byte_offset;
    return PyBytes_FromStringAndSize(at, to_int(count, 0, 1 << 20));
  });
}

PyObject* write_bytes(PyObject* self, PyObject* bytes) {
  return guarded([&] {
    const DLTensor& tensor = tensor_in(held(self_of(self)), self_of(self).versioned);
    const Ref text(PyBytes_FromObject(bytes));
    std::memcpy(static_cast<char*>(tensor.data) + tensor.byte_offset, PyBytes_AsString(text.get()),
                static_cast<std::size_t>(PyBytes_Size(text.get())));
    return Py_NewRef(Py_None);
  });
}

PyObject* fields(PyObject* self, PyObject*) {
  return guarded(
      [&] { return describe(held(self_of(self)), self_of(self).versioned, "").release(); });
}

void dealloc(PyObject* self) {
  if (void* managed = let_go(self_of(self)); managed != nullptr)
    call_deleter(managed, self_of(self).versioned);
  release(self);
}

PyMethodDef owned_methods[] = {
    {"drop", drop, METH_NOARGS, "Calls the deleter."},
    {"drop_in_thread", drop_in_thread, METH_O, "... in a native thread; keep the GIL meanwhile?"},
    {"drop_without_gil", drop_without_gil, METH_NOARGS, "... here, the GIL given up."},
    {"leave", leave, METH_NOARGS, "The managed tensor's address; `adopt` owns it again."},
    {"drop_at_finalization", drop_at_finalization, METH_O, "... once exit began; or ended?"},
    {"keep_until_exit", keep_until_exit, METH_NOARGS, "... from a C++ static destructor."},
    {"read", read_bytes, METH_O, "That many bytes from element (0,...,0) on."},
    {"write", write_bytes, METH_O, "Puts bytes there, read-only or not."},
    {"fields", fields, METH_NOARGS, "All fields, as `inspect` gives them."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot owned_slots[] = {
    {Py_tp_methods, owned_methods},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
};
PyType_Spec owned_spec = {"adversary.Owned", sizeof(OwnedObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, owned_slots};

PyMethodDef functions[] = {
    {"inspect", inspect, METH_O,
     "The fields behind a capsule of any name, as a dict; consumes nothing."},
    {"name_of", name_of, METH_O, "The capsule's name; what it points to is not looked at."},
    {"take", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(take)),
     METH_VARARGS | METH_KEYWORDS, "Takes a capsule as consumers do, or as careless ones do."},
    {"adopt", adopt, METH_O, "Owned, from the address of a versioned managed tensor."},
    {"rename", rename_capsule, METH_VARARGS, "Gives a capsule another name."},
    {"drop_pending", drop_pending, METH_VARARGS,
     "Drops a list's last item with an exception pending."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Ref new_owned(PyTypeObject* type, void* managed, bool versioned) {
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (made == nullptr) call_deleter(managed, versioned);  // it came to us all the same
  Ref out(made);
  OwnedObject& owned = self_of(out.get());
  owned.managed = managed, owned.versioned = versioned;
  return out;
}

Ref describe(void* managed, bool versioned, const char* name) {
  Ref out(PyDict_New());
  set(out, "name", Ref(PyUnicode_FromString(name)));
  set(out, "struct",
      Ref(PyUnicode_FromString(versioned ? "DLManagedTensorVersioned" : "DLManagedTensor")));
  if (versioned) {
    const auto& self = *static_cast<DLManagedTensorVersioned*>(managed);
    set(out, "version", Ref(Py_BuildValue("(II)", self.version.major, self.version.minor)));
    set(out, "flags", Ref(PyLong_FromUnsignedLongLong(self.flags)));
    set(out, "manager_ctx", Ref(PyLong_FromVoidPtr(self.manager_ctx)));
    set(out, "deleter", Ref(PyBool_FromLong(self.deleter != nullptr)));
    if (self.version.major != DLPACK_MAJOR_VERSION) return out;
  } else {
    const auto& self = *static_cast<DLManagedTensor*>(managed);
    set(out, "version", Ref(Py_NewRef(Py_None)));
    set(out, "flags", Ref(Py_NewRef(Py_None)));
    set(out, "manager_ctx", Ref(PyLong_FromVoidPtr(self.manager_ctx)));
    set(out, "deleter", Ref(PyBool_FromLong(self.deleter != nullptr)));
  }
  describe_tensor(out, tensor_in(managed, versioned));
  return out;
}

void add_consumer(PyObject* module, ModuleState& state) {
  state.owned_type = add_type(module, owned_spec);
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
