// Owns Watch: a managed tensor of our own that stands for a real producer's, and writes down what
// becomes of it.
#pragma once

#include <Python.h>
#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace adversary {

/// What a consumer or an interpreter did, and the thread it did it in.
struct Event {
  /// "deleter": the consumer called it. "destructor": the producer's capsule called its own
  /// tensor's. "capsule": the capsule that the consumer got has gone.
  const char* kind;
  std::int64_t nanoseconds;  // of the clock that Python calls monotonic
  unsigned long thread;      // as Python's get_ident() has it
  bool attached;             // the thread may touch Python objects
  bool interpreter;          // there is one, and it has not begun to end
  bool raised;               // the deleter left an exception set that was not pending before
  std::string name;          // of the capsule that has gone
};

/// The consumer gets a struct, shape and strides that are copies, so that who wrote to which is
/// known. Lives as long as the process: a late or second deleter call must be counted.
class Watch {
 public:
  /// Takes the managed tensor over; `capsule`, under a used name by then, is kept.
  static Watch& make(PyObject* capsule, void* managed, bool versioned);

  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void* managed() noexcept { return ours_; }
  bool versioned() const noexcept { return versioned_; }
  bool has_deleter() const noexcept { return deleter_ != nullptr; }
  void* original() const noexcept { return original_; }
  std::vector<Event> events();
  int deleter_calls();
  /// Whether the consumer wrote to what it got, and the producer to what it had described.
  bool consumer_wrote();
  bool producer_wrote();
  void note(Event event) noexcept;
  /// The consumer's capsule has gone: the producer's follows, under its unused name again when
  /// nobody took the tensor. Needs the GIL.
  void let_go(bool taken) noexcept;

 private:
  using Deleter = void (*)(void*);
  Watch(PyObject* capsule, void* managed, bool versioned);
  DLTensor& tensor_in(void* managed) const noexcept;
  Deleter deleter_in(const void* managed) const noexcept;
  void set_deleter(void* managed, Deleter deleter) const noexcept;
  void compare() noexcept;
  void run(const char* kind) noexcept;
  static void called(void* managed) noexcept;
  static void relayed(void* managed) noexcept;

  alignas(16) std::byte ours_[sizeof(DLManagedTensorVersioned)];  // first: the deleter casts it
  std::byte pristine_[sizeof(DLManagedTensorVersioned)];
  std::vector<std::int64_t> shape_, strides_;            // the consumer's
  std::vector<std::int64_t> kept_shape_, kept_strides_;  // as they were
  PyObject* capsule_;
  void* original_;
  Deleter deleter_;
  bool versioned_;
  std::mutex mutex_;
  std::vector<Event> events_;
  int calls_ = 0;
  bool released_ = false;
  bool twin_ = false;  // another watch stands for the same tensor, and releases it
  bool consumer_wrote_ = false;
  bool producer_wrote_ = false;
};

/// Where and when we are: an event without a kind.
Event here() noexcept;

}  // namespace adversary
