// Creates, destroys and waits for streams and events; the calling thread's current streams.
#include "runtime/streams/stream.hpp"

#include <utility>
#include <vector>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/drivers/driver.hpp"
#include "runtime/streams/pending_work.hpp"
#include "runtime/streams/stream_key.hpp"

namespace refarray::runtime {
namespace {

/// The calling thread's current streams: one entry for each device that it set one for.
std::vector<StreamPtr>& thread_streams() {
  static thread_local std::vector<StreamPtr> streams;
  return streams;
}

StreamPtr* find_thread_stream(const DeviceContext& context) noexcept {
  for (StreamPtr& stream : thread_streams()) {
    if (&stream->context() == &context) return &stream;
  }
  return nullptr;
}

StreamPtr legacy_of(DeviceContext& context) {
  return std::make_shared<Stream>(context, Stream::Kind::kLegacy,
                                  legacy_handle(context.driver.vendor));
}

}  // namespace

core::Device device_of(const DeviceContext& context) noexcept {
  const bool cuda = context.driver.vendor == Vendor::kCuda;
  return {cuda ? core::DeviceKind::kCuda : core::DeviceKind::kRocm, context.id};
}

std::uint32_t thread_number() noexcept {
  static constinit std::atomic<std::uint32_t> last{0};
  static thread_local const std::uint32_t mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

Stream::~Stream() {
  if (kind_ != Kind::kOwn || is_forked()) return;
  context_.remove_stream(handle_);
  context_.destroy(handle_, &DriverTable::stream_destroy);
}

core::Device Stream::device() const noexcept { return device_of(context_); }

Event::~Event() {
  if (is_forked()) return;
  if (kind_ == Kind::kPooled) {
    context_.return_event(handle());
    return;
  }
  if (is_exported_) return;
  context_.destroy(handle(), &DriverTable::event_destroy);
  if (previous_ != nullptr) context_.destroy(previous_, &DriverTable::event_destroy);
}

void Event::renew() {
  Handle made = nullptr;
  const unsigned flags = kind_ == Kind::kTiming ? kEventDefault : kEventDisableTiming;
  context_.check(context_.api().event_create(&made, flags), "creating an event");
  const std::lock_guard guard(lock_);
  const Handle before = std::exchange(previous_, handle_.exchange(made));
  if (before != nullptr) context_.api().event_destroy(before);
}

void Event::note_record(KeptStream stream, unsigned long long capture) noexcept {
  const std::lock_guard guard(lock_);
  std::swap(stream_, stream);  // the previous stream is destroyed after the lock is released
  capture_ = capture;
  is_recorded_ = true;
}

bool Event::is_recorded() noexcept {
  const std::lock_guard guard(lock_);
  return is_recorded_;
}

unsigned long long Event::capture() noexcept {
  const std::lock_guard guard(lock_);
  return capture_;
}

StreamPtr new_stream(const core::Device& device) {
  DeviceContext& context = context_of(device);
  const DeviceGuard on_device(context);
  context.destroy_left();
  Handle handle = nullptr;
  context.check(context.api().stream_create(&handle, kStreamNonBlocking), "creating a stream");
  const auto stream = std::make_shared<Stream>(context, Stream::Kind::kOwn, handle);
  context.add_stream(stream);
  return stream;
}

StreamPtr legacy_stream(const core::Device& device) { return legacy_of(context_of(device)); }

StreamPtr per_thread_stream(const core::Device& device) {
  DeviceContext& context = context_of(device);
  if (context.driver.vendor != Vendor::kCuda) {
    core::fail(core::Fault::kValue, "ROCm has no per-thread default stream that can be exchanged");
  }
  return std::make_shared<Stream>(context, Stream::Kind::kPerThread, kPerThreadHandle);
}

StreamPtr external_stream(const core::Device& device, std::uint64_t handle) {
  DeviceContext& context = context_of(device);
  const bool cuda = context.driver.vendor == Vendor::kCuda;
  if (handle == 0 || (cuda && handle == 1)) return legacy_of(context);
  if (cuda && handle == 2) return per_thread_stream(device);
  if (handle <= 2) {
    core::fail(core::Fault::kValue, "stream is ", handle, "; on ROCm 1 and 2 are not defined");
  }
  const auto raw = reinterpret_cast<Handle>(static_cast<std::uintptr_t>(handle));
  StreamFacts facts{context.id};
  context.check(query_stream(context, raw, facts), "querying a stream");
  if (facts.device != context.id) {
    core::fail(core::Fault::kBuffer, "the stream is of device ", facts.device, ", not of ",
               core::name(device));
  }
  return foreign_stream(context, raw, facts);
}

Status query_stream(const DeviceContext& context, Handle stream, StreamFacts& facts) noexcept {
  const Driver& driver = context.driver;
  const bool has_more = driver.contexts.size() > 1 || driver.vendor == Vendor::kCuda;
  if (!has_more || driver.api.stream_facts == nullptr) return kSuccess;
  const TryDeviceGuard on_device(context);
  StreamFacts found = facts;
  if (!on_device) return kInvalidContext;
  const Status status = driver.api.stream_facts(stream, &found);
  const bool is_known = status == kSuccess && found.device >= 0 &&
                        found.device < static_cast<int>(driver.contexts.size());
  if (is_known) facts = found;
  return status;
}

StreamPtr foreign_stream(const DeviceContext& context, Handle handle, const StreamFacts& facts) {
  DeviceContext& theirs = context.driver.context(facts.device);
  if (facts.other_context != nullptr) {
    core::fail(core::Fault::kBuffer,
               "the stream is of a context of cuCtxCreate, not of the primary context of ",
               core::name(device_of(theirs)), ", in which refarray works");
  }
  return std::make_shared<Stream>(theirs, Stream::Kind::kExternal, handle);
}

StreamPtr current_stream_of(DeviceContext& context) {
  const StreamPtr* found = find_thread_stream(context);
  return found != nullptr ? *found : legacy_of(context);
}

StreamPtr stream_on(DeviceContext& context, const StreamPtr& wanted) {
  return wanted != nullptr && &wanted->context() == &context ? wanted : current_stream_of(context);
}

StreamPtr current_stream(const core::Device& device) {
  return current_stream_of(context_of(device));
}

StreamPtr set_current_stream(const StreamPtr& stream) {
  if (stream->kind() == Stream::Kind::kExternal) {  // a capture that we could not see otherwise
    const TryDeviceGuard on_device(stream->context());
    if (on_device) stream->context().note_capture_of(stream->handle());
  }
  if (StreamPtr* found = find_thread_stream(stream->context()))
    return std::exchange(*found, stream);
  thread_streams().push_back(stream);
  return nullptr;
}

void reset_current_stream(const core::Device& device, const StreamPtr& before) noexcept {
  std::vector<StreamPtr>& all = thread_streams();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]->device() != device) continue;
    if (before != nullptr) {
      all[i] = before;
    } else {
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return;
  }
}

