// Owns the managed tensors that were taken: read, written, and deleted at awkward moments.
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
    {"adopt", adopt, METH_O, "Owned, from the address of a versioned managed tensor."},
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

void add_owned(PyObject* module, ModuleState& state) {
  state.owned_type = add_type(module, owned_spec);
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
