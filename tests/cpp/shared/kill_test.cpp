// The kill test: processes of three generations allocate, fill, send, receive, check and drop
// shared arrays, and are killed and stopped at random places. No array may be read that is not the
// one sent, no handle may be refused, and nothing may be left.
//
// KILLS=1000 and SEED=7 in the environment make it longer and another.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "core/error.hpp"
#include "shared/holds.hpp"
#include "shared/processes.hpp"
#include "shared/shared_storage.hpp"

namespace {

namespace core = refarray::core;
namespace shared = refarray::shared;
using namespace refarray::check;
using refarray::shared::Arena;
using refarray::shared::ArenaPtr;

constexpr int kFirstGeneration = 6;
constexpr int kGenerations = 3;
constexpr int kMostProcesses = 24;
constexpr int kPipes = 4;
constexpr std::size_t kMostHeld = 12;

/// What all processes share besides the arena.
struct Common {
  std::array<std::atomic<pid_t>, kMostProcesses> processes;
  std::atomic<std::uint64_t> next_key{1};
  std::atomic<long> made{0}, sent{0}, received{0}, of_ended_senders{0}, checks{0}, forks{0},
      late{0};
  std::atomic<long> corrupt{0}, refused{0}, blocked{0}, other_errors{0};
};
Common* common;
std::array<std::array<int, 2>, kPipes> pipes;
ArenaPtr arena;
const shared::Control* control;  // of the arena, to look at

using Random = std::mt19937_64;

std::uint64_t mixed(std::uint64_t key, std::uint64_t i) noexcept {
  std::uint64_t x = key + i * 0x9E3779B97F4A7C15ULL;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
  return x ^ x >> 27;
}

struct Held {
  core::Array array;
  std::uint64_t key;
};

void fill(const Held& held) {
  auto* words = reinterpret_cast<std::uint64_t*>(held.array.data);
  for (std::int64_t i = 0; i < held.array.layout.shape[0]; ++i)
    words[i] = mixed(held.key, static_cast<std::uint64_t>(i));
}

void verify(const Held& held) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(held.array.data);
  bool is_right = true;
  for (std::int64_t i = 0; i < held.array.layout.shape[0]; ++i)
    is_right &= words[i] == mixed(held.key, static_cast<std::uint64_t>(i));
  ++common->checks;
  if (!is_right) ++common->corrupt;
}

/// What goes through a pipe: one packet.
struct Record {
  std::uint64_t key;
  std::uint32_t size;
  std::array<std::byte, 256> message;
};

class Worker {
 public:
  Worker(std::uint64_t seed, int generation) : random_(seed), generation_(generation) {}

  [[noreturn]] void run() {
    for (;;) {
      try {
        step();
      } catch (const core::Error& error) {
        if (++common->other_errors < 5) std::printf("in a worker: %s\n", error.what());
      }
    }
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }

  void step() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return make();
      case 3:
      case 4:
      case 5:
        return give();
      case 6:
      case 7:
      case 8:
        return take();
      case 9:
        return drop();
      case 10:
        return below(8) == 0 ? spawn() : drop();
      default:
        if (below(64) == 0) return static_cast<void>(arena->collect());
        return take_late();
    }
  }

  void make() {
    if (held_.size() >= kMostHeld) return drop();
    // Of many sizes: most are small, some take several units.
    const std::int64_t most = below(200) == 0 ? 600'000 : below(10) == 0 ? 20'000 : 100;
    const std::int64_t shape[] = {1 +
                                  static_cast<std::int64_t>(below(static_cast<std::size_t>(most)))};
    held_.push_back({shared::new_shared_array(arena, {core::Kind::kUInt, 64}, shape, false),
                     common->next_key.fetch_add(1)});
    fill(held_.back());
    ++common->made;
  }

  void drop() {
    if (held_.empty()) return;
    const std::size_t at = below(held_.size());
    verify(held_[at]);
    std::swap(held_[at], held_.back());
    held_.pop_back();
  }

  void give() {
    if (held_.empty()) return;
    const std::size_t at = below(held_.size());
    const shared::Message message = shared::send(held_[at].array);
    const std::vector<std::byte> bytes = shared::encode(message);
    Record record{held_[at].key, static_cast<std::uint32_t>(bytes.size()), {}};
    std::copy(bytes.begin(), bytes.end(), record.message.begin());
    if (write(pipes[below(kPipes)][1], &record, sizeof record) != sizeof record)
      return arena->receive(message.ticket);  // the pipe is full
    ++common->sent;
    if (below(2) == 0) drop();
  }

  void take() {
    if (held_.size() >= kMostHeld) return drop();
    Record record;
    if (read(pipes[below(kPipes)][0], &record, sizeof record) != sizeof record) return;
    bool sender_ended = false;
    try {
      const shared::Message message = decoded(record);
      if (late_.size() < kMostHeld)
        late_.push_back(record);
      else
        late_[below(late_.size())] = record;
      sender_ended = control->cells[message.ticket.cell] == shared::orphaned(message.ticket.value);
      held_.push_back({shared::attach(arena, message), record.key});
    } catch (const core::Error& error) {
      const bool is_blocked =
          std::string_view(error.what()).find("does not go on") != std::string_view::npos;
      if (is_blocked)
        ++common->blocked;
      else if (++common->refused < 5)
        std::printf("refused: %s\n", error.what());
      return;
    }
    ++common->received;
    if (sender_ended) ++common->of_ended_senders;
    verify(held_.back());
  }

  /// Uses a handle again, long after it arrived: a refusal is right, another array is not.
  void take_late() {
    if (late_.empty()) return;
    const Record& record = late_[below(late_.size())];
    try {
      const Held held{shared::attach(arena, decoded(record)), record.key};
      verify(held);
    } catch (const core::Error&) {
      ++common->late;
    }
  }

  static shared::Message decoded(const Record& record) {
    return shared::decode_message(std::span(record.message).first(record.size));
  }

  void spawn() {
    if (generation_ + 1 >= kGenerations) return;
    for (std::atomic<pid_t>& place : common->processes) {
      pid_t nobody = 0;
      if (!place.compare_exchange_strong(nobody, -1)) continue;
      const std::uint64_t seed = random_();
      const pid_t child = fork();
      if (child != 0) {  // the child of a parent that is killed here is found by its own entry
        if (child > 0) ++common->forks;
        if (child < 0) place = 0;
        return;
      }
      place = getpid();
      random_.seed(seed);
      ++generation_;
      return;
    }
  }

  Random random_;
  int generation_;
  std::vector<Held> held_;
  std::vector<Record> late_;
};

int descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

/// Removes ended processes from the table; returns how many were killed.
long reap() {
  long killed = 0;
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
    if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
      check(false, "a worker ended with status " + std::to_string(status));
    for (std::atomic<pid_t>& place : common->processes) {
      if (place == pid) place = 0;
    }
  }
  return killed;
}

void start_first(Random& random) {
  int alive = 0;
  std::atomic<pid_t>* free = nullptr;
  for (std::atomic<pid_t>& place : common->processes) {
    alive += place > 0 ? 1 : 0;
    if (place == 0) free = &place;
  }
  if (alive >= kFirstGeneration || free == nullptr) return;
  const std::uint64_t seed = random();
  const pid_t child = fork();
  if (child == 0) {
    *free = getpid();
    Worker(seed, 0).run();
  }
  *free = child;
}

void end_all() {
  // A worker that was just forked enters the table after the first round.
  for (int rounds = 0; rounds < 1000; ++rounds) {
    for (const std::atomic<pid_t>& place : common->processes) {
      if (place > 0) kill(place, SIGKILL);
    }
    reap();
    if (waitpid(-1, nullptr, WNOHANG) < 0) return;  // no child is left
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  check(false, "processes are left");
}

long number_from(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

const Case kills("processes that are killed and stopped corrupt, lose and leave nothing", [] {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  void* memory =
      mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  common = ::new (memory) Common;
  const int descriptors_before = descriptors();
  for (auto& each : pipes) check(pipe2(each.data(), O_DIRECT | O_NONBLOCK | O_CLOEXEC) == 0);
  arena = Arena::create(true, std::uint64_t{256} << 20);
  control = reinterpret_cast<const shared::Control*>(
      shared::map_file(shared::open_again(arena->control_file(), shared::Access::kRead),
                       sizeof(shared::Control), shared::Access::kRead));
  shared::limits().transit = shared::kCells;
  shared::limits().orphans = shared::kCells;
  std::setbuf(stdout, nullptr);

  const long wanted = number_from("KILLS", 60);
  Random random(static_cast<std::uint64_t>(number_from("SEED", 35)));
  long killed = 0, stops = 0;
  while (killed < wanted) {
    start_first(random);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    const pid_t victim = common->processes[random() % kMostProcesses];
    if (victim > 0 && random() % 3 == 0) {
      kill(victim, SIGSTOP);
      ++stops;
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
      kill(victim, SIGCONT);
    } else if (victim > 0) {
      kill(victim, SIGKILL);
    }
    killed += reap();
    if (random() % 50 == 0) arena->collect();
  }
  end_all();

  for (auto& each : pipes) {
    close(each[0]);
    close(each[1]);
  }
  shared::limits().orphans = 0;
  arena->collect();
  arena->collect();
  const shared::Usage usage = arena->usage();
  long holds = 0, cells = 0, units = 0, pages = 0;
  for (std::uint32_t i = 0; i < control->pages_used * shared::kBlocksPerPage; ++i)
    holds += shared::is_held(control->blocks[i]) ? 1 : 0;
  for (std::uint32_t i = 0; i < control->cells_used; ++i) cells += control->cells[i] != 0 ? 1 : 0;
  for (std::uint32_t i = 0; i < control->units_used; ++i) units += control->unit_owner[i] != 0;
  for (std::uint32_t i = 0; i < control->pages_used; ++i) pages += control->page_owner[i] != 0;
  std::printf(
      "%ld killed, %ld stopped, %ld forked; %ld made, %ld sent, %ld received, %ld of them of ended "
      "senders, %ld came late, %ld checked: %ld corrupt, %ld refused, %ld blocked, %ld other "
      "errors; left: %ld "
      "blocks, %ld cells, %ld units, %ld pages, %u processes, %d descriptors\n",
      killed, stops, common->forks.load(), common->made.load(), common->sent.load(),
      common->received.load(), common->of_ended_senders.load(), common->late.load(),
      common->checks.load(), common->corrupt.load(), common->refused.load(), common->blocked.load(),
      common->other_errors.load(), holds, cells, units, pages, usage.processes - 1,
      descriptors() - descriptors_before - 2);
  expect(common->corrupt.load(), 0);
  expect(common->refused.load(), 0);
  expect(common->other_errors.load(), 0);
  expect(holds + cells + units + pages, 0);
  expect(usage.processes, 1U);
  expect(descriptors(), descriptors_before + 2);
  check(common->received > 0 && common->forks > 0);
  arena.reset();
  expect(descriptors(), descriptors_before);
});

}  // namespace
