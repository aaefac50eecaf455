// The race detector: finds conflicting accesses that the driver's rules do not order.
#include "control/checker.hpp"

#include <algorithm>

#include "memory/history.hpp"
#include "memory/watch.hpp"

namespace fakegpu {
namespace {

using Kind = Access::Kind;

bool conflict(const Access& a, const Access& b) {
  const bool overlap = a.begin < b.end && b.begin < a.end;
  return overlap && (a.kind != Kind::kRead || b.kind != Kind::kRead);
}

const char* word(Kind kind) {
  switch (kind) {
    case Kind::kRead:
      return "read";
    case Kind::kWrite:
      return "write";
    case Kind::kAllocate:
      return "allocation";
    case Kind::kFree:
      return "free";
  }
  return "";
}

const char* name_of(Kind earlier, Kind later) {
  if (later == Kind::kFree) return "early-free";
  if (earlier == Kind::kAllocate) return "use-before-allocation";
  return "race";
}

void record_access(Allocation& allocation, const Access& access, const Clock& clock) {
  // An earlier access that happens before this one and lies within its bytes can be forgotten:
  // whatever is ordered after this access is ordered after it too.
  std::erase_if(allocation.history, [&](const Access& old) {
    const bool within = access.begin <= old.begin && old.end <= access.end;
    const bool as_strong = access.kind != Kind::kRead || old.kind == Kind::kRead;
    return within && as_strong && old.moment.before(clock);
  });
  allocation.history.push_back(access);
}

void check_order(Call& call, const Accessor& accessor, Allocation& allocation,
                 const Access& access) {
  for (const Access& old : allocation.history) {
    if (!conflict(old, access) || old.moment.before(*accessor.clock)) continue;
    // Another process keeps its own mapping.
    if (access.kind == Kind::kFree && old.process != 0) continue;
    std::string message = std::string("a ") + word(access.kind) + " is not ordered after the " +
                          word(old.kind) + " of the same bytes by call " + std::to_string(old.call);
    if (old.process != 0) message += " of process " + std::to_string(old.process);
    call.violation(name_of(old.kind, access.kind), message, old.process == 0 ? old.call : 0,
                   access.begin, access.end - access.begin);
  }
}

bool reachable(const Accessor& accessor, const Allocation& allocation) {
  const Device* home = allocation.device;
  if (allocation.physical != nullptr)
    return allocation.usable_on.contains(accessor.context->device->ordinal);
  if (allocation.kind != MemoryKind::kDevice || home == accessor.context->device) return true;
  if (allocation.pool != nullptr)
    return allocation.pool->readable_from.contains(accessor.context->device->ordinal);
  return accessor.context->peers.contains(home);
}

void check_place(Call& call, const Accessor& accessor, const Allocation& allocation,
                 const Touch& touch) {
  const std::uint64_t bytes = touch.end - touch.begin;
  if (touch.end > allocation.end())
    call.violation("out-of-bounds", "an access extends past the end of its allocation", 0,
                   touch.begin, bytes);
  if (accessor.context == nullptr) return;
  if (accessor.context->device->vendor != allocation.device->vendor)
    call.violation("wrong-vendor", "memory of one vendor is passed to the other vendor's driver", 0,
                   touch.begin, bytes);
  else if ((accessor.kernel || allocation.physical != nullptr) && !reachable(accessor, allocation))
    call.violation("no-peer-access",
                   allocation.physical != nullptr
                       ? "a device accesses a mapping that was not made accessible to it"
                       : "a kernel accesses another device's memory without peer access",
                   0, touch.begin, bytes);
}

/// Managed memory on devices that cannot share it with the host, and its association.
void check_managed(Call& call, const Accessor& accessor, const Allocation& allocation,
                   const Touch& touch) {
  Machine& machine = call.machine;
  if (allocation.kind != MemoryKind::kManaged || machine.settings.concurrent_managed) return;
  const std::uint64_t bytes = touch.end - touch.begin;
  if (accessor.context == nullptr) {
    if (!may_touch_managed(machine, allocation))
      call.violation("managed-access", "the host touches managed memory while a kernel may run", 0,
                     touch.begin, bytes);
    return;
  }
  const bool wrong = allocation.attached == kAttachHost ||
                     (allocation.attached == kAttachSingle &&
                      allocation.attached_to->component != accessor.moment.component);
  if (accessor.kernel && wrong)
    call.violation("managed-attach", "a kernel uses managed memory that its stream may not use", 0,
                   touch.begin, bytes);
}

Access access_of(Call& call, const Accessor& accessor, const Allocation& allocation, Kind kind) {
  return {allocation.begin, allocation.end(), kind, accessor.moment, call.number};
}

}  // namespace

void check_touch(Call& call, const Accessor& accessor, const Touch& touch) {
  if (touch.begin >= touch.end) return;
  Machine& machine = call.machine;
  Allocation* allocation = machine.memory.find(touch.begin);
  if (allocation == nullptr) {
    if (Memory::is_device_address(touch.begin))
      call.violation("bad-pointer", "a device address outside all allocations", 0, touch.begin,
                     touch.end - touch.begin);
    return;  // pageable memory; ThreadSanitizer checks it
  }
  if (allocation->freed) {
    call.violation("use-after-free", "an access to freed memory", allocation->released.call,
                   touch.begin, touch.end - touch.begin);
    return;
  }
  check_place(call, accessor, *allocation, touch);
  check_managed(call, accessor, *allocation, touch);
  const Access access{touch.begin, touch.end, touch.write ? Kind::kWrite : Kind::kRead,
                      accessor.moment, call.number};
  const SharedHistory all(*allocation);
  check_order(call, accessor, *allocation, access);
  record_access(*allocation, access, *accessor.clock);
  watch(machine, *allocation);
}

void check_allocation(Call& call, const Accessor& accessor, Allocation& allocation) {
  allocation.history.push_back(access_of(call, accessor, allocation, Kind::kAllocate));
}

void check_free(Call& call, const Accessor& accessor, Allocation& allocation) {
  allocation.released = access_of(call, accessor, allocation, Kind::kFree);
  const SharedHistory all(allocation);
  check_order(call, accessor, allocation, allocation.released);
}

Accessor accessor_of(Call& call, const Stream& stream, bool kernel) {
  return {call.machine.moment(stream), &stream.clock, stream.context, kernel};
}

Accessor accessor_of_host(Call& call) {
  const Moment moment = call.machine.host_moment();
  return {moment, &call.machine.clock(), nullptr, false};
}

}  // namespace fakegpu
