// Owned: a consumed managed tensor. Reads and writes its memory, and calls its deleter in unusual
// threads and at unusual times.
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kit_module.hpp"

namespace adversary {
namespace {

OwnedObject& self_of(PyObject* self) { return struct_of<OwnedObject>(self); }

/// Takes the managed tensor out of the Python object; NULL if it was taken before.
void* release_managed(OwnedObject& owned) noexcept { return std::exchange(owned.managed, nullptr); }

void* managed_of(OwnedObject& owned) {
  if (owned.managed == nullptr) fail(PyExc_RuntimeError, "this managed tensor was dropped before");
  return owned.managed;
}

/// As release_managed(), but raises RuntimeError if it was taken before.
void* take_managed(PyObject* self) {
  managed_of(self_of(self));
  return release_managed(self_of(self));
}

/// Joins threads and calls deleters in a static destructor, after the interpreter's end.
class ExitQueue {
 public:
  ExitQueue() = default;
  ExitQueue(const ExitQueue&) = delete;
  ExitQueue& operator=(const ExitQueue&) = delete;
  ~ExitQueue() {
    for (std::thread& thread : threads_) thread.join();
    for (const auto& [managed, versioned] : tensors_) call_deleter(managed, versioned);
    const std::string line = "exit queue: " + std::to_string(threads_.size()) + " threads, " +
                             std::to_string(tensors_.size()) + " tensors\n";
    write_text(kStandardOutput, line);
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

ExitQueue& exit_queue() {
  static ExitQueue it;
  return it;
}

PyObject* drop(PyObject* self, PyObject*) {
  return guarded([&] {
    call_deleter(take_managed(self), self_of(self).versioned);
    // LIFE-15: raises an exception that the deleter left set.
    return PyErr_Occurred() != nullptr ? nullptr : Py_NewRef(Py_None);
  });
}

/// Calls the deleter in a thread without a Python thread state. The caller keeps or releases the
/// GIL meanwhile.
PyObject* drop_in_thread(PyObject* self, PyObject* hold_gil) {
  return guarded([&] {
    const bool versioned = self_of(self).versioned;
    std::thread thread(
        [managed = take_managed(self), versioned] { call_deleter(managed, versioned); });
    if (hold_gil == Py_True) {
      thread.join();
    } else {
      PyThreadState* saved = PyEval_SaveThread();
      thread.join();
      park_at_exit([saved] { PyEval_RestoreThread(saved); });
    }
    return Py_NewRef(Py_None);
  });
}

/// Calls the deleter in a thread that has a thread state but not the GIL, as a library that wraps
/// our tensor may do.
PyObject* drop_without_gil(PyObject* self, PyObject*) {
  return guarded([&] {
    void* managed = take_managed(self);
    PyThreadState* saved = PyEval_SaveThread();
    call_deleter(managed, self_of(self).versioned);
    park_at_exit([saved] { PyEval_RestoreThread(saved); });
    return Py_NewRef(Py_None);
  });
}

// leave() and adopt() move a managed tensor to another interpreter by its address.
PyObject* leave(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(take_managed(self)); });
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
    exit_queue().keep(take_managed(self), self_of(self).versioned);
    return Py_NewRef(Py_None);
  });
}

/// Calls the deleter in a native thread once finalization has begun (False) or ended (True).
PyObject* drop_at_finalization(PyObject* self, PyObject* over) {
  return guarded([&] {
    const bool versioned = self_of(self).versioned;
    const bool wait_for_end = over == Py_True;
    exit_queue().add(std::thread([managed = take_managed(self), versioned, wait_for_end] {
      while (Py_IsInitialized() != 0 && (wait_for_end || !is_finalizing()))
        std::this_thread::yield();
      call_deleter(managed, versioned);
    }));
    return Py_NewRef(Py_None);
  });
}

PyObject* read_bytes(PyObject* self, PyObject* count) {
  return guarded([&] {
    const DLTensor& tensor = tensor_in(managed_of(self_of(self)), self_of(self).versioned);
    const auto* at = static_cast<const char*>(tensor.data) + tensor.byte_offset;
    return PyBytes_FromStringAndSize(at, static_cast<Py_ssize_t>(to_int(count, 0, 1 << 20)));
  });
}

PyObject* write_bytes(PyObject* self, PyObject* bytes) {
  return guarded([&] {
    const DLTensor& tensor = tensor_in(managed_of(self_of(self)), self_of(self).versioned);
    const Ref text(PyBytes_FromObject(bytes));
    std::memcpy(static_cast<char*>(tensor.data) + tensor.byte_offset, PyBytes_AsString(text.get()),
                static_cast<std::size_t>(PyBytes_Size(text.get())));
    return Py_NewRef(Py_None);
  });
}

PyObject* fields(PyObject* self, PyObject*) {
  return guarded(
      [&] { return describe(managed_of(self_of(self)), self_of(self).versioned, "").release(); });
}

void dealloc(PyObject* self) {
  if (void* managed = release_managed(self_of(self)); managed != nullptr)
    call_deleter(managed, self_of(self).versioned);
  release(self);
}

PyMethodDef owned_methods[] = {
    {"drop", drop, METH_NOARGS, "Call the deleter."},
    {"drop_in_thread", drop_in_thread, METH_O,
     "Call the deleter in a native thread; the argument says whether to keep the GIL meanwhile."},
    {"drop_without_gil", drop_without_gil, METH_NOARGS,
     "Call the deleter in this thread without the GIL."},
    {"leave", leave, METH_NOARGS,
     "Give up ownership and return the managed tensor's address, for adopt()."},
    {"drop_at_finalization", drop_at_finalization, METH_O,
     "Call the deleter once finalization has begun or, if the argument is True, ended."},
    {"keep_until_exit", keep_until_exit, METH_NOARGS,
     "Call the deleter in a C++ static destructor."},
    {"read", read_bytes, METH_O, "Return that many bytes from element (0,...,0) on."},
    {"write", write_bytes, METH_O, "Write bytes there, even if the tensor is read-only."},
    {"fields", fields, METH_NOARGS, "Return all fields, as inspect() does."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot owned_slots[] = {
    {Py_tp_methods, owned_methods},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
};
PyType_Spec owned_spec = {"adversary.Owned", kBasicSize<OwnedObject>, 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, owned_slots};

PyMethodDef functions[] = {
    {"adopt", adopt, METH_O, "Return an Owned for the address of a versioned managed tensor."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Ref new_owned(PyTypeObject* type, void* managed, bool versioned) {
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (made == nullptr) call_deleter(managed, versioned);  // we own it already
  Ref out(made);
  OwnedObject& owned = self_of(out.get());
  owned.managed = managed, owned.versioned = versioned;
  return out;
}

void add_owned(PyObject* module, ModuleState& state) {
  state.owned_type = add_type(module, owned_spec);
  add_functions(module, functions);
}

}  // namespace adversary
