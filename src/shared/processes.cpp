// The arenas of this process, and fork().
#include "shared/processes.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "core/error.hpp"

namespace refarray::shared {
namespace {

struct Processes {
  std::mutex mutex;
  std::vector<std::weak_ptr<Arena>> arenas;
  std::vector<ArenaPtr> in_fork;
  bool is_prepared = true;           // `in_fork` has all arenas
  std::atomic<bool> is_lost{false};  // this is a child of a fork() for which it had not
  std::uint64_t* page = nullptr;     // 1; 0 in a child until its handler has run
};

/// Never destroyed: arrays may outlive every static object.
Processes& processes() noexcept {
  static auto& all = *new Processes;
  return all;
}

std::vector<ArenaPtr> locked_arenas(const Processes& all) {
  std::vector<ArenaPtr> out;
  for (const std::weak_ptr<Arena>& each : all.arenas) {
    if (ArenaPtr arena = each.lock()) out.push_back(std::move(arena));
  }
  return out;
}

void prepare() noexcept {
  Processes& all = processes();
  all.mutex.lock();
  try {  // boundary: without memory for the list the child is no member, as after clone()
    all.in_fork = locked_arenas(all);
    all.is_prepared = true;
  } catch (const std::bad_alloc&) {
    all.in_fork.clear();
    all.is_prepared = false;
  }
  for (const ArenaPtr& arena : all.in_fork) arena->prepare_fork();
}

/// The last owner of an arena may be this list: it is destroyed after the lock is free.
template <class End>
void finish(End end) noexcept {
  Processes& all = processes();
  for (const ArenaPtr& arena : all.in_fork) end(*arena);
  const std::vector<ArenaPtr> done = std::move(all.in_fork);
  all.in_fork.clear();
  all.mutex.unlock();
}

void in_parent() noexcept {
  finish([](Arena& arena) { arena.end_fork_in_parent(); });
}

void in_child() noexcept {
  Processes& all = processes();
  if (!all.is_prepared) all.is_lost.store(true, std::memory_order_relaxed);
  if (all.page != nullptr) *all.page = 1;
  finish([](Arena& arena) { arena.end_fork_in_child(); });
}

void install_handlers(Processes& all) {
  all.page = new_page_of_process();
  if (all.page != nullptr) *all.page = 1;
  if (pthread_atfork(&prepare, &in_parent, &in_child) != 0)
    core::fail(core::Fault::kMemory, "no memory for the handlers of fork()");
}

}  // namespace

bool is_ours() noexcept {
  if (processes().is_lost.load(std::memory_order_relaxed)) return false;
  const std::uint64_t* page = processes().page;
  return page == nullptr || *static_cast<const volatile std::uint64_t*>(page) != 0;
}

ArenaPtr find_arena(const Id& id) {
  for (ArenaPtr& arena : open_arenas()) {
    if (arena->id() == id) return std::move(arena);
  }
  return {};
}

ArenaPtr add_arena(ArenaPtr arena) {
  Processes& all = processes();
  static const bool installed = (install_handlers(all), true);
  static_cast<void>(installed);
  const std::lock_guard here(all.mutex);
  for (const ArenaPtr& each : locked_arenas(all)) {
    if (each->id() == arena->id()) return each;
  }
  std::erase_if(all.arenas, [](const std::weak_ptr<Arena>& each) { return each.expired(); });
  all.arenas.push_back(arena);
  return arena;
}

std::vector<ArenaPtr> open_arenas() {
  Processes& all = processes();
  const std::lock_guard here(all.mutex);
  return locked_arenas(all);
}

}  // namespace refarray::shared
