// The Python type Stream, and the module functions on current streams. The types Stream and Event
// are created on first use, since most programs use no device.
#include "extension/devices/stream_type.hpp"

#include <array>
#include <utility>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/devices/device_docs.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

std::uint64_t handle_of(const StreamPtr& stream) noexcept {
  return reinterpret_cast<std::uintptr_t>(stream->give_handle());
}

// --- The Stream type

Ref stream_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const char* const names[] = {"device", "handle", nullptr};
  PyObject* device = nullptr;
  PyObject* handle = nullptr;
  parse_arguments(args, kwargs, "O|O:Stream", names, &device, &handle);
  const core::Device on = to_streamed_device(state_of_type(type), device);
  if (!is_given(handle)) return wrap(type, without_gil([&] { return runtime::new_stream(on); }));
  const runtime::GivenStream given = to_stream(handle);
  if (given.negative) core::fail(Fault::kValue, "handle is -", given.value, "; the minimum is 0");
  if (given.owner && *given.owner != on) {
    core::fail(Fault::kBuffer, "the stream is of ", core::name(*given.owner), ", not of ",
               core::name(on));
  }
  return wrap(type, without_gil([&] { return runtime::external_stream(on, given.value); }));
}

Ref stream_repr(PyObject* self) {
  const StreamPtr& stream = stream_in(self);
  constexpr std::array<const char*, 4> kKinds{"", " of another library", " (legacy default)",
                                              " (per-thread default)"};
  return check(PyUnicode_FromFormat("<refarray.Stream %p on %s%s>", stream->handle(),
                                    core::name(stream->device()).c_str(),
                                    kKinds[static_cast<std::size_t>(stream->kind())]));
}

Py_hash_t stream_hash(PyObject* self) {
  const auto hash = static_cast<Py_hash_t>(handle_of(stream_in(self)) * 31 +
                                           static_cast<unsigned>(stream_in(self)->device().id));
  return hash == -1 ? -2 : hash;
}

Ref stream_compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(self) != Py_TYPE(other)) {
    return Ref::borrow(Py_NotImplemented);
  }
  const StreamPtr& a = stream_in(self);
  const StreamPtr& b = stream_in(other);
  const bool equal = a->handle() == b->handle() && a->device() == b->device();
  return Ref::borrow(equal == (operation == Py_EQ) ? Py_True : Py_False);
}

Ref stream_device(PyObject* self, void*) {
  return make_device(state_of_type(Py_TYPE(self)), stream_in(self)->device());
}

Ref stream_handle(PyObject* self, void*) {
  return check(PyLong_FromUnsignedLongLong(handle_of(stream_in(self))));
}

Ref stream_done(PyObject* self, void*) {
  const StreamPtr stream = stream_in(self);
  return check(PyBool_FromLong(without_gil([&] { return runtime::is_done(*stream); })));
}

Ref stream_protocol(PyObject* self, PyObject*) {
  return check(calling<Py_BuildValue>("(iK)", 0,
                                      static_cast<unsigned long long>(handle_of(stream_in(self)))));
}

Ref stream_synchronize(PyObject* self, PyObject*) {
  const StreamPtr stream = stream_in(self);
  core::note(core::Entry::kSynchronization, 0);
  without_gil([&] { runtime::synchronize(*stream); });
  return Ref::borrow(Py_None);
}

Ref stream_record(PyObject* self, PyObject*) {
  const StreamPtr stream = stream_in(self);
  EventPtr event = without_gil([&] {
    EventPtr made = runtime::new_event(stream->device(), /*timing=*/false);
    runtime::record(*made, stream);
    return made;
  });
  return wrap(type_in(state_of_type(Py_TYPE(self)), Slot::kEventType), std::move(event));
}

Ref stream_wait(PyObject* self, PyObject* object) {
  const State& state = state_of_type(Py_TYPE(self));
  const StreamPtr stream = stream_in(self);
  if (Py_TYPE(object) == type_in(state, Slot::kEventType)) {
    const EventPtr event = event_in(object);
    without_gil([&] { runtime::wait(*stream, *event); });
    return Ref::borrow(Py_None);
  }
  const StreamPtr other = to_stream_object(state, object);
  without_gil([&] {
    const EventPtr event = runtime::new_event(other->device(), /*timing=*/false);
    runtime::record(*event, other);
    runtime::wait(*stream, *event);
  });
  return Ref::borrow(Py_None);
}