void synchronize(const Stream& stream) {
  DeviceContext& context = stream.context();
  const DeviceGuard on_device(context);
  refuse_capture(context, stream.handle(), "waiting for a stream");
  const RelaxedCaptureMode relaxed(context.api());
  context.check(context.api().stream_synchronize(stream.handle()), "waiting for a stream");
}

void synchronize(const core::Device& device) {
  DeviceContext& context = context_of(device);
  const DeviceGuard on_device(context);
  refuse_capture_on(context, "waiting for a device");
  context.check(context.api().device_synchronize(), "waiting for a device");
  context.clear_captures();
}

namespace {

/// A query's status: finished, or not yet.
bool is_success(const DeviceContext& context, Status status, const char* call) {
  if (status == kNotReady) return false;
  context.check(status, call);
  return true;
}

/// An event of a capture stands for a node of the graph, which is not what runs.
void refuse_captured(Event& event, const char* what) {
  if (event.capture() == 0) return;
  core::fail(core::Fault::kBuffer, what,
             " is impossible: it was recorded in a graph capture; record it again outside of one");
}

}  // namespace

void synchronize(Event& event) {
  refuse_captured(event, "waiting for an event");
  const DeviceContext& context = event.context();
  const DeviceGuard on_device(context);
  const RelaxedCaptureMode relaxed(context.api());
  context.check(context.api().event_synchronize(event.handle()), "waiting for an event");
}

