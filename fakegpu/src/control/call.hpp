// Call: RAII for one driver call: the lock, preconditions, injected faults and the trace line.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "control/log.hpp"
#include "machine/machine.hpp"

namespace fakegpu {

/// Properties of a driver function, whatever its arguments.
enum Trait : unsigned {
  kPlain = 0,
  kBlocks = 1,      // may block; must not be called with the GIL held
  kReleases = 2,    // releases a resource, even if it returns an error
  kBeforeInit = 4,  // legal before cuInit
  // illegal while a stream capture affects this thread, unless the thread is in relaxed mode
  kUnsafe = 8,
  kQuiet = 16,  // pure query such as cuGetErrorName: no injected faults, no sticky errors
  // only reads or sets what the calling thread or the driver keeps: it enqueues, allocates and
  // releases nothing, so a caller may hold a lock that others need. All others may wait: for the
  // device, for room in a queue or for another thread that is inside the driver.
  kImmediate = 32,
  // of the CUDA driver API: documented to fail without a current context, although a stream, an
  // event or a pointer names one
  kInContext = 64,
};

/// True in a thread that is running a host function, which must not call the driver.
bool& in_host_function();
/// True while this thread is in a driver function.
bool& in_call();
/// True while this thread is inside a `_ptsz` entry point.
bool& null_is_per_thread();

class Call {
 public:
  Call(Vendor vendor, const char* name, unsigned traits, const void* caller);
  ~Call() { in_call() = false; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// The status if the call fails before doing anything, else 0.
  int check();
  /// Writes the trace line. Returns the status that the function returns.
  int finish(int code);

  template <class T>
  Call& note(std::string_view key, T value) {
    json_.add(key, value);
    return *this;
  }
  Call& note_pointer(const void* pointer) {
    return note("pointer", reinterpret_cast<std::uint64_t>(pointer));
  }
  void violation(std::string_view kind, std::string_view message, std::uint64_t first = 0,
                 std::uint64_t address = 0, std::uint64_t bytes = 0);

  /// Blocks the host until the work has finished, without the lock; then joins its clock to the
  /// host's.
  void wait(const Snapshot& what);
  /// The same for the record of an event of the room, without the clock.
  void wait(std::size_t event, std::uint64_t record);
  /// Joins the clock of finished work to the host's.
  void join(const Clock& clock);

  Machine& machine;
  Log& log;
  Vendor vendor;
  std::uint64_t number;

 private:
  int check_state();

  const char* name_;
  unsigned traits_;
  const void* caller_;
  int injected_ = 0;
  bool gil_ = false;
  std::unique_lock<std::mutex> guard_;
  Json json_;
};

/// Every entry point: calls `body` with the call and the arguments. Inlined, so that the return
/// address is the program's.
template <class Body, class... Arguments>
[[gnu::always_inline]] inline int call(Vendor vendor, const char* name, unsigned traits,
                                       Body&& body, Arguments... arguments) {
  Call at(vendor, name, traits, __builtin_return_address(0));
  if (const int code = at.check()) return at.finish(code);
  return at.finish(std::forward<Body>(body)(at, arguments...));
}

}  // namespace fakegpu
