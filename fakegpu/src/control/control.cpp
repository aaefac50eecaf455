// The control functions of the simulated machine.
#include "control/control.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>

#include "control/call.hpp"
#include "control/checker.hpp"
#include "machine/room.hpp"

using namespace fakegpu;

namespace {

template <auto kMember>
void set(Settings& settings, std::int64_t value) {
  settings.*kMember = static_cast<std::remove_reference_t<decltype(settings.*kMember)>>(value);
}

using Setter = void (*)(Settings&, std::int64_t);

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> all = {
      {"cuda_devices", set<&Settings::cuda_devices>},
      {"hip_devices", set<&Settings::hip_devices>},
      {"cuda_version", set<&Settings::cuda_version>},
      {"device_bytes", set<&Settings::device_bytes>},
      {"hip_version", set<&Settings::hip_version>},
      {"pools", set<&Settings::pools>},
      {"managed", set<&Settings::managed>},
      {"concurrent_managed", set<&Settings::concurrent_managed>},
      {"shareable", set<&Settings::shareable>},
      {"peers", set<&Settings::peers>},
      {"cuda_free_waits", set<&Settings::cuda_free_waits>},
      {"hip_free_waits", set<&Settings::hip_free_waits>},
      {"stub", set<&Settings::stub>},
      {"crash_on_bad_handle", set<&Settings::crash_on_bad_handle>},
      {"hip_crash_on_one", set<&Settings::hip_crash_on_one>},
      {"reuse", set<&Settings::reuse>},
      {"unmap", set<&Settings::unmap>},
      {"check_gil", set<&Settings::check_gil>},
      {"each_thread", set<&Settings::each_thread>},
      {"order", set<&Settings::order>},
      {"delay", set<&Settings::delay>},
      {"seed", set<&Settings::seed>},
      {"hang_milliseconds", set<&Settings::hang_milliseconds>}};
  return all;
}

const char* keep(const std::vector<std::string>& lines) {
  static thread_local std::string text;
  text.clear();
  for (const std::string& line : lines) text += line + "\n";
  return text.c_str();
}

Stream* stream_of(Machine& machine, std::uint64_t handle) {
  if (handle > kPerThreadHandle) return machine.streams.find(handle);
  if (machine.devices(Vendor::kCuda).empty()) return nullptr;
  return machine.primary(machine.devices(Vendor::kCuda).front())->legacy;
}

/// Waits until the operation has finished or is known to depend on held work.
bool finished_or_stuck(Machine& machine, const Op* op) {
  while (!op->wait(2)) {
    const std::lock_guard guard(machine.lock);
    if (machine.stuck(op)) return false;
  }
  return true;
}

void run_all(Machine& machine) {
  std::vector<const Op*> last;
  {
    const std::lock_guard guard(machine.lock);
    for (const auto& stream : machine.streams.all()) {
      if (machine.settings.order == Order::kThreads) stream->worker->release();
      if (stream->last != nullptr) last.push_back(stream->last);
    }
  }
  for (const Op* op : last) {
    machine.pump(op);
    while (!op->wait(1000)) continue;
  }
}

const char* kind_name(MemoryKind kind) {
  return kind == MemoryKind::kDevice   ? "device"
         : kind == MemoryKind::kPinned ? "pinned"
                                       : "managed";
}

template <class T, class Tell>
void tell(std::vector<std::string>& lines, const char* what, const Table<T>& table, Tell more) {
  for (const auto& item : table.all()) {
    if (!item->alive) continue;
    Json json;
    json.add("what", what).add("handle", item->handle);
    if (more(json, *item)) lines.push_back(json.text());
  }
}

bool place(Json& json, const Context* context) {
  json.add("vendor", vendor_name(context->device->vendor)).add("device", context->device->ordinal);
  return true;
}

}  // namespace

int fakegpu_configure(const char* name, std::int64_t value) {
  Machine& machine = Machine::get();
  const std::lock_guard guard(machine.lock);
  const auto found = setters().find(name);
  if (found == setters().end()) return -1;
  found->second(machine.settings, value);
  machine.apply();
  return 0;
}

void fakegpu_restart() {
  Machine& machine = Machine::get();
  run_all(machine);
  const std::lock_guard guard(machine.lock);
  machine.switch_off();
  machine.switch_on();
  Log::get().clear();
}

void fakegpu_reset() {
  Machine& machine = Machine::get();
  run_all(machine);
  const std::lock_guard guard(machine.lock);
  Log::get().clear();
}

int fakegpu_hold(std::uint64_t handle) {
  Machine& machine = Machine::get();
  const std::lock_guard guard(machine.lock);
  Stream* stream = stream_of(machine, handle);
  if (stream == nullptr) return -1;
  stream->worker->hold();
  return 0;
}