bool is_done(const Stream& stream) {
  const DeviceGuard on_device(stream.context());
  refuse_capture(stream.context(), stream.handle(), "querying a stream");
  const RelaxedCaptureMode relaxed(stream.context().api());
  return is_success(stream.context(), stream.context().api().stream_query(stream.handle()),
                    "querying a stream");
}

bool is_done(Event& event) {
  refuse_captured(event, "querying an event");
  const DeviceGuard on_device(event.context());
  const RelaxedCaptureMode relaxed(event.context().api());
  return is_success(event.context(), event.context().api().event_query(event.handle()),
                    "querying an event");
}

namespace {

[[noreturn, gnu::cold]] void refuse_other_capture(const char* what) {
  core::fail(core::Fault::kBuffer, what,
             " would invalidate a graph capture: the stream and the event have to belong to the "
             "same capture, and the legacy default stream to none");
}

}  // namespace

namespace {

constexpr unsigned flags_of(Event::Kind kind) noexcept {
  if (kind == Event::Kind::kTiming) return kEventDefault;
  return kind == Event::Kind::kInterprocess ? kEventDisableTiming | kEventInterprocess
                                            : kEventDisableTiming;
}

/// Whoever has the event may record it, so that only the driver knows whether it was recorded.
EventPtr interprocess_event(DeviceContext& context, Handle handle) {
  auto out = std::make_shared<Event>(context, handle, Event::Kind::kInterprocess);
  out->note_record({}, 0);
  return out;
}

[[noreturn, gnu::cold]] void refuse_interprocess(const core::Device& device) {
  core::fail(core::Fault::kBuffer, core::name(device),
             " has no events that other processes can open: its driver does not support them");
}

}  // namespace

DeviceContext& context_of(core::DeviceKind kind, const Uuid& device) {
  using Kind = core::DeviceKind;
  if (kind != Kind::kCuda && kind != Kind::kRocm) {
    core::fail(core::Fault::kBuffer, "device: the type is ", static_cast<int>(kind),
               "; it must be ", static_cast<int>(Kind::kCuda), " or ",
               static_cast<int>(Kind::kRocm));
  }
  DeviceContext& first = context_of(core::Device{kind, 0});
  if (first.api().device_uuid == nullptr) {
    core::fail(core::Fault::kBuffer, first.driver.name(),
               "'s driver shares nothing between processes");
  }
  for (const auto& context : first.driver.contexts) {
    Uuid found;
    context->check(context->api().device_uuid(&found, context->id), "asking for a device's UUID");
    if (found == device) return *context;
  }
  core::fail(core::Fault::kBuffer, "device: the handle is of a ", first.driver.name(),
             " device that this process does not have");
}

SharedEvent share(Event& event) {
  DeviceContext& context = context_of(device_of(event.context()));
  if (event.kind() != Event::Kind::kInterprocess) {
    core::fail(core::Fault::kBuffer,
               "other processes cannot open this event; make it with interprocess=True");
  }
  const DeviceGuard on_device(context);
  const RelaxedCaptureMode relaxed(context.api());
  SharedEvent out{device_of(context).kind, {}, {}};
  context.check(context.api().device_uuid(&out.device, context.id), "asking for a device's UUID");
  context.check(context.api().export_event(event.handle(), &out.handle), "sharing an event");
  event.note_exported();
  return out;
}

EventPtr open_event(const SharedEvent& shared) {
  DeviceContext& context = context_of(shared.kind, shared.device);
  const DeviceGuard on_device(context);
  const RelaxedCaptureMode relaxed(context.api());
  context.destroy_left();
  Handle handle = nullptr;
  context.check(context.api().open_event(&handle, shared.handle),
                "opening another process's event");
  return interprocess_event(context, handle);
}

