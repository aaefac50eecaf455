// The order of queued work: which earlier operations a new one follows, and its clock.
#include "machine/machine.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "machine/room.hpp"
#include "memory/watch.hpp"

namespace fakegpu {
namespace {

void in_child() { Machine::get().forked = true; }

}  // namespace

Machine& Machine::get() {
  // never destroyed: deleters may run after main() has returned
  static auto* machine = new Machine;
  return *machine;
}

Machine::Machine() {
  switch_on();
  pthread_atfork(nullptr, nullptr, in_child);
}

void Machine::make_devices(Vendor vendor, int count) {
  std::vector<Device>& list = devices(vendor);
  list.clear();
  list.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Device& device = list.emplace_back();
    device.vendor = vendor;
    device.ordinal = i;
    device.total = settings.device_bytes;
    device.default_pool = device.pool = pools.add();
    device.pool->device = &device;
    device.pool->is_default = true;
  }
}

void Machine::switch_on() {
  make_devices(Vendor::kCuda, settings.cuda_devices);
  make_devices(Vendor::kHip, settings.hip_devices);
  install_watch();
  apply();
}

void Machine::apply() {
  random_ = settings.seed;
  memory.set_reuse(settings.reuse ? Memory::Reuse::kLifo : Memory::Reuse::kNever);
  memory.set_unmap(settings.unmap);
  for (const auto& stream : streams.all()) {
    stream->worker->set_delay(settings.delay, settings.seed + stream->component);
    if (settings.order == applied_) continue;
    if (settings.order == Order::kThreads)
      stream->worker->release();
    else
      stream->worker->hold();
  }
  applied_ = settings.order;
}

void Machine::switch_off() {
  for (const auto& stream : streams.all()) stream->worker->release();
  for (const auto& stream : streams.all()) stream->worker->finish();
  streams.clear();  // joins its thread
  contexts.clear();
  events.clear();
  pools.clear();
  modules.clear();
  functions.clear();
  graphs.clear();
  for (const auto& one : physical.all())
    if (one->alive) close(one->file);
  physical.clear();
  ranges.clear();
  captures.clear();
  ops_.clear();
  closed.clear();
  memory.forget();
  host_clock = {};
  thread_clocks.clear();
  next_component_ = 0;
  cuda_initialized = deinitialized = false;
  ++generation_;
}

Device* Machine::device(Vendor vendor, int ordinal) {
  std::vector<Device>& list = devices(vendor);
  const bool there = ordinal >= 0 && static_cast<std::size_t>(ordinal) < list.size();
  return there ? &list[static_cast<std::size_t>(ordinal)] : nullptr;
}

std::size_t Machine::take_component() {
  Room* room = Room::get();
  return room != nullptr ? room->new_component() : ++next_component_;
}

Thread& Machine::thread() {
  static thread_local Thread own;
  if (own.id == 0) own.id = next_thread_++;
  if (own.generation != generation_) {
    own.generation = generation_;
    own.stack.clear();
    own.per_thread.clear();
    own.mode = kGlobal;
    own.hip_device = 0;
    own.component = take_component();  // number 0 is the clock shared by all host threads
  }
  return own;
}

Clock& Machine::clock() {
  return settings.each_thread ? thread_clocks[thread().component] : host_clock;
}

Moment Machine::host_moment() {
  const std::size_t component = settings.each_thread ? thread().component : 0;
  return {component, clock().tick(component)};
}

Context* Machine::primary(Device& device) {
  if (device.primary == nullptr) {
    device.primary = add_context(device);
    device.primary->primary = true;
  } else if (!device.primary->alive) {  // it has been reset
    Context& context = *device.primary;
    context.alive = true;
    context.id = ++last_context_;
    context.retained = 0;
    context.peers.clear();
    context.waits = {};
    add_legacy(context);
  }
  return device.primary;
}

Context* Machine::add_context(Device& device) {
  Context* context = contexts.add();
  context->device = &device;
  context->id = ++last_context_;
  add_legacy(*context);
  return context;
}

void Machine::add_legacy(Context& context) {
  context.legacy = add_stream(context, 0, 0);
  context.legacy->legacy = true;
}

Stream* Machine::add_stream(Context& context, unsigned flags, int priority) {
  thread();  // its own clock component first
  Stream* stream = streams.add({}, settings.reuse);
  stream->context = &context;
  stream->flags = flags;
  stream->priority = priority;
  stream->component = take_component();
  if (settings.order != Order::kThreads) stream->worker->hold();
  stream->worker->set_delay(settings.delay, settings.seed + stream->component);
  context.streams.push_back(stream);
  return stream;
}

void Machine::destroy_stream(Stream& stream) {
  streams.retire(stream);
  std::erase(stream.context->streams, &stream);
  // Its worker stays alive: queued work still runs, even if it is held now.
}

