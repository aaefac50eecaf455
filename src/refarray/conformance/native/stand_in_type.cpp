// The Python type StandIn, which spies put between a real producer and a consumer.
#include <cstdio>
#include <cstring>
#include <utility>

#include "kit_module.hpp"
#include "stand_in.hpp"

namespace adversary {
namespace {

struct StandInObject {
  PyObject_HEAD StandIn* stand_in;
  bool issued;
};

StandInObject& self_of(PyObject* self) { return *reinterpret_cast<StandInObject*>(self); }

/// Destructor of the consumer's capsule. If it was not consumed, the producer's capsule deletes the
/// tensor.
void destroy(PyObject* capsule) noexcept {
  const char* name = PyCapsule_GetName(capsule);
  auto* stand_in = static_cast<StandIn*>(PyCapsule_GetContext(capsule));
  Event event = event_here();
  event.kind = "capsule";
  std::snprintf(event.name, sizeof event.name, "%s", name == nullptr ? "" : name);
  const bool taken = std::strcmp(event.name, kNames[stand_in->versioned()]) != 0;
  stand_in->record(std::move(event));
  stand_in->release_capsule(taken);
}

PyObject* make_stand_in(PyObject* module, PyObject* capsule) {
  return guarded([&] {
    int versioned = -1;
    for (const int each : {0, 1}) {
      if (PyCapsule_IsValid(capsule, kNames[each]) != 0) versioned = each;
    }
    if (versioned < 0) fail(PyExc_ValueError, "%R is not an unconsumed DLPack capsule", capsule);
    void* managed = PyCapsule_GetPointer(capsule, kNames[versioned]);
    if (versioned == 1 &&
        static_cast<DLManagedTensorVersioned*>(managed)->version.major != DLPACK_MAJOR_VERSION) {
      fail(PyExc_NotImplementedError, "the struct is of another major version");
    }
    Ref out(allocate(state_of(module).stand_in_type));
    if (PyCapsule_SetName(capsule, kUsedNames[versioned]) != 0) throw PythonError{};
    try {
      self_of(out.get()).stand_in = &StandIn::make(capsule, managed, versioned == 1);
    } catch (...) {
      PyCapsule_SetName(capsule, kNames[versioned]);  // the capsule still owns the tensor
      throw;
    }
    return out.release();
  });
}

PyObject* capsule(PyObject* self, PyObject*) {
  return guarded([&] {
    StandIn& stand_in = *self_of(self).stand_in;
    if (std::exchange(self_of(self).issued, true)) {
      fail(PyExc_RuntimeError, "this managed tensor was exported before");
    }
    Ref out(PyCapsule_New(stand_in.managed(), kNames[stand_in.versioned()], nullptr));
    if (PyCapsule_SetContext(out.get(), &stand_in) != 0 ||
        PyCapsule_SetDestructor(out.get(), destroy) != 0) {
      throw PythonError{};
    }
    return out.release();
  });
}

PyObject* events(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref out(PyList_New(0));
    for (const Event& each : self_of(self).stand_in->events()) {
      const Ref row(Py_BuildValue("(sLkNNNs)", each.kind, static_cast<long long>(each.nanoseconds),
                                  each.thread, PyBool_FromLong(each.attached),
                                  PyBool_FromLong(each.interpreter), PyBool_FromLong(each.raised),
                                  each.name));
      if (PyList_Append(out.get(), row.get()) < 0) throw PythonError{};
    }
    return out.release();
  });
}

/// Whether the consumer kept the destructor of its capsule.
PyObject* has_destructor(PyObject*, PyObject* capsule) {
  return PyBool_FromLong(PyCapsule_GetDestructor(capsule) == destroy);
}

/// For a consumer that cleared the destructor of its capsule: releases the producer's capsule if
/// the deleter has run.
PyObject* release_capsule(PyObject* self, PyObject*) {
  if (self_of(self).stand_in->deleter_calls() > 0) self_of(self).stand_in->release_capsule(true);
  return Py_NewRef(Py_None);
}

PyObject* get_calls(PyObject* self, void*) {
  return PyLong_FromLong(self_of(self).stand_in->deleter_calls());
}
PyObject* get_deleter(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).stand_in->has_deleter());
}
PyObject* get_original(PyObject* self, void*) {
  return PyLong_FromVoidPtr(self_of(self).stand_in->original());
}
PyObject* get_consumer_wrote(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).stand_in->consumer_wrote());
}
PyObject* get_producer_wrote(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).stand_in->producer_wrote());
}

void dealloc(PyObject* self) { release(self); }

PyMethodDef methods[] = {
    {"capsule", capsule, METH_NOARGS,
     "Return the consumer's capsule; a second call raises RuntimeError."},
    {"events", events, METH_NOARGS,
     "Return (kind, nanoseconds, thread, attached, interpreter, raised, name) of each event."},
    {"release_capsule", release_capsule, METH_NOARGS,
     "Release the producer's capsule if the deleter has run."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef getset[] = {
    {"deleter_calls", get_calls, nullptr, nullptr, nullptr},
    {"has_deleter", get_deleter, nullptr, nullptr, nullptr},
    {"original", get_original, nullptr, "The address of the producer's managed tensor.", nullptr},
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
PyType_Spec type_spec = {"adversary.StandIn", sizeof(StandInObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, type_slots};

PyMethodDef functions[] = {
    {"stand_in", make_stand_in, METH_O,
     "Consume the capsule of a real producer; return a StandIn for its tensor."},
    {"has_destructor", has_destructor, METH_O, "Whether a StandIn's capsule kept its destructor."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_stand_in(PyObject* module, ModuleState& state) {
  state.stand_in_type = add_type(module, type_spec);
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
