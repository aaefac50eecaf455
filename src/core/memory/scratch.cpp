// The second stacks of threads, and the one that threads without memory share.
#include "core/memory/scratch.hpp"

#include <cstdlib>
#include <mutex>

#include "core/memory/aligned_block.hpp"

namespace refarray::core {
namespace {
std::mutex shared_owner;
}

constinit thread_local Scratch::Stack Scratch::of_thread_{};

Scratch::Closer::~Closer() {
  free_aligned(of_thread_.data);
  of_thread_ = {nullptr, 0, false, true};
}

void Scratch::take(std::size_t bytes) noexcept {
  Stack& mine = of_thread_;
  if (mine.data == nullptr) [[unlikely]]
    open(mine);
  stack_ = &mine;
  bytes_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  data_ = mine.data + mine.used;
  mine.used += bytes_;
  if (mine.used > kCapacity) std::abort();  // our own mistake: no input is so large
}

void Scratch::give_back() noexcept {
  stack_->used -= bytes_;
  if (!stack_->is_shared || stack_->used > 0) [[likely]]
    return;
  *stack_ = {nullptr, 0, false, stack_->is_closed};
  shared_owner.unlock();
}

/// Finds memory for a thread that has none.
void Scratch::open(Stack& stack) noexcept {
  alignas(kAlignment) static std::byte shared[kCapacity];
  if (!stack.is_closed) {
    static thread_local const Closer closer;
    static_cast<void>(closer);
    stack.data = static_cast<std::byte*>(allocate_aligned(kAlignment, kCapacity));
  }
  if (stack.data != nullptr) return;
  shared_owner.lock();
  stack.data = shared;
  stack.is_shared = true;
}

}  // namespace refarray::core
