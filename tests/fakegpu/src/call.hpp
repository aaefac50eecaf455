// Owns one call of a driver's function: the lock, what forbids it, its faults, its trace line.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "log.hpp"
#include "machine.hpp"

namespace fakegpu {

/// What is true of a function, whatever its arguments.
enum Trait : unsigned {
  kPlain = 0,
  kBlocks = 1,      // may wait for the device: never with the GIL held
  kReleases = 2,    // gives something back, and does so even when it reports an error
  kBeforeInit = 4,  // allowed before cuInit
  kUnsafe = 8,      // forbidden to a thread with a stream capture that is not relaxed
  kQuiet = 16,      // names of errors and the like: no fault, no sticky error
};

/// True in a thread that runs a host function, from which no driver may be called.
bool& in_host_function();
/// True while this thread is inside a `_ptsz` entry point.
bool& null_is_per_thread();

class Call {
 public:
  Call(Vendor vendor, const char* name, unsigned traits, const void* caller);

  /// The code with which the call ends before it has done anything, or 0.
  int refused();
  /// Writes the trace line; what the function returns.
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

  /// Blocks the host until the work is done, without the lock; the host's clock then knows it.
  void wait(const Snapshot& what);
  /// The host has learnt that the work is done.
  void join(const Clock& clock);

  Machine& machine;
  Log& log;
  Vendor vendor;
  std::uint64_t number;

 private:
  int forbidden();

  const char* name_;
  unsigned traits_;
  const void* caller_;
  int injected_ = 0;
  bool gil_ = false;
  std::unique_lock<std::mutex> guard_;
  Json json_;
};

/// The shape of every entry point. Inlined, so that the return address is the program's.
template <class Body>
[[gnu::always_inline]] inline int call(Vendor vendor, const char* name, unsigned traits,
                                       Body&& body) {
  Call at(vendor, name, traits, __builtin_return_address(0));
  if (const int code = at.refused()) return at.finish(code);
  return at.finish(std::forward<Body>(body)(at));
}

}  // namespace fakegpu