EventPtr new_event(const core::Device& device, Event::Kind kind) {
  DeviceContext& context = context_of(device);
  if (kind == Event::Kind::kInterprocess && context.api().export_event == nullptr)
    refuse_interprocess(device);
  const DeviceGuard on_device(context);
  context.destroy_left();
  // Not from the cache: its events have been recorded before, and an unrecorded event is done.
  Handle handle = nullptr;
  context.check(context.api().event_create(&handle, flags_of(kind)), "creating an event");
  if (kind == Event::Kind::kInterprocess) return interprocess_event(context, handle);
  return std::make_shared<Event>(context, handle, kind);
}

EventPtr pooled_event(DeviceContext& context) {
  const Handle handle = context.take_event();
  return std::make_shared<Event>(context, handle, Event::Kind::kPooled);
}

EventPtr single_use_event(DeviceContext& context) {
  const Handle handle = context.take_event();
  return std::make_shared<Event>(context, handle, Event::Kind::kPlain);
}

void record_in(Event& event, const StreamPtr& stream, unsigned long long capture) {
  DeviceContext& context = stream->context();
  const auto record_on = [&context](const Event& one, Handle handle) {
    context.check(context.api().event_record(one.handle(), handle), "recording an event");
  };
  Handle handle = stream->handle();
  // HIP waits for no event of a stream that its owner has destroyed: a stream that stays takes
  // over.
  if (stream->kind() == Stream::Kind::kExternal && capture == 0 &&
      context.driver.vendor == Vendor::kHip) {
    const EventPtr passed = pooled_event(context);
    record_on(*passed, handle);
    handle = context.relay();
    context.check(context.api().stream_wait(handle, passed->handle(), 0),
                  "making a stream wait for an event");
  }
  record_on(event, handle);
  event.note_record(stream, capture);
}

void record(Event& event, const StreamPtr& stream) {
  DeviceContext& context = stream->context();
  if (&event.context() != &context) {
    core::fail(core::Fault::kValue, "an event of ", core::name(device_of(event.context())),
               " cannot be recorded on a stream of ", core::name(stream->device()));
  }
  const DeviceGuard on_device(context);
  const Capture capture = capture_of(*stream);
  if (capture.active && capture.id == 0) refuse_other_capture("recording an event");
  if (capture.active && event.kind() == Event::Kind::kInterprocess) {
    core::fail(core::Fault::kBuffer,
               "an event that other processes can open cannot be recorded in a graph capture");
  }
  // See record_event() of pending_work.cpp. CUDA's documentation allows it.
  if (event.capture() != 0 && context.driver.vendor == Vendor::kHip) event.renew();
  record_in(event, stream, capture.id);
}

void wait(const Stream& stream, Event& event) {
  if (&event.context().driver != &stream.context().driver) {
    core::fail(core::Fault::kValue, "a stream of ", core::name(stream.device()),
               " cannot wait for an event of ", core::name(device_of(event.context())));
  }
  if (!event.is_recorded()) return;  // it is done
  const DeviceGuard on_device(stream.context());
  const Capture capture = capture_of(stream);
  const bool joins = !capture.active && stream.kind() != Stream::Kind::kLegacy;
  if (capture.active ? capture.id == 0 || capture.id != event.capture()
                     : event.capture() != 0 && !joins) {
    refuse_other_capture("making a stream wait for an event");
  }
  if (event.capture() != 0) stream.note_may_capture();  // it joins the capture
  stream.context().check(stream.context().api().stream_wait(stream.handle(), event.handle(), 0),
                         "making a stream wait for an event");
}

float elapsed_ms(Event& begin, Event& end) {
  for (Event* event : {&begin, &end}) refuse_captured(*event, "measuring time by an event");
  if (&begin.context() != &end.context()) {
    core::fail(core::Fault::kValue, "there is no time between an event of ",
               core::name(device_of(begin.context())), " and one of ",
               core::name(device_of(end.context())));
  }
  const DeviceGuard on_device(begin.context());
  float milliseconds = 0;
  begin.context().check(
      begin.context().api().event_elapsed(&milliseconds, begin.handle(), end.handle()),
      "measuring the time between two events");
  return milliseconds;
}

}  // namespace refarray::runtime