PyMethodDef stream_methods[] = {
    {"__cuda_stream__", method<&stream_protocol>(), METH_NOARGS, kStreamProtocolDoc},
    {"synchronize", method<&stream_synchronize>(), METH_NOARGS, kStreamSynchronizeDoc},
    {"record", method<&stream_record>(), METH_NOARGS, kStreamRecordDoc},
    {"wait", method<&stream_wait>(), METH_O, kStreamWaitDoc},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef stream_getters[] = {
    {"device", slot<&stream_device>, nullptr, kStreamDeviceDoc, nullptr},
    {"handle", slot<&stream_handle>, nullptr, kStreamHandleDoc, nullptr},
    {"done", slot<&stream_done>, nullptr, kStreamDoneDoc, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// Creates both types on the first call.
void ensure_types(PyObject* module, State& state) {
  if (state.get(Slot::kStreamType) != nullptr) return;
  state.set_once(Slot::kEventType, make_event_type(module));
  Ref stream = make_type<StreamPtr, &stream_new>(
      module, "refarray.Stream", kStreamDoc, stream_methods, stream_getters,
      {{Py_tp_repr, slot_pointer<&stream_repr>()},
       {Py_tp_hash, slot_pointer<&stream_hash>()},
       {Py_tp_richcompare, slot_pointer<&stream_compare>()}});
  state.set_once(Slot::kStreamType, std::move(stream));
}

Ref stream_types(PyObject* module, PyObject*) {
  State& state = State::of_module(module);
  ensure_types(module, state);
  return check(calling<PyTuple_Pack>(2, state.get(Slot::kStreamType), state.get(Slot::kEventType)));
}

// --- The calling thread's current streams

Ref current_stream(PyObject* module, PyObject* device) {
  State& state = State::of_module(module);
  ensure_types(module, state);
  const core::Device on = to_streamed_device(state, device);
  return wrap(type_in(state, Slot::kStreamType),
              without_gil([&] { return runtime::current_stream(on); }));
}

/// Returns the previous choice, or None.
Ref set_current_stream(PyObject* module, PyObject* object) {
  State& state = State::of_module(module);
  ensure_types(module, state);
  const StreamPtr stream = to_stream_object(state, object);
  StreamPtr before = without_gil([&] { return runtime::set_current_stream(stream); });
  if (before == nullptr) return Ref::borrow(Py_None);
  return wrap(type_in(state, Slot::kStreamType), std::move(before));
}

Ref reset_current_stream(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const State& state = State::of_module(module);
  if (nargs != 2) core::fail(Fault::kType, "_reset_current_stream() takes 2 arguments");
  const core::Device device = to_streamed_device(state, args[0]);
  const StreamPtr before = args[1] == Py_None ? nullptr : to_stream_object(state, args[1]);
  runtime::reset_current_stream(device, before);
  return Ref::borrow(Py_None);
}

Ref synchronize_device(PyObject* module, PyObject* device) {
  const core::Device on = to_streamed_device(State::of_module(module), device);
  core::note(core::Entry::kSynchronization, 0);
  without_gil([&] {
    runtime::synchronize(on);
    runtime::collect(runtime::Wait::kForSure);
  });
  return Ref::borrow(Py_None);
}

Ref empty_cache(PyObject* module, PyObject* device) {
  const core::Device on = to_streamed_device(State::of_module(module), device);
  without_gil([&] { runtime::empty_cache(on); });
  return Ref::borrow(Py_None);
}

}  // namespace

const StreamPtr& to_stream_object(const State& state, PyObject* object) {
  if (Py_TYPE(object) == type_in(state, Slot::kStreamType)) return stream_in(object);
  core::fail(core::Fault::kType, "stream must be a refarray.Stream, not ", type_name(object));
}

core::Device to_streamed_device(const State& state, PyObject* object) {
  const core::Device device = to_device_value(state, object);
  if (!device.is_host() && device.kind != core::DeviceKind::kCudaManaged) return device;
  core::fail(core::Fault::kValue, "device ", core::name(device),
             " has no streams; use a device such as 'cuda:0' or 'rocm:0'");
}

PyMethodDef kStreamFunctions[] = {
    {"_stream_types", method<&stream_types>(), METH_NOARGS, kStreamTypesDoc},
    {"_current_stream", method<&current_stream>(), METH_O, kCurrentStreamDoc},
    {"_set_current_stream", method<&set_current_stream>(), METH_O, kSetCurrentStreamDoc},
    {"_reset_current_stream", method<&reset_current_stream>(), METH_FASTCALL,
     kResetCurrentStreamDoc},
    {"_synchronize", method<&synchronize_device>(), METH_O, kSynchronizeDoc},
    {"_empty_cache", method<&empty_cache>(), METH_O, kEmptyCacheDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
