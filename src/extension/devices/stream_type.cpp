// The Python types Stream and Event, and the module functions on current streams. The types are
// created on first use, since most programs use no device.
#include <array>
#include <cstring>
#include <initializer_list>
#include <new>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/own_struct.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/objects/conversions.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using runtime::EventPtr;
using EventKind = runtime::Event::Kind;
using runtime::StreamPtr;

/// A Python object that owns a StreamPtr or an EventPtr.
template <class Pointer>
struct PointerObject {
  [[no_unique_address]] Head head;
  Pointer value;
};

template <class Pointer>
Pointer& pointer_in(PyObject* self) noexcept {
  return own_struct<PointerObject<Pointer>>(self)->value;
}
StreamPtr& stream_in(PyObject* self) noexcept { return pointer_in<StreamPtr>(self); }
EventPtr& event_in(PyObject* self) noexcept { return pointer_in<EventPtr>(self); }

template <class Pointer>
Ref wrap(PyTypeObject* type, Pointer pointer) {
  PyObject* self = PyObject_New(PyObject, type);
  if (self == nullptr) throw ErrorSet{};
  ::new (&pointer_in<Pointer>(self)) Pointer(std::move(pointer));
  return Ref::steal(self);
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

/// Runs `body`, which may call a driver, without the GIL.
template <class Body>
auto without_gil(Body body) {
  const DriverCalls here;
  return body();
}

PyTypeObject* type_in(const State& state, Slot slot) noexcept {
  return reinterpret_cast<PyTypeObject*>(state.get(slot));
}

const State& state_of_type(PyTypeObject* type) noexcept {
  return *static_cast<State*>(PyType_GetModuleState(type));
}

/// The stream in a Stream argument. Throws Fault::kType for any other object.
const StreamPtr& to_stream_object(const State& state, PyObject* object) {
  if (Py_TYPE(object) == type_in(state, Slot::kStreamType)) return stream_in(object);
  core::fail(Fault::kType, "stream must be a refarray.Stream, not ", type_name(object));
}

/// Converts a device argument. Throws Fault::kValue if the device has no streams.
core::Device to_streamed_device(const State& state, PyObject* object) {
  const core::Device device = to_device_value(state, object);
  if (!device.is_host() && device.kind != core::DeviceKind::kCudaManaged) return device;
  core::fail(Fault::kValue, "device ", core::name(device),
             " has no streams; use a device such as 'cuda:0' or 'rocm:0'");
}

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
  PyType_Spec spec{name, kBasicSize<PointerObject<Pointer>>, 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots.data()};
  return compat::make_immortal(check(compat::new_type(module, &spec)));
}

// --- The Event type

constexpr char kEventDoc[] = R"doc(Event(device, *, timing=False, interprocess=False)
--

A marker for a position in a stream.

device: a Device or its name.
timing: if True, elapsed_ms() can measure the time between two such events.
interprocess: if True, other processes can open it, see shared_handle(). Not with timing.

Raises ValueError for both, BufferError for a device that cannot be used or has no events
that other processes can open, DriverError.)doc";

constexpr char kEventSharedHandleDoc[] = R"doc(shared_handle($self, /)
--

Return bytes by which other processes open the event: refarray.shared.open_event().

Any of them may record the event, wait for it and ask for it. Once shared, an event is
kept until this process ends, because nobody knows when the others have finished with it:
make few, and record them again. They must not use it after that.

Raises BufferError unless the event was made with interprocess=True, DriverError.)doc";

constexpr char kOpenEventDoc[] = R"doc(_open_event($module, handle, /)
--

Return another process's event, of the bytes of its shared_handle().)doc";

constexpr char kEventRecordDoc[] = R"doc(record($self, stream, /)
--

Make the event mark the work queued in the stream so far.

Streams that already wait for the event keep waiting for the previous position.

Raises ValueError for a stream of another device, BufferError for the legacy default
stream while a stream that is ordered with it captures a graph, DriverError.)doc";

constexpr char kEventSynchronizeDoc[] = R"doc(synchronize($self, /)
--

Wait until the work that the event marks is done.

Raises BufferError if the event was recorded in a graph capture, DriverError.)doc";

constexpr char kEventElapsedMsDoc[] = R"doc(elapsed_ms($self, end, /)
--

Return the time from this event to end in milliseconds, a float.

