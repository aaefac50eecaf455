// Checks that precede every driver call, and its trace line.
#include "control/call.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "machine/capture.hpp"
#include "machine/room.hpp"
#include "memory/watch.hpp"

namespace fakegpu {
namespace {

template <class Function>
Function* python(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// A word of memory that another thread may free meanwhile; 0 if it has.
std::uintptr_t read_word(const std::uintptr_t* address) {
  std::uintptr_t word = 0;
  const iovec here{&word, sizeof word};
  const iovec there{const_cast<std::uintptr_t*>(address), sizeof word};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof word) return word;
  return errno == EFAULT ? 0 : *address;  // else the system forbids the call
}

/// Whether a thread state of CPython belongs to the calling thread, of which `own` is one. Until
/// 3.11 the current one is that of whichever thread holds the GIL, and a state names its thread by
/// a field whose place differs between versions.
bool is_of_this_thread(const void* state, const void* own) {
  constexpr std::size_t kWords = 48;
  const auto here = static_cast<std::uintptr_t>(pthread_self());
  const auto* const words = static_cast<const std::uintptr_t*>(own);
  const auto* const field = std::find(words, words + kWords, here);
  return field != words + kWords &&
         read_word(static_cast<const std::uintptr_t*>(state) + (field - words)) == here;
}

/// Not PyGILState_Check(), which is always true once there has been a sub-interpreter.
bool holds_gil() {
  static auto* const alive = python<int()>("Py_IsInitialized");
  static auto* const attached = python<void*()>("PyThreadState_GetUnchecked");  // from 3.13 on
  static auto* const current = python<void*()>("_PyThreadState_UncheckedGet");
  static auto* const own = python<void*()>("PyGILState_GetThisThreadState");
  static auto* const version = python<const unsigned long>("Py_Version");  // from 3.11 on
  if (alive == nullptr || alive() == 0) return false;
  if (attached != nullptr) return attached() != nullptr;
  if (current == nullptr || own == nullptr) return false;
  const void* const state = current();
  const void* const mine = own();
  if (state == nullptr || mine == nullptr) return false;
  constexpr unsigned long k312 = 0x030C0000;  // from 3.12 on each thread has its own current state
  if (version != nullptr && *version >= k312) return true;
  return state == mine || is_of_this_thread(state, mine);
}

/// A context that was destroyed stays current to other threads.
int check_context(const Thread& thread) {
  const Context* top = thread.stack.empty() ? nullptr : thread.stack.back();
  if (top != nullptr && top->alive) return kSuccess;
  return top == nullptr ? kInvalidContext : kContextIsDestroyed;
}

std::string site(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const std::string file = path.substr(path.rfind('/') + 1);
  const auto offset =
      static_cast<const char*>(address) -
      static_cast<const char*>(info.dli_sname != nullptr ? info.dli_saddr : info.dli_fbase);
  char text[32];
  std::snprintf(text, sizeof text, "+0x%tx", offset);
  return file + (info.dli_sname != nullptr ? std::string(":") + info.dli_sname : "") + text;
}

/// A call that a capture forbids has done nothing; other errors may report earlier work.
bool is_capture_error(int code) {
  return code >= kCaptureUnsupported && code <= kCaptureWrongThread;
}

}  // namespace

bool& in_host_function() {
  static thread_local bool inside = false;
  return inside;
}

bool& in_call() {
  static thread_local bool inside = false;
  return inside;
}

bool& null_is_per_thread() {
  static thread_local bool inside = false;
  return inside;
}

Call::Call(Vendor vendor_called, const char* name, unsigned traits, const void* caller)
    : machine(Machine::get()),
      log(Log::get()),
      vendor(vendor_called),
      number(0),
      name_(name),
      traits_(traits),
      caller_(caller) {
  if (machine.forked) {  // a thread that does not exist in the child may have held the lock
    ++machine.calls_after_fork;
    return;
  }
  gil_ = holds_gil();
  in_call() = true;
  guard_ = std::unique_lock(machine.lock);
  number = log.begin_call();
  if (Room* room = Room::get()) room->meet(machine.host_clock);
}

int Call::check_state() {
  if (in_host_function()) {
    violation("call-in-host-function", "a host function calls the driver");
    return kNotPermitted;
  }
  if (machine.deinitialized) return kDeinitialized;
  const bool needs_init = vendor == Vendor::kCuda && (traits_ & kBeforeInit) == 0;
  if (needs_init && !machine.cuda_initialized) return kNotInitialized;
  if (vendor == Vendor::kHip && (traits_ & kBeforeInit) == 0 && machine.devices(vendor).empty())
    return kInvalidDevice;
  return (traits_ & kInContext) != 0 ? check_context(machine.thread()) : int{kSuccess};
}

int Call::check() {
  if (machine.forked) return kNotInitialized;
  if (machine.settings.check_gil && gil_ && (traits_ & kImmediate) == 0)
    violation("gil-held", (traits_ & kBlocks) != 0
                              ? "a call that may block is made with the GIL held"
                              : "a call that may wait for another thread's, or for room in a "
                                "queue, is made with the GIL held");
  if (machine.settings.stub) return kStubLibrary;
  if ((traits_ & kQuiet) != 0) return kSuccess;
  if (const int code = check_state()) return code;
  injected_ = log.fault(name_);
  if (injected_ != 0 && ((traits_ & kReleases) == 0 || is_capture_error(injected_)))
    return injected_;
  return (traits_ & kUnsafe) != 0 ? refuse_unsafe(*this) : kSuccess;
}

int Call::finish(int code) {
  if (machine.forked) return code;
  if (injected_ != 0) code = injected_;
  if (Room* room = Room::get()) room->meet(machine.host_clock);
  Thread& thread = machine.thread();
  Json line;
  line.add("seq", number).add("call", name_).add("vendor", vendor_name(vendor));
  line.add("result", code).add("thread", thread.id).add("gil", gil_);
  if (injected_ != 0) line.add("injected", true);
  if (!thread.label.empty()) line.add("label", thread.label);
  line.add("caller", site(caller_));
  std::string text = line.text();
  if (const std::string notes = json_.text(); notes != "{}") {
    text.back() = ',';
    text += ' ' + notes.substr(1);
  }
  log.end_call(std::move(text));
  return code;
}

void Call::violation(std::string_view kind, std::string_view message, std::uint64_t first,
                     std::uint64_t address, std::uint64_t bytes) {
  log.violation(kind, message, first, number, address, bytes);
}

void Call::wait(const Snapshot& what) {
  guard_.unlock();
  for (const Op* op : what.ops) {
    machine.pump(op);
    if (op->wait(machine.settings.hang_milliseconds)) continue;
    {
      const std::lock_guard guard(machine.lock);
      violation("hang", "the host waits for held work; all held work is released", op->call);
      for (const auto& stream : machine.streams.all()) stream->worker->release();
    }
    while (!op->wait(1000)) continue;
  }
  guard_.lock();
  join(what.clock);
}

void Call::wait(std::size_t event, std::uint64_t record) {
  guard_.unlock();
  Room::get()->wait(event, record);
  guard_.lock();
}

void Call::join(const Clock& clock) {
  machine.clock().join(clock);
  watch_closed(machine);
}

}  // namespace fakegpu
