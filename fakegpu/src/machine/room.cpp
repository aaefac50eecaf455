// A room's file: the first process that opens it makes it, so that all of it begins as zeros.
#include "machine/room.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace fakegpu {
namespace {

constexpr std::size_t kComponents = 1U << 14;
constexpr std::size_t kEvents = 64;

struct SharedClock {
  std::uint32_t at[kComponents];
};

std::span<std::uint32_t> used(SharedClock& clock, std::size_t components) {
  return std::span(clock.at).first(components + 1);
}

void write(SharedClock& to, const Clock& from) { std::ranges::copy(from.values(), to.at); }

}  // namespace

struct Room::SharedEvent {
  std::uint32_t made, retired;
  pid_t recorder;
  std::uint64_t recorded;
  std::atomic<std::uint64_t> done;
  SharedClock clock;
};

struct Room::Board {
  std::atomic<std::uint32_t> components;
  SharedClock host;
  SharedEvent events[kEvents];
};

Room* Room::get() {
  static Room* const room = []() -> Room* {
    const char* path = std::getenv("FAKEGPU_ROOM");
    if (path == nullptr || *path == '\0') return nullptr;
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* at = MAP_FAILED;
    if (file >= 0 && ftruncate(file, sizeof(Board)) == 0)
      at = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
      std::fprintf(stderr, "fakegpu: the room %s cannot be opened\n", path);
      std::abort();
    }
    return new Room(file, static_cast<Board*>(at));
  }();
  return room;
}

bool Room::has_ended(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return true;
  char state = 'Z';
  const int found = std::fscanf(file, "%*d (%*[^)]) %c", &state);
  std::fclose(file);
  return found != 1 || state == 'Z' || state == 'X';
}

Room::Lock::Lock(const Room& room) : file_(room.file_) {
  while (flock(file_, LOCK_EX) != 0) continue;  // a signal
}

Room::Lock::~Lock() { flock(file_, LOCK_UN); }

std::size_t Room::new_component() {
  const std::size_t component = ++board_->components;
  if (component < kComponents) return component;
  std::fprintf(stderr, "fakegpu: the room has no place for more streams and threads\n");
  std::abort();
}

void Room::meet(Clock& host) {
  const Lock lock(*this);
  host.join(used(board_->host, board_->components));
  write(board_->host, host);
}

std::optional<std::size_t> Room::add_event() {
  const Lock lock(*this);
  for (SharedEvent& event : board_->events) {
    if (event.made != 0) continue;  // never reused: who has opened it may come at any time
    event.made = 1;
    return static_cast<std::size_t>(&event - board_->events);
  }
  return std::nullopt;
}

void Room::retire_event(std::size_t event) { board_->events[event].retired = 1; }

bool Room::has_event(std::size_t event) const {
  return event < kEvents && board_->events[event].made != 0 && board_->events[event].retired == 0;
}

std::uint64_t Room::record(std::size_t number, const Clock& clock) {
  const Lock lock(*this);
  SharedEvent& event = board_->events[number];
  event.recorder = getpid();
  write(event.clock, clock);
  return ++event.recorded;
}

SharedRecord Room::latest(std::size_t number) {
  const Lock lock(*this);
  SharedEvent& event = board_->events[number];
  SharedRecord out{event.recorded};
  out.clock.join(used(event.clock, board_->components));
  return out;
}

void Room::finish(std::size_t event, std::uint64_t record) {
  std::atomic<std::uint64_t>& done = board_->events[event].done;
  std::uint64_t before = done;
  while (before < record && !done.compare_exchange_weak(before, record)) continue;
}

bool Room::is_finished(std::size_t number, std::uint64_t record) const {
  const SharedEvent& event = board_->events[number];
  return event.done >= record || has_ended(event.recorder);
}

void Room::wait(std::size_t event, std::uint64_t record) const {
  while (!is_finished(event, record)) usleep(200);
}

}  // namespace fakegpu
