// Owns the bookkeeping of unfinished work: which uses conflict, how a stream or the host waits for
// them, and keeping out of the way of graph captures.
#include "runtime/streams/pending_work.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/error.hpp"
#include "runtime/streams/relaxed_capture.hpp"

namespace refarray::runtime {
namespace {

constexpr Status kImplicit = 906;  // the legacy stream, while another stream captures
constexpr int kCapturing = 1;      // and 2: a capture that was invalidated

bool conflicts(const Use& use, const StreamKey& stream, bool writes) {
  return (writes || use.writes) && !(use.key == stream);
}

[[noreturn]] void refuse_mixed_capture() {
  core::fail(core::Fault::kBuffer,
             "the array's unfinished work and the stream do not belong to the same graph capture, "
             "and waiting would invalidate the capture; export with stream=-1, or before the "
             "capture begins");
}

void record_end(Use& use) {
  DeviceContext& unit = use.stream->unit();
  const OnDevice here(unit);
  EventPtr event = pooled_event(unit);
  unit.check(unit.api().event_record(event->handle(), use.stream->handle()), "recording an event");
  use.event = std::move(event);
}

/// Whether work outside of every capture is done by now; of what was not marked, all of its stream.
bool is_over(const Use& use) {
  if (use.event != nullptr || use.capture != 0) return is_finished(use);
  DeviceContext& unit = use.stream->unit();
  const OnDevice here(unit);
  if (capture_of(unit, use.stream->handle()).active) return false;
  const Relaxed meanwhile(unit.api());
  return unit.api().stream_query(use.stream->handle()) == kSuccess;
}

}  // namespace

Capture capture_of(DeviceContext& unit, Handle stream) {
  int state = 0;
  unsigned long long id = 0;
  const Status status = unit.api().stream_capture(stream, &state, &id);
  if (status == kImplicit || status == kSuccess) {
    unit.note_capture(stream, status == kImplicit || state != 0);
  }
  if (status == kImplicit) return {true, 0};
  unit.check(status, "asking whether a stream captures");
  if (state == 0) return {};
  return {true, state == kCapturing ? id : 0};
}

void refuse_capture(DeviceContext& unit, Handle stream, const char* what) {
  if (!capture_of(unit, stream).active) return;
  core::fail(core::Fault::kBuffer, what,
             " cannot become part of a graph, and the stream is capturing one; do it before the "
             "capture begins, or on another stream");
}

const EventPtr& event_of(Use& use) {
  if (use.event != nullptr) return use.event;
  DeviceContext& unit = use.stream->unit();
  const OnDevice here(unit);
  // An event that is recorded in a capture stands for nothing outside of it.
  const Capture now = capture_of(unit, use.stream->handle());
  if (now.active != (use.capture != 0) || now.id != use.capture) refuse_mixed_capture();
  record_end(use);
  return use.event;
}

Use promise(const StreamPtr& stream, bool writes, const Capture& capture) {
  using Kind = Stream::Kind;
  const bool can_be_asked_later = stream->kind() == Kind::kOwn || stream->kind() == Kind::kLegacy;
  if (!can_be_asked_later) {
    if (capture.active && capture.id == 0) refuse_mixed_capture();
    return mark(stream, writes, capture.id);
  }
  return {nullptr, stream, StreamKey(stream->unit(), stream->handle()), writes, capture.id};
}

Use mark(const StreamPtr& stream, bool writes, unsigned long long capture) {
  Use use{nullptr, stream, StreamKey(stream->unit(), stream->handle()), writes, capture};
  record_end(use);
  return use;
}

bool is_past(const Use& use) noexcept {
  if (use.capture == 0) return false;
  const DeviceContext& unit = use.stream->unit();
  const TryOnDevice here(unit);
  int state = 0;
  unsigned long long id = 0;
  return here && unit.api().stream_capture(use.stream->handle(), &state, &id) == kSuccess &&
         (state != kCapturing || id != use.capture);
}

bool is_finished(const Use& use) noexcept {
  if (is_past(use)) return true;
  if (use.event == nullptr || use.capture != 0) return false;
  const Api& api = use.event->unit().api();
  const Relaxed meanwhile(api);
  return api.event_query(use.event->handle()) == kSuccess;
}

void Uses::note_change() noexcept {
  const void* only = uses_.empty() ? kIdle : token_of(uses_.front().key);
  const auto is_elsewhere = [&](const Use& use) { return !(use.key == uses_.front().key); };
  if (std::ranges::any_of(uses_, is_elsewhere)) only = nullptr;
  only_on_.store(only, std::memory_order_release);
}

bool Uses::is_ready_by_each(const StreamKey& stream, bool writes) {
  const std::lock_guard guard(lock_);
  return std::ranges::none_of(uses_,
                              [&](const Use& use) { return conflicts(use, stream, writes); });
}

bool Uses::has_to_wait(DeviceContext& unit, Handle stream, bool writes, Capture& capture) {
  const StreamKey key(unit, stream);
  const auto waits = [&](const Use& use) { return conflicts(use, key, writes); };
  if (std::ranges::none_of(uses_, waits)) return false;
  std::erase_if(uses_, is_past);
  note_change();
  if (std::ranges::none_of(uses_, waits)) return false;
  capture = capture_of(unit, stream);
  for (Use& use : uses_) {
    if (!waits(use)) continue;
    const bool together = use.capture == capture.id && (use.capture != 0) == capture.active;
    if (together) {
      event_of(use);  // changes no stream, but for a mark in it
    } else if (!is_over(use)) {
      refuse_mixed_capture();
    }
  }
  return true;
}

void Uses::check_before(DeviceContext& unit, Handle stream, bool writes) {
  const std::lock_guard guard(lock_);
  Capture capture;
  has_to_wait(unit, stream, writes, capture);
}

void Uses::order_before(DeviceContext& unit, Handle stream, bool writes) {
  const std::lock_guard guard(lock_);
  Capture capture;
  if (!has_to_wait(unit, stream, writes, capture)) return;
  const StreamKey key(unit, stream);
  for (const Use& use : uses_) {
    if (!conflicts(use, key, writes)) continue;
    if (capture.active && use.capture == 0) continue;  // finished, as was found
    unit.check(unit.api().stream_wait(stream, use.event->handle(), 0), "making a stream wait");
  }
}

void Uses::wait_on_host(bool writes) {
  std::vector<EventPtr> events;
  {
    const std::lock_guard guard(lock_);
    std::erase_if(uses_, is_past);
    note_change();
    for (Use& use : uses_) {
      if (!writes && !use.writes) continue;
      if (use.capture != 0) refuse_mixed_capture();
      events.push_back(event_of(use));
    }
  }
  for (const EventPtr& event : events) synchronize(*event);
  const std::lock_guard guard(lock_);
  std::erase_if(
      uses_, [&](const Use& use) { return std::ranges::find(events, use.event) != events.end(); });
  note_change();
}

void Uses::add(Use use) {
  const std::lock_guard guard(lock_);
  uses_.reserve(uses_.size() + 1);  // before anything is forgotten: the only thing that can fail
  // Work of a graph waits for work of the same graph alone.
  std::erase_if(uses_, [&](const Use& old) {
    const bool replaced = use.writes || (!old.writes && old.key == use.key);
    return replaced && (old.capture == use.capture || (use.writes && use.capture == 0));
  });
  uses_.push_back(std::move(use));
  note_change();
}

void Uses::mark_all() noexcept {
  const std::lock_guard guard(lock_);
  for (Use& use : uses_) {
    try {  // boundary: what cannot be marked now may be later
      if (use.capture == 0) event_of(use);
    } catch (const std::exception&) {  // boundary: as above
    }
  }
}

bool Uses::is_empty() {
  const std::lock_guard guard(lock_);
  return uses_.empty();
}

void Uses::lend(const DeviceContext& unit) noexcept {
  if ((lent_.load(std::memory_order_relaxed) & unit.bit()) == 0) {
    lent_.fetch_or(unit.bit(), std::memory_order_acq_rel);
  }
}

bool Uses::is_finished() noexcept {
  const std::lock_guard guard(lock_);
  return std::ranges::all_of(uses_, [](const Use& use) { return runtime::is_finished(use); });
}

}  // namespace refarray::runtime
