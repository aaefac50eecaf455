// Owns the type Watched: a real producer's tensor behind a stand-in, as Python sees it.
#include <utility>

#include "module.hpp"
#include "watch.hpp"

namespace adversary {
namespace {

struct WatchedObject {
  PyObject_HEAD Watch* watch;
  bool issued;
};

WatchedObject& self_of(PyObject* self) { return *reinterpret_cast<WatchedObject*>(self); }

/// The consumer's capsule goes; untaken, its tensor goes with the producer's.
void destroy(PyObject* capsule) noexcept {
  const char* name = PyCapsule_GetName(capsule);
  auto* watch = static_cast<Watch*>(PyCapsule_GetContext(capsule));
  Event event = here();
  event.kind = "capsule";
  event.name = name == nullptr ? "" : name;
  const bool taken = event.name != kNames[watch->versioned()];
  watch->note(std::move(event));
  watch->let_go(taken);
}

PyObject* watch(PyObject* module, PyObject* capsule) {
  return guarded([&] {
    int versioned = -1;
    for (const int each : {0, 1}) {
      if (PyCapsule_IsValid(capsule, kNames[each]) != 0) versioned = each;
    }
    if (versioned < 0) fail(PyExc_ValueError, "%R is no capsule that may be taken", capsule);
    void* managed = PyCapsule_GetPointer(capsule, kNames[versioned]);
    if (versioned == 1 &&
        static_cast<DLManagedTensorVersioned*>(managed)->version.major != DLPACK_MAJOR_VERSION) {
      fail(PyExc_NotImplementedError, "the struct is of another major version");
    }
    Ref out(allocate(state_of(module).watched_type));
    if (PyCapsule_SetName(capsule, kUsedNames[versioned]) != 0) throw PythonError{};
    self_of(out.get()).watch = &Watch::make(capsule, managed, versioned == 1);
    return out.release();
  });
}

PyObject* capsule(PyObject* self, PyObject*) {
  return guarded([&] {
    Watch& watch = *self_of(self).watch;
    if (std::exchange(self_of(self).issued, true)) {
      fail(PyExc_RuntimeError, "this managed tensor was handed out before");
    }
    Ref out(PyCapsule_New(watch.managed(), kNames[watch.versioned()], nullptr));
    if (PyCapsule_SetContext(out.get(), &watch) != 0 ||
        PyCapsule_SetDestructor(out.get(), destroy) != 0) {
      throw PythonError{};
    }
    return out.release();
  });
}

PyObject* events(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref out(PyList_New(0));
    for (const Event& each : self_of(self).watch->events()) {
      const Ref row(Py_BuildValue("(sLkNNNs)", each.kind, static_cast<long long>(each.nanoseconds),
                                  each.thread, PyBool_FromLong(each.attached),
                                  PyBool_FromLong(each.interpreter), PyBool_FromLong(each.raised),
                                  each.name.c_str()));
      if (PyList_Append(out.get(), row.get()) < 0) throw PythonError{};
    }
    return out.release();
  });
}

/// Whether a capsule of ours still calls us when it goes.
PyObject* has_destructor(PyObject*, PyObject* held) {
  return PyBool_FromLong(PyCapsule_GetDestructor(held) == destroy);
}

/// What the consumer's capsule would do, had the consumer not cleared its destructor.
PyObject* settle(PyObject* self, PyObject*) {
  if (self_of(self).watch->deleter_calls() > 0) self_of(self).watch->let_go(true);
  return Py_NewRef(Py_None);
}

PyObject* get_calls(PyObject* self, void*) {
  return PyLong_FromLong(self_of(self).watch->deleter_calls());
}
PyObject* get_deleter(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).watch->has_deleter());
}
PyObject* get_original(PyObject* self, void*) {
  return PyLong_FromVoidPtr(self_of(self).watch->original());
}
PyObject* get_consumer_wrote(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).watch->consumer_wrote());
}
PyObject* get_producer_wrote(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).watch->producer_wrote());
}

void dealloc(PyObject* self) { release(self); }

PyMethodDef methods[] = {
    {"capsule", capsule, METH_NOARGS, "The consumer's capsule; a second call raises RuntimeError."},
    {"events", events, METH_NOARGS,
     "(kind, nanoseconds, thread, attached, interpreter, raised, name) of each, in order."},
    {"settle", settle, METH_NOARGS, "Drops the producer's capsule once its tensor has gone."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef getset[] = {
    {"deleter_calls", get_calls, nullptr, nullptr, nullptr},
    {"has_deleter", get_deleter, nullptr, nullptr, nullptr},
    {"original", get_original, nullptr, "Address of the producer's managed tensor.", nullptr},
    {"consumer_wrote", get_consumer_wrote, nullptr, nullptr, nullptr},
    {"producer_wrote", get_producer_wrote, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot type_slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
};
PyType_Spec type_spec = {"adversary.Watched", sizeof(WatchedObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, type_slots};

PyMethodDef functions[] = {
    {"watch", watch, METH_O, "Watched, from the capsule of a real producer, which is taken."},
    {"has_destructor", has_destructor, METH_O, "Whether a watched capsule kept its destructor."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_watch(PyObject* module, ModuleState& state) {
  state.watched_type = add_type(module, type_spec);
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
