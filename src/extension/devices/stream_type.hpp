// Common parts of the Stream and Event types: Python objects that own a pointer to a runtime
// object.
#pragma once

#include <Python.h>

#include <initializer_list>
#include <new>
#include <utility>
#include <vector>

#include "extension/capi/compat.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/ref.hpp"
#include "extension/capi/state.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

using runtime::EventPtr;
using runtime::StreamPtr;

/// A Python object that owns a StreamPtr or an EventPtr.
template <class Pointer>
struct PointerObject {
  PyObject head;
  Pointer value;
};

template <class Pointer>
Pointer& pointer_in(PyObject* self) noexcept {
  return reinterpret_cast<PointerObject<Pointer>*>(self)->value;
}
inline StreamPtr& stream_in(PyObject* self) noexcept { return pointer_in<StreamPtr>(self); }
inline EventPtr& event_in(PyObject* self) noexcept { return pointer_in<EventPtr>(self); }

template <class Pointer>
Ref wrap(PyTypeObject* type, Pointer pointer) {
  auto* self = PyObject_New(PointerObject<Pointer>, type);
  if (self == nullptr) throw ErrorSet{};
  ::new (&self->value) Pointer(std::move(pointer));
  return Ref::steal(reinterpret_cast<PyObject*>(self));
}

template <class Pointer>
void dealloc(PyObject* self) noexcept {
  const Ref type =
      Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(self)));  // instances own their heap type
  {
    const ErrorGuard guard;
    const GilRelease released(!compat::is_finalizing());  // the destructor may call a driver
    pointer_in<Pointer>(self).~Pointer();
  }
  PyObject_Free(self);
}

/// Whether the object is our Stream, of any interpreter (each has its own type object).
inline bool is_stream(PyObject* object) noexcept {
  return compat::dealloc_of(Py_TYPE(object)) == reinterpret_cast<void*>(&dealloc<StreamPtr>);
}

/// Runs `body`, which may call a driver, without the GIL.
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

/// The stream in a Stream argument. Throws Fault::kType for any other object.
const StreamPtr& to_stream_object(const State& state, PyObject* object);
/// Converts a device argument. Throws Fault::kValue if the device has no streams.
core::Device to_streamed_device(const State& state, PyObject* object);

/// Creates the type of such objects.
template <class Pointer, auto kNew>
Ref make_type(PyObject* module, const char* name, const char* doc, PyMethodDef* methods,
              PyGetSetDef* getters, std::initializer_list<PyType_Slot> extra) {
  std::vector<PyType_Slot> slots{
      {Py_tp_doc, const_cast<char*>(doc)},
      {Py_tp_new, slot_pointer<kNew>()},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc<Pointer>)},
      {Py_tp_methods, methods},
      {Py_tp_getset, getters},
  };
  slots.insert(slots.end(), extra);
  slots.push_back({0, nullptr});
  PyType_Spec spec{name, static_cast<int>(sizeof(PointerObject<Pointer>)), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots.data()};
  return compat::make_immortal(check(compat::new_type(module, &spec)));
}

/// Defined in event_type.cpp.
Ref make_event_type(PyObject* module);

}  // namespace refarray::extension