std::int64_t fakegpu_step(std::uint64_t handle, std::int64_t count) {
  Machine& machine = Machine::get();
  std::int64_t done = 0;
  for (; done < count; ++done) {
    const Op* op = nullptr;
    {
      const std::lock_guard guard(machine.lock);
      Stream* stream = stream_of(machine, handle);
      if (stream == nullptr) return -1;
      op = stream->worker->head();
      if (op == nullptr) break;
      const auto& before = op->waits_for();
      if (std::any_of(before.begin(), before.end(),
                      [&](const Op* one) { return machine.stuck(one); }))
        break;
      stream->worker->let(1);
    }
    if (!finished_or_stuck(machine, op)) break;
  }
  return done;
}

void fakegpu_run() { run_all(Machine::get()); }

void fakegpu_fail(const char* name, std::uint64_t k, int code, int sticky) {
  const std::lock_guard guard(Machine::get().lock);
  Log::get().add_fault({name, k, code, sticky != 0});
}

std::uint64_t fakegpu_calls(const char* name) {
  const std::lock_guard guard(Machine::get().lock);
  return Log::get().count(name);
}

std::uint64_t fakegpu_calls_after_fork() { return Machine::get().calls_after_fork; }

const char* fakegpu_trace() {
  const std::lock_guard guard(Machine::get().lock);
  return keep(Log::get().trace());
}

const char* fakegpu_violations() {
  const std::lock_guard guard(Machine::get().lock);
  return keep(Log::get().violations());
}

const char* fakegpu_live() {
  Machine& machine = Machine::get();
  const std::lock_guard guard(machine.lock);
  std::vector<std::string> lines;
  for (const Allocation* allocation : machine.memory.alive()) {
    Json json;
    json.add("what", "memory").add("handle", allocation->begin).add("bytes", allocation->bytes);
    json.add("kind", kind_name(allocation->kind)).add("pool", allocation->pool != nullptr);
    json.add("mapped", allocation->physical != nullptr);
    json.add("vendor", vendor_name(allocation->device->vendor));
    lines.push_back(json.add("device", allocation->device->ordinal).text());
  }
  tell(lines, "allocation handle", machine.physical, [](Json& json, const Physical& physical) {
    json.add("bytes", physical.bytes).add("references", physical.references);
    return physical.references > 0;
  });
  for (const AddressRange& range : machine.ranges) {
    Json json;
    json.add("what", "address range").add("handle", range.begin).add("bytes", range.bytes);
    lines.push_back(json.text());
  }
  tell(lines, "stream", machine.streams, [](Json& json, const Stream& stream) {
    return !stream.legacy && place(json, stream.context);
  });
  tell(lines, "event", machine.events,
       [](Json& json, const Event& event) { return place(json, event.context); });
  tell(lines, "context", machine.contexts, [](Json& json, const Context& context) {
    json.add("retained", context.retained);
    return context.retained > 0 && place(json, &context);
  });
  tell(lines, "pool", machine.pools, [](Json&, const Pool& pool) { return !pool.is_default; });
  tell(lines, "module", machine.modules,
       [](Json& json, const Module& module) { return place(json, module.context); });
  return keep(lines);
}

void fakegpu_label(const char* text) {
  Machine& machine = Machine::get();
  const std::lock_guard guard(machine.lock);
  machine.thread().label = text;
}

void fakegpu_touch(const void* pointer, std::uint64_t bytes, int write) {
  Call at(Vendor::kCuda, write != 0 ? "host write" : "host read", kQuiet | kBeforeInit | kImmediate,
          __builtin_return_address(0));
  const auto begin = reinterpret_cast<std::uint64_t>(pointer);
  at.note("pointer", begin).note("bytes", bytes);
  check_touch(at, accessor_of_host(at), {begin, begin + bytes, write != 0});
  at.finish(kSuccess);
}

int fakegpu_peek(std::uint64_t pointer, void* out, std::uint64_t bytes) {
  Machine& machine = Machine::get();
  const std::lock_guard guard(machine.lock);
  const Allocation* allocation = machine.memory.find(pointer);
  if (allocation == nullptr || pointer + bytes > allocation->end()) return -1;
  std::memcpy(out, reinterpret_cast<const void*>(Memory::alias(pointer)), bytes);
  return 0;
}

int fakegpu_in_room() { return Room::get() != nullptr ? 1 : 0; }

void fakegpu_deinitialize() {
  Machine& machine = Machine::get();
  const std::lock_guard guard(machine.lock);
  machine.deinitialized = true;
}