Both events must have been created with timing=True and must be done.)doc";

constexpr char kEventDoneDoc[] = R"doc(Whether the work that the event marks is done.

Raises BufferError if the event was recorded in a graph capture.)doc";

Ref event_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const char* const names[] = {"device", "timing", "interprocess", nullptr};
  PyObject* device = nullptr;
  int timing = 0;
  int interprocess = 0;
  parse_arguments(args, kwargs, "O|$pp:Event", names, &device, &timing, &interprocess);
  if (timing != 0 && interprocess != 0)
    core::fail(Fault::kValue, "timing and interprocess are both True; an event has one of them");
  const core::Device on = to_streamed_device(state_of_type(type), device);
  const EventKind kind = interprocess != 0 ? EventKind::kInterprocess
                         : timing != 0     ? EventKind::kTiming
                                           : EventKind::kPlain;
  return wrap(type, without_gil([&] { return runtime::new_event(on, kind); }));
}

/// The bytes of shared_handle(). Both processes are of one machine, with one byte order.
struct EventFields {
  std::uint32_t magic;
  std::int32_t kind;
  runtime::Uuid device;
  runtime::EventHandle handle;
};
static_assert(sizeof(EventFields) == 88);

constexpr std::uint32_t kEventMagic = 0x31444552;  // "RED1"

Ref event_shared_handle(PyObject* self, PyObject*) {
  const EventPtr event = event_in(self);
  const auto shared = without_gil([&] { return runtime::share(*event); });
  const EventFields fields{kEventMagic, static_cast<std::int32_t>(shared.kind), shared.device,
                           shared.handle};
  return check(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&fields), sizeof fields));
}

EventFields event_fields(PyObject* object) {
  if (!PyBytes_Check(object))
    core::fail(Fault::kType, "handle must be bytes, not ", type_name(object));
  char* data = nullptr;
  Py_ssize_t size = 0;
  check(PyBytes_AsStringAndSize(object, &data, &size));
  EventFields out{};
  if (size != sizeof out) {
    core::fail(Fault::kBuffer, "the handle has ", size, " bytes; that of an event has ",
               sizeof out);
  }
  std::memcpy(&out, data, sizeof out);
  if (out.magic != kEventMagic) {
    core::fail(Fault::kBuffer, "magic is ", out.magic, ", not ", kEventMagic,
               ": this is no handle of an event");
  }
  return out;
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
    {"shared_handle", method<&event_shared_handle>(), METH_NOARGS, kEventSharedHandleDoc},
    {"elapsed_ms", method<&event_elapsed>(), METH_O, kEventElapsedMsDoc},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef event_getters[] = {{"done", slot<&event_done>, nullptr, kEventDoneDoc, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};

Ref make_event_type(PyObject* module) {
  return make_type<EventPtr, &event_new>(module, "refarray.Event", kEventDoc, event_methods,
                                         event_getters, {});
}

std::uint64_t handle_of(const StreamPtr& stream) noexcept {
  return reinterpret_cast<std::uintptr_t>(stream->give_handle());
}

// --- The Stream type

constexpr char kStreamDoc[] = R"doc(Stream(device, handle=None)
--

A queue of work on a device. Work in different streams may run concurrently.

device: a Device or its name.
handle: None creates a stream, which is destroyed with its last use. An int or an
    object with __cuda_stream__() wraps a stream that another library owns; the owner
    must keep it alive as long as the Stream object lives. 0 is the legacy default stream.

Raises BufferError for a device that cannot be used or a stream of another device,
ValueError for a handle that the vendor does not define, DriverError.)doc";

constexpr char kStreamProtocolDoc[] = R"doc(__cuda_stream__($self, /)
--

Return (0, handle): the CUDA stream protocol, version 0.)doc";

constexpr char kStreamSynchronizeDoc[] = R"doc(synchronize($self, /)
--

Wait until all work in the stream is done.

Raises BufferError while the stream captures a graph.)doc";

constexpr char kStreamRecordDoc[] = R"doc(record($self, /)
--

Return a new Event that marks the work queued in the stream so far.

Raises BufferError for the legacy default stream while a stream that is ordered with it
captures a graph, DriverError.)doc";

constexpr char kStreamWaitDoc[] = R"doc(wait($self, other, /)
--

Make work queued in this stream from now on wait for other.

