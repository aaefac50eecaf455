// Owns what the Stream and Event types share: objects that hold one pointer of the runtime's, and
// how their types are made.
#pragma once

#include <Python.h>

#include <initializer_list>
#include <new>
#include <utility>
#include <vector>

#include "extension/capi/compat.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/ref.hpp"
#include "extension/devices/devices.hpp"
#include "extension/module/state.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

using runtime::EventPtr;
using runtime::StreamPtr;

/// A Python object that holds one pointer of the runtime's.
template <class Pointer>
struct Held {
  PyObject head;
  Pointer value;
};

template <class Pointer>
Pointer& held(PyObject* self) noexcept {
  return reinterpret_cast<Held<Pointer>*>(self)->value;
}
inline StreamPtr& stream_in(PyObject* self) noexcept { return held<StreamPtr>(self); }
inline EventPtr& event_in(PyObject* self) noexcept { return held<EventPtr>(self); }

template <class Pointer>
Ref wrap(PyTypeObject* type, Pointer pointer) {
  auto* self = PyObject_New(Held<Pointer>, type);
  if (self == nullptr) throw ErrorSet{};
  ::new (&self->value) Pointer(std::move(pointer));
  return Ref::steal(reinterpret_cast<PyObject*>(self));
}

template <class Pointer>
void dealloc(PyObject* self) noexcept {
  const Ref type = Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(self)));  // its objects own it
  {
    const ErrorGuard guard;
    const GilRelease others_run(!compat::is_finalizing());  // a driver may be called
    held<Pointer>(self).~Pointer();
  }
  PyObject_Free(self);
}

/// Whether the object is a Stream of this extension, in whatever interpreter its type was made.
inline bool is_stream(PyObject* object) noexcept {
  return compat::dealloc_of(Py_TYPE(object)) == reinterpret_cast<void*>(&dealloc<StreamPtr>);
}

/// Something of the runtime's that may call a driver, without the GIL.
template <class Body>
auto without_gil(Body body) {
  const DriverCalls here;
  return body();
}

inline PyTypeObject* type_in(const State& state, Slot slot) noexcept {
  return reinterpret_cast<PyTypeObject*>(state.get(slot));
}

inline const State& state_of_type(PyTypeObject* type) noexcept {
  return *static_cast<State*>(PyType_GetModuleState(type));
}

/// The stream in an argument that must be a Stream. Throws kType.
const StreamPtr& to_stream_object(const State& state, PyObject* object);
/// A device that has streams. Throws kValue for memory that has none.
core::Device to_streamed_device(const State& state, PyObject* object);

/// A final type of such objects.
template <class Pointer, auto kNew>
Ref make_type(PyObject* module, const char* name, const char* doc, PyMethodDef* methods,
              PyGetSetDef* getters, std::initializer_list<PyType_Slot> more) {
  std::vector<PyType_Slot> slots{
      {Py_tp_doc, const_cast<char*>(doc)},
      {Py_tp_new, slot_pointer<kNew>()},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc<Pointer>)},
      {Py_tp_methods, methods},
      {Py_tp_getset, getters},
  };
  slots.insert(slots.end(), more);
  slots.push_back({0, nullptr});
  PyType_Spec spec{name, static_cast<int>(sizeof(Held<Pointer>)), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots.data()};
  return compat::make_immortal(check(compat::new_type(module, &spec)));
}

/// event_type.cpp.
Ref make_event_type(PyObject* module);

}  // namespace refarray::extension