void Machine::destroy_context(Context& context) {
  while (!context.streams.empty()) destroy_stream(*context.streams.back());
  for (const auto& event : events.all())
    if (event->context == &context) events.retire(*event);
  for (const auto& module : modules.all())
    if (module->context == &context) module->alive = false;
  if (context.green_of != nullptr) std::erase(context.green_of->greens, &context);
  context.alive = false;
}

Stream* Machine::per_thread_stream(Context& context) {
  Stream*& own = thread().per_thread[&context];
  if (own == nullptr || !own->alive) own = add_stream(context, 0, 0);
  return own;
}

Moment Machine::moment(const Stream& stream) const {
  return {stream.component, stream.clock.of(stream.component)};
}

const Op* Machine::enqueue(Stream& stream, Op::Work work, const Snapshot& extra, bool alone) {
  std::vector<const Op*> waits_for = extra.ops;
  const auto follow = [&](const Stream& other) {
    if (other.last == nullptr) return;
    waits_for.push_back(other.last);
    stream.clock.join(other.clock);
  };
  stream.clock.join(clock());
  stream.clock.join(extra.clock);
  if (stream.last == nullptr) {  // what its context had to wait for before the stream existed
    const Snapshot& before = stream.context->waits;
    waits_for.insert(waits_for.end(), before.ops.begin(), before.ops.end());
    stream.clock.join(before.clock);
  }
  if (stream.legacy && !alone) {
    for (const Stream* other : stream.context->streams)
      if (other->blocking()) follow(*other);
  } else if (stream.blocking()) {
    follow(*stream.context->legacy);
  }
  std::erase_if(waits_for, [](const Op* op) { return op == nullptr; });
  stream.clock.tick(stream.component);
  ops_.push_back(std::make_unique<Op>(std::move(work), std::move(waits_for)));
  ops_.back()->call = next_call;
  stream.last = ops_.back().get();
  stream.worker->push(ops_.back().get());
  return stream.last;
}

Snapshot Machine::snapshot(Stream& stream) {
  // An operation of its own, so that it is also ordered after the legacy stream's work.
  const Op* mark = enqueue(stream, {}, {});
  return {{mark}, stream.clock};
}

Snapshot Machine::snapshot(Context& context) {
  Snapshot all;
  all.clock.join(clock());
  for (const auto& stream : streams.all()) {  // also of destroyed streams, whose work still runs
    const bool inside = stream->context == &context || stream->context->green_of == &context;
    if (!inside || stream->last == nullptr) continue;
    all.ops.push_back(stream->last);
    all.clock.join(stream->clock);
  }
  return all;
}

Snapshot Machine::everything(const Stream& stream) {
  Snapshot all;
  for (const Stream* other : stream.context->streams) {
    if (other != &stream && !(stream.legacy && other->blocking())) continue;
    if (other->last != nullptr) all.ops.push_back(other->last);
    all.clock.join(other->clock);
  }
  return all;
}

bool Machine::stuck(const Op* op, int depth) const {
  if (op == nullptr || op->done() || depth > 64) return false;
  for (const auto& stream : streams.all()) {
    const Op* head = stream->worker->head();
    if (head == nullptr || stream->last == nullptr) continue;
    // Held operations are at the end of the queue: nothing behind a held operation can run.
    if (stream->last == op && stream->worker->kept_back() > 0) return true;
    if (head != op && stream->last != op) continue;
    for (const Op* before : head->waits_for())
      if (stuck(before, depth + 1)) return true;
  }
  return false;
}

Stream* Machine::choose() {
  std::vector<Stream*> ready;
  for (const auto& stream : streams.all()) {
    const Op* head = stream->worker->head();
    if (head != nullptr && stream->worker->kept_back() > 0 && head->ready())
      ready.push_back(stream.get());
  }
  if (ready.empty()) return nullptr;
  const auto earlier = [](const Stream* a, const Stream* b) {
    return a->worker->head()->call < b->worker->head()->call;
  };
  if (settings.order == Order::kEarliest)
    return *std::min_element(ready.begin(), ready.end(), earlier);
  if (settings.order == Order::kLatest)
    return *std::max_element(ready.begin(), ready.end(), earlier);
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;
  return ready[(random_ >> 33) % ready.size()];
}

void Machine::pump(const Op* op) {
  if (settings.order == Order::kThreads) return;
  const std::lock_guard one_at_a_time(pump_lock_);
  while (!op->done()) {
    const Op* next = nullptr;
    {
      const std::lock_guard guard(lock);
      Stream* stream = choose();
      if (stream == nullptr) return;
      next = stream->worker->head();
      stream->worker->let(1);
    }
    while (!next->wait(1000)) continue;
  }
}

}  // namespace fakegpu
