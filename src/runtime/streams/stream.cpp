// Owns streams and events: making and ending them, the calling thread's current stream of each
// device, and waiting.
#include "runtime/streams/stream.hpp"

#include <utility>
#include <vector>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/drivers/driver.hpp"
#include "runtime/streams/pending_work.hpp"
#include "runtime/streams/relaxed_capture.hpp"
#include "runtime/streams/stream_key.hpp"

namespace refarray::runtime {
namespace {

constexpr unsigned kNonBlocking = 1;
constexpr unsigned kWithTiming = 0;

/// One entry for each device that the thread chose a stream for.
std::vector<StreamPtr>& chosen() {
  static thread_local std::vector<StreamPtr> streams;
  return streams;
}

StreamPtr* find_chosen(const DeviceContext& unit) noexcept {
  for (StreamPtr& stream : chosen()) {
    if (&stream->unit() == &unit) return &stream;
  }
  return nullptr;
}

StreamPtr legacy_of(DeviceContext& unit) {
  return std::make_shared<Stream>(unit, Stream::Kind::kLegacy, legacy_handle(unit.driver.vendor));
}

void check_device_of(const DeviceContext& unit, Handle handle) {
  if (unit.driver.units.size() < 2 || unit.api().stream_device == nullptr) return;
  int device = unit.id;
  unit.check(unit.api().stream_device(handle, &device), "asking for a stream's device");
  if (device == unit.id) return;
  core::fail(core::Fault::kBuffer, "the stream is of device ", device, ", not of ",
             core::name(device_of(unit)));
}

}  // namespace

core::Device device_of(const DeviceContext& unit) noexcept {
  const bool cuda = unit.driver.vendor == Vendor::kCuda;
  return {cuda ? core::DeviceKind::kCuda : core::DeviceKind::kRocm, unit.id};
}

std::uint32_t thread_number() noexcept {
  static constinit std::atomic<std::uint32_t> last{0};
  static thread_local const std::uint32_t mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

Stream::~Stream() {
  if (kind_ != Kind::kOwn || is_forked()) return;
  unit_.remove_stream(handle_);
  const TryOnDevice here(unit_);
  unit_.api().stream_destroy(handle_);
}

core::Device Stream::device() const noexcept { return device_of(unit_); }

Event::~Event() {
  if (is_forked()) return;
  if (pooled_) {
    unit_.give_event(handle_);
  } else {
    unit_.api().event_destroy(handle_);
  }
}

StreamPtr new_stream(const core::Device& device) {
  DeviceContext& unit = unit_of(device);
  const OnDevice here(unit);
  Handle handle = nullptr;
  unit.check(unit.api().stream_create(&handle, kNonBlocking), "making a stream");
  const auto stream = std::make_shared<Stream>(unit, Stream::Kind::kOwn, handle);
  unit.add_stream(handle);
  return stream;
}

StreamPtr legacy_stream(const core::Device& device) { return legacy_of(unit_of(device)); }

StreamPtr per_thread_stream(const core::Device& device) {
  DeviceContext& unit = unit_of(device);
  if (unit.driver.vendor != Vendor::kCuda) {
    core::fail(core::Fault::kValue, "ROCm has no per-thread default stream that can be exchanged");
  }
  return std::make_shared<Stream>(unit, Stream::Kind::kPerThread, kPerThreadHandle);
}

StreamPtr external_stream(const core::Device& device, std::uint64_t handle) {
  DeviceContext& unit = unit_of(device);
  const bool cuda = unit.driver.vendor == Vendor::kCuda;
  if (handle == 0 || (cuda && handle == 1)) return legacy_of(unit);
  if (cuda && handle == 2) return per_thread_stream(device);
  if (handle <= 2) {
    core::fail(core::Fault::kValue, "stream is ", handle,
               "; on ROCm the values 1 and 2 mean nothing");
  }
  const OnDevice here(unit);
  const auto raw = reinterpret_cast<Handle>(static_cast<std::uintptr_t>(handle));
  check_device_of(unit, raw);
  return std::make_shared<Stream>(unit, Stream::Kind::kExternal, raw);
}

StreamPtr current_stream_of(DeviceContext& unit) {
  const StreamPtr* found = find_chosen(unit);
  return found != nullptr ? *found : legacy_of(unit);
}

StreamPtr current_stream(const core::Device& device) { return current_stream_of(unit_of(device)); }

StreamPtr set_current_stream(const StreamPtr& stream) {
  if (StreamPtr* found = find_chosen(stream->unit())) return std::exchange(*found, stream);
  chosen().push_back(stream);
  return nullptr;
}

void reset_current_stream(const core::Device& device, const StreamPtr& before) noexcept {
  std::vector<StreamPtr>& all = chosen();
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
  DeviceContext& unit = stream.unit();
  const OnDevice here(unit);
  refuse_capture(unit, stream.handle(), "waiting for a stream");
  unit.check(unit.api().stream_synchronize(stream.handle()), "waiting for a stream");
}

void synchronize(const core::Device& device) {
  DeviceContext& unit = unit_of(device);
  const OnDevice here(unit);
  unit.check(unit.api().device_synchronize(), "waiting for a device");
  unit.forget_captures();
}

void synchronize(const Event& event) {
  const DeviceContext& unit = event.unit();
  const Relaxed whatever_is_captured(unit.api());
  unit.check(unit.api().event_synchronize(event.handle()), "waiting for an event");
}

namespace {

/// The answer of a query: done, or not yet.
bool is_success(const DeviceContext& unit, Status status, const char* call) {
  if (status == kNotReady) return false;
  unit.check(status, call);
  return true;
}

}  // namespace

bool is_done(const Stream& stream) {
  const OnDevice here(stream.unit());
  refuse_capture(stream.unit(), stream.handle(), "asking a stream");
  return is_success(stream.unit(), stream.unit().api().stream_query(stream.handle()),
                    "asking a stream");
}

bool is_done(const Event& event) {
  const Relaxed whatever_is_captured(event.unit().api());
  return is_success(event.unit(), event.unit().api().event_query(event.handle()),
                    "asking an event");
}

EventPtr new_event(const core::Device& device, bool timing) {
  DeviceContext& unit = unit_of(device);
  const OnDevice here(unit);
  if (!timing) return pooled_event(unit);
  Handle handle = nullptr;
  unit.check(unit.api().event_create(&handle, kWithTiming), "making an event");
  return std::make_shared<Event>(unit, handle, /*pooled=*/false);
}

EventPtr pooled_event(DeviceContext& unit) {
  const Handle handle = unit.take_event();
  return std::make_shared<Event>(unit, handle, /*pooled=*/true);
}

void record(const Event& event, const Stream& stream) {
  if (&event.unit() != &stream.unit()) {
    core::fail(core::Fault::kValue, "an event of ", core::name(device_of(event.unit())),
               " cannot be recorded on a stream of ", core::name(stream.device()));
  }
  const OnDevice here(stream.unit());
  stream.unit().check(stream.unit().api().event_record(event.handle(), stream.handle()),
                      "recording an event");
}

void wait(const Stream& stream, const Event& event) {
  if (&event.unit().driver != &stream.unit().driver) {
    core::fail(core::Fault::kValue, "a stream of ", core::name(stream.device()),
               " cannot wait for an event of ", core::name(device_of(event.unit())));
  }
  const OnDevice here(stream.unit());
  stream.unit().check(stream.unit().api().stream_wait(stream.handle(), event.handle(), 0),
                      "making a stream wait");
}

float elapsed_ms(const Event& begin, const Event& end) {
  float milliseconds = 0;
  begin.unit().check(begin.unit().api().event_elapsed(&milliseconds, begin.handle(), end.handle()),
                     "asking for the time between two events");
  return milliseconds;
}

}  // namespace refarray::runtime
