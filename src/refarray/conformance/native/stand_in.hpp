// StandIn: a managed tensor that replaces a real producer's tensor and records how it is released.
#pragma once

#include <Python.h>
#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace adversary {

/// A deleter call or a destroyed capsule, and the thread it happened in.
struct Event {
  /// "deleter": the consumer called the deleter. "destructor": the producer's capsule called the
  /// original tensor's deleter. "capsule": the consumer's capsule was destroyed.
  const char* kind;
  std::int64_t nanoseconds;  // of time.monotonic()
  unsigned long thread;      // threading.get_ident()
  bool attached;             // the thread may use Python objects
  bool interpreter;          // the interpreter exists and is not finalizing
  bool raised;               // the deleter set an exception
  char name[64];             // of the destroyed capsule; of a longer one, the beginning
};

/// The consumer gets copies of struct, shape and strides, so that writes of the consumer and of the
/// producer can be told apart. Lives until the process ends, so that a late or second deleter call
/// is counted.
class StandIn {
 public:
  /// Takes ownership of the managed tensor and keeps `capsule`, which already has its used name.
  static StandIn& make(PyObject* capsule, void* managed, bool versioned);

  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  void* managed() noexcept { return copy_; }
  bool versioned() const noexcept { return versioned_; }
  bool has_deleter() const noexcept { return deleter_ != nullptr; }
  void* original() const noexcept { return original_; }
  std::vector<Event> events();
  int deleter_calls();
  /// Whether the consumer changed the struct, shape or strides it received, and whether the
  /// producer changed shape or strides after the export.
  bool consumer_wrote();
  bool producer_wrote();
  void record(Event event) noexcept;
  /// Releases the producer's capsule after the consumer's was destroyed. If nobody consumed the
  /// tensor (`taken` false), the capsule first gets its unused name back. Needs the GIL.
  void release_capsule(bool taken) noexcept;

 private:
  using Deleter = void (*)(void*);
  StandIn(PyObject* capsule, void* managed, bool versioned);
  DLTensor& tensor_in(void* managed) const noexcept;
  Deleter deleter_in(const void* managed) const noexcept;
  void set_deleter(void* managed, Deleter deleter) const noexcept;
  void compare() noexcept;
  void run(const char* kind) noexcept;
  static void called(void* managed) noexcept;
  static void relayed(void* managed) noexcept;

  // The first member, because the deleter casts its argument to StandIn*.
  alignas(16) std::byte copy_[sizeof(DLManagedTensorVersioned)];
  std::byte pristine_[sizeof(DLManagedTensorVersioned)];
  std::vector<std::int64_t> shape_, strides_;            // the consumer's
  std::vector<std::int64_t> kept_shape_, kept_strides_;  // at the time of the export
  PyObject* capsule_;
  void* original_;
  Deleter deleter_;
  bool versioned_;
  std::mutex mutex_;
  std::vector<Event> events_;
  int calls_ = 0;
  bool released_ = false;
  bool duplicate_ = false;  // another StandIn of the same tensor releases it
  bool consumer_wrote_ = false;
  bool producer_wrote_ = false;
};

/// An event of the current time and thread, without a kind.
Event event_here() noexcept;

}  // namespace adversary
