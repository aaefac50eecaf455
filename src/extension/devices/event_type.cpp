// The Python type Event.
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/devices/device_docs.hpp"
#include "extension/devices/stream_type.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

Ref event_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const char* const names[] = {"device", "timing", nullptr};
  PyObject* device = nullptr;
  int timing = 0;
  parse_arguments(args, kwargs, "O|$p:Event", names, &device, &timing);
  const core::Device on = to_streamed_device(state_of_type(type), device);
  return wrap(type, without_gil([&] { return runtime::new_event(on, timing != 0); }));
}

Ref event_record(PyObject* self, PyObject* object) {
  const StreamPtr stream = to_stream_object(state_of_type(Py_TYPE(self)), object);
  const EventPtr event = event_in(self);
  without_gil([&] { runtime::record(*event, stream); });
  return Ref::borrow(Py_None);
}

Ref event_synchronize(PyObject* self, PyObject*) {
  const EventPtr event = event_in(self);
  core::note(core::Entry::kSynchronization, 0);
  without_gil([&] { runtime::synchronize(*event); });
  return Ref::borrow(Py_None);
}

Ref event_elapsed(PyObject* self, PyObject* object) {
  if (Py_TYPE(object) != Py_TYPE(self)) {
    core::fail(Fault::kType, "end must be a refarray.Event, not ", type_name(object));
  }
  const EventPtr begin = event_in(self);
  const EventPtr end = event_in(object);
  const float milliseconds = without_gil([&] { return runtime::elapsed_ms(*begin, *end); });
  return check(PyFloat_FromDouble(static_cast<double>(milliseconds)));
}

Ref event_done(PyObject* self, void*) {
  const EventPtr event = event_in(self);
  return check(PyBool_FromLong(without_gil([&] { return runtime::is_done(*event); })));
}

PyMethodDef event_methods[] = {
    {"record", method<&event_record>(), METH_O, kEventRecordDoc},
    {"synchronize", method<&event_synchronize>(), METH_NOARGS, kEventSynchronizeDoc},
    {"elapsed_ms", method<&event_elapsed>(), METH_O, kEventElapsedMsDoc},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef event_getters[] = {{"done", slot<&event_done>, nullptr, kEventDoneDoc, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

Ref make_event_type(PyObject* module) {
  return make_type<EventPtr, &event_new>(module, "refarray.Event", kEventDoc, event_methods,
                                         event_getters, {});
}

}  // namespace refarray::extension
