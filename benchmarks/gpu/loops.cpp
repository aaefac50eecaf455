// Loops that time driver calls from C++, without the interpreter.
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace {

using Record = int (*)(void* event, void* stream);
using Wait = int (*)(void* stream, void* event, unsigned flags);
using Allocate = int (*)(std::uintptr_t* out, std::size_t nbytes, void* stream);
using Free = int (*)(std::uintptr_t address, void* stream);

class Clock {
 public:
  double per(int count) const {
    const std::chrono::duration<double, std::nano> passed = Now::now() - start_;
    return passed.count() / count;
  }

 private:
  using Now = std::chrono::steady_clock;
  Now::time_point start_ = Now::now();
};

}  // namespace

extern "C" {

/// Nanoseconds of recording an event on one stream and making another wait for it; -1 on an error.
double time_record_wait(Record record, Wait wait, void** events, void* producer, void* consumer,
                        int count) {
  int failed = 0;
  const Clock clock;
  for (int i = 0; i < count; ++i) {
    failed |= record(events[i], producer) | wait(consumer, events[i], 0);
  }
  return failed != 0 ? -1 : clock.per(count);
}

/// Nanoseconds of allocating from the stream-ordered pool and freeing; -1 on an error.
double time_allocate_free(Allocate allocate, Free free, std::size_t nbytes, void* stream,
                          int count) {
  int failed = 0;
  const Clock clock;
  for (int i = 0; i < count; ++i) {
    std::uintptr_t address = 0;
    failed |= allocate(&address, nbytes, stream);
    failed |= free(address, stream);
  }
  return failed != 0 ? -1 : clock.per(count);
}
}
