// Page protection of host memory that the drivers allocated, and the handler of its faults.
#include "memory/watch.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>

#include "control/call.hpp"
#include "control/checker.hpp"

namespace fakegpu {
namespace {

struct sigaction before{};

bool is_write(const void* context) {
#if defined(__x86_64__)
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  static_cast<void>(context);
  return true;  // unknown: the stricter of the two
#endif
}

int protection(Machine& machine, const Allocation& allocation) {
  if (allocation.freed) return PROT_NONE;
  const bool managed = allocation.kind == MemoryKind::kManaged;
  if (managed && !may_touch_managed(machine, allocation)) return PROT_NONE;
  int result = PROT_READ | PROT_WRITE;
  for (const Access& access : allocation.history) {
    if (access.moment.before(machine.clock())) continue;
    if (access.kind != Access::Kind::kRead) return PROT_NONE;
    result = PROT_READ;
  }
  return result;
}

/// A fault of a closed page. Afterwards the access is repeated and succeeds.
void check_access(Machine& machine, std::uint64_t address, bool write) {
  if (!in_call() && !in_host_function()) {
    Call at(Vendor::kCuda, write ? "host write" : "host read", kQuiet | kBeforeInit | kImmediate,
            nullptr);
    at.note("pointer", address).note("bytes", 1);
    check_touch(at, accessor_of_host(at), {address, address + 1, write});
    at.finish(kSuccess);
  }
  // An access that is in order, beside bytes that a device uses, opens the page too.
  const std::lock_guard guard(machine.pages);
  Memory::protect(address / Memory::kPage * Memory::kPage, Memory::kPage, PROT_READ | PROT_WRITE);
}

/// In an allocation, live or freed; not in a guard page.
bool is_known(Machine& machine, std::uint64_t address) {
  if (in_call()) return true;  // the lock is held
  const std::lock_guard guard(machine.lock);
  return machine.memory.find(address) != nullptr;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uint64_t>(info->si_addr);
  Machine& machine = Machine::get();
  if (Memory::is_host_address(address) && is_known(machine, address) && !machine.forked)
    return check_access(machine, address, is_write(context));
  sigaction(signal, &before, nullptr);    // the fault happens again, and goes there
  if (info->si_code <= 0) raise(signal);  // somebody sent it
}

}  // namespace

void install_watch() {
  if (!Memory::kWatches) return;
  struct sigaction now{};
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_fault) return;
  before = now;
  struct sigaction ours{};
  ours.sa_sigaction = &on_fault;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, nullptr);
}

bool may_touch_managed(Machine& machine, const Allocation& allocation) {
  if (machine.settings.concurrent_managed || allocation.attached == kAttachHost) return true;
  const Clock& host = machine.clock();
  if (allocation.attached == kAttachSingle) return host.reaches(allocation.attached_to->kernels);
  const std::vector<Device>& devices = machine.devices(allocation.device->vendor);
  return std::all_of(devices.begin(), devices.end(),
                     [&](const Device& device) { return host.reaches(device.kernels); });
}

void watch(Machine& machine, Allocation& allocation) {
  if (!Memory::kWatches || !Memory::is_host_address(allocation.begin)) return;
  const int wanted = protection(machine, allocation);
  const bool open = wanted == (PROT_READ | PROT_WRITE);
  if (open && !machine.closed.contains(&allocation)) return;
  const std::lock_guard guard(machine.pages);
  Memory::protect(allocation.reserved_begin, allocation.reserved_bytes, wanted);
  if (open || allocation.freed)
    machine.closed.erase(&allocation);
  else
    machine.closed.insert(&allocation);
}

void watch_closed(Machine& machine) {
  const std::set<Allocation*> closed = machine.closed;
  for (Allocation* allocation : closed) watch(machine, *allocation);
}

void watch_managed(Machine& machine) {
  if (machine.settings.concurrent_managed) return;
  for (Allocation* allocation : machine.memory.alive())
    if (allocation->kind == MemoryKind::kManaged) watch(machine, *allocation);
}

}  // namespace fakegpu
