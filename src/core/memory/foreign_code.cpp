// Destruction of storages over other libraries' memory, without recursion and on any thread.
#include "core/memory/foreign_code.hpp"

#include <atomic>

#include "core/memory/storage.hpp"

namespace refarray::core {
namespace {

constinit std::atomic<ForeignCaller> foreign_caller{nullptr};
constinit std::atomic<ForeignCaller> driver_caller{nullptr};

/// A foreign storage owns an object that may own another storage of ours, and so on: a chain of any
/// length, whose destruction would recurse. Each thread nests up to kDeepest destructions, so that
/// a deleter that drops arrays sees them destroyed at once; deeper ones wait in a list until the
/// deepest one has finished.
struct Nesting {
  static constexpr int kDeepest = 8;
  int depth;
  Storage* waiting;
};
constinit thread_local Nesting nesting{};

}  // namespace

void set_foreign_caller(ForeignCaller caller) noexcept {
  foreign_caller.store(caller, std::memory_order_release);
}

void call_foreign(void (*body)(void*) noexcept, void* argument) noexcept {
  const ForeignCaller caller = foreign_caller.load(std::memory_order_acquire);
  caller == nullptr ? body(argument) : caller(body, argument);
}

void set_driver_caller(ForeignCaller caller) noexcept {
  driver_caller.store(caller, std::memory_order_release);
}

void call_driver(void (*body)(void*) noexcept, void* argument) noexcept {
  const ForeignCaller caller = driver_caller.load(std::memory_order_acquire);
  caller == nullptr ? body(argument) : caller(body, argument);
}

void Storage::release_elsewhere() noexcept {
  if (!foreign_)
    return call_driver([](void* self) noexcept { static_cast<Storage*>(self)->destroy(); }, this);
  // A tracked storage may wait for its device first; its deleter is called by call_foreign().
  if (tracked_) return destroy_foreign();
  call_foreign([](void* self) noexcept { static_cast<Storage*>(self)->destroy_foreign(); }, this);
}

void Storage::destroy_foreign() noexcept {
  Nesting& here = nesting;
  if (here.depth == Nesting::kDeepest) {
    next_ = here.waiting;
    here.waiting = this;
    return;
  }
  ++here.depth;
  destroy_(this);  // `this` is gone
  if (here.depth == Nesting::kDeepest) [[unlikely]] {
    while (here.waiting != nullptr) {
      Storage* storage = here.waiting;
      here.waiting = storage->next_;
      storage->destroy_(storage);
    }
  }
  --here.depth;
}

}  // namespace refarray::core