other: an Event, or a Stream, which means the work queued in it so far. The host does
    not wait.

Raises ValueError for another vendor's device, DriverError, and BufferError where the
wait would invalidate a graph capture: a capturing stream waits for its own capture
only, and the legacy default stream for none.)doc";

constexpr char kStreamDeviceDoc[] = R"doc(The Device to which the stream belongs.)doc";

constexpr char kStreamHandleDoc[] =
    R"doc(The driver's stream handle, an int.

1 and 2 are CUDA's default streams, 0 is ROCm's.)doc";

constexpr char kStreamDoneDoc[] =
    R"doc(Whether all work in the stream is done.

Raises BufferError while the stream captures a graph.)doc";

Ref stream_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const char* const names[] = {"device", "handle", nullptr};
  PyObject* device = nullptr;
  PyObject* handle = nullptr;
  parse_arguments(args, kwargs, "O|O:Stream", names, &device, &handle);
  const core::Device on = to_streamed_device(state_of_type(type), device);
  if (!is_given(handle)) return wrap(type, without_gil([&] { return runtime::new_stream(on); }));
  const runtime::GivenStream given = to_stream(handle);
  if (stream_of_ours(handle)) stream_in(handle)->note_may_capture();  // by the new object's users
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
  const StreamPtr& stream = stream_in(self);
  const auto hash = static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(stream->handle()) * 31 +
                                           static_cast<unsigned>(stream->device().id));
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
    EventPtr made = runtime::new_event(stream->device(), EventKind::kPlain);
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
    const EventPtr event = runtime::new_event(other->device(), EventKind::kPlain);
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

Ref open_event(PyObject* module, PyObject* object) {
  const EventFields fields = event_fields(object);
  State& state = State::of_module(module);
  ensure_types(module, state);
  const runtime::SharedEvent shared{static_cast<core::DeviceKind>(fields.kind), fields.device,
                                    fields.handle};
  return wrap(type_in(state, Slot::kEventType),
              without_gil([&] { return runtime::open_event(shared); }));
}

// --- The calling thread's current streams

constexpr char kStreamTypesDoc[] = R"doc(_stream_types($module, /)
--

Return the types Stream and Event.)doc";

constexpr char kCurrentStreamDoc[] = R"doc(_current_stream($module, device, /)
--

Return the calling thread's current stream on a device.)doc";

constexpr char kSetCurrentStreamDoc[] = R"doc(_set_current_stream($module, stream, /)
--

Set the calling thread's current stream on the stream's device.

Returns the stream set before, or None.)doc";

constexpr char kResetCurrentStreamDoc[] =
    R"doc(_reset_current_stream($module, device, before, /)
--

Restore the current stream that _set_current_stream() returned.

before: None means that no stream was set.)doc";

constexpr char kSynchronizeDoc[] = R"doc(_synchronize($module, device, /)
--

Wait for all work on a device, then free the memory that was waiting for it.)doc";

constexpr char kEmptyCacheDoc[] = R"doc(_empty_cache($module, device, /)
--

Return the memory that nothing uses to the driver.)doc";

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

std::optional<runtime::GivenStream> stream_of_ours(PyObject* object) noexcept {
  if (compat::dealloc_of(Py_TYPE(object)) != reinterpret_cast<void*>(&dealloc<StreamPtr>))
    return std::nullopt;
  const StreamPtr& stream = stream_in(object);
  const auto handle = reinterpret_cast<std::uintptr_t>(stream->handle());
  return runtime::GivenStream{runtime::GivenStream::Kind::kObject, false, handle, stream->device()};
}

PyMethodDef kStreamFunctions[] = {
    {"_open_event", method<&open_event>(), METH_O, kOpenEventDoc},
    {"_stream_types", method<&stream_types>(), METH_NOARGS, kStreamTypesDoc},
    {"_current_stream", method<&current_stream>(), METH_O, kCurrentStreamDoc},
    {"_set_current_stream", method<&set_current_stream>(), METH_O, kSetCurrentStreamDoc},
    {"_reset_current_stream", method<&reset_current_stream>(), METH_FASTCALL,
     kResetCurrentStreamDoc},
    {"_synchronize", method<&synchronize_device>(), METH_O, kSynchronizeDoc},
    {"_empty_cache", method<&empty_cache>(), METH_O, kEmptyCacheDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
