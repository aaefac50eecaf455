// Scratch: temporary memory for blocks of elements. More than a little is taken from a second stack
// of the thread, in the heap: the thread's own may be one of 64 KiB that another library made.
#pragma once

#include <cstddef>

namespace refarray::core {

/// RAII: uninitialized bytes, aligned to 64. Never fails: a thread that gets no memory of its own
/// waits for that which all share, so no code that may wait for another thread, such as a check
/// for interrupts, may run while one of these exists. They are destroyed in reverse order.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) noexcept {
    if (bytes > kFewBytes) take(bytes);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (stack_ != nullptr) give_back();
  }

  std::byte* data() const noexcept { return data_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kFewBytes = 1024;  // that are in the object itself
  /// Of all that exist at a time in one thread: four operands of a block and, to gather one of
  /// them, the buffers of a blocked transpose; the offsets of their elements, if they are few; a
  /// block of results of a comparison.
  static constexpr std::size_t kCapacity = std::size_t{160} << 10;

  /// Trivially destructible, because destructors of the thread's other thread_locals may copy.
  struct Stack {
    std::byte* data;
    std::size_t used;
    bool is_shared;  // `data` is that of all threads
    bool is_closed;  // the thread ends: it has no memory of its own any more
  };
  struct Closer {
    ~Closer();
  };

  void take(std::size_t bytes) noexcept;
  void give_back() noexcept;
  static void open(Stack& stack) noexcept;

  static constinit thread_local Stack of_thread_;

  alignas(kAlignment) std::byte few_[kFewBytes];
  std::byte* data_ = few_;
  Stack* stack_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace refarray::core
