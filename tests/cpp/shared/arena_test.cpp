// Tests of shared: arenas, holds, handles, what ended processes leave, and input from elsewhere.
#include <fcntl.h>
#include <linux/memfd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "check.hpp"
#include "shared/free_ranges.hpp"
#include "shared/holds.hpp"
#include "shared/processes.hpp"
#include "shared/shared_storage.hpp"

namespace {

namespace core = refarray::core;
using core::Fault;
using core::text;
using namespace refarray::check;
using namespace refarray::shared;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr core::DType kBytes{core::Kind::kUInt, 8};

core::Array bytes_in(const ArenaPtr& arena, std::int64_t count, int value) {
  const std::int64_t shape[] = {count};
  core::Array out = new_shared_array(arena, kBytes, shape, /*zeroed=*/false);
  std::memset(out.data, value, static_cast<std::size_t>(count));
  return out;
}

bool all_are(const core::Array& array, int value) {
  return std::all_of(array.data, array.data + array.layout.shape[0],
                     [=](std::byte each) { return each == std::byte(value); });
}

/// The control memory of an arena, as any process may change it.
Control& control_of(const ArenaPtr& arena) {
  const Descriptor file = open_again(arena->control_file(), Access::kWrite);
  return *reinterpret_cast<Control*>(map_file(file, sizeof(Control), Access::kWrite));
}

/// Runs `body` in a forked child; whether it returned true.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    bool holds = false;
    checks_failed = 0;
    try {  // boundary: a child reports by its status
      holds = body();
    } catch (const core::Error& error) {
      std::printf("in the child: %s\n", error.what());
    }
    std::fflush(stdout);
    _exit(holds ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

/// A child that waits until it is killed, and then has been reaped.
class Waiting {
 public:
  explicit Waiting(const std::function<void()>& before = [] {}) {
    int ready[2];
    check(pipe2(ready, O_CLOEXEC) == 0);
    child_ = fork();
    if (child_ == 0) {
      checks_failed = 0;
      before();
      check(write(ready[1], "x", 1) == 1);
      for (;;) pause();
    }
    close(ready[1]);
    char byte = 0;
    check(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
  }
  void end() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

// --- The books.

const Case ranges("free ranges are taken once, merged, and given back in whole units", [] {
  FreeRanges free;
  std::mt19937 random(35);
  std::vector<bool> is_free(4096, true);
  free.give({0, 4096});
  std::vector<Range> taken;
  for (int round = 0; round < 3000; ++round) {
    if (random() % 2 == 0) {
      const std::uint64_t length = 1 + random() % 64;
      const auto found = free.take(length);
      if (!found) continue;
      for (std::uint64_t i = *found; i < *found + length; ++i) {
        check(is_free[i]);
        is_free[i] = false;
      }
      taken.push_back({*found, length});
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      for (std::uint64_t i = taken.back().offset; i < taken.back().end(); ++i) is_free[i] = true;
      free.give(taken.back());
      taken.pop_back();
    }
    expect(free.bytes(),
           static_cast<std::uint64_t>(std::count(is_free.begin(), is_free.end(), true)));
  }
  for (const Range& each : taken) free.give(each);
  check(free.take(4096) == std::uint64_t{0});  // one range again
  free.give({100, 3000});
  const std::vector<Range> whole = free.take_whole(1024);
  check(whole.size() == 1 && whole[0].offset == 1024 && whole[0].length == 2048);
  expect(free.bytes(), 3000U - 2048U);
});

// --- Holds.

const Case holds("a block is claimed only if nobody holds it, and an old handle takes no hold", [] {
  auto block = std::make_unique<Block>();
  for (const std::uint32_t slot : {0U, 61U, 62U, 309U}) {
    const std::uint64_t before = block->generation;
    check(claim(*block) && !claim(*block));
    publish(*block, slot, 256, 512);
    expect(block->generation.load(), before + 1);
    check(!claim(*block));
    check(take_hold(*block, 100, before) == Hold::kReused);
    check(take_hold(*block, 100, before + 1) == Hold::kTaken);
    drop_hold(*block, slot);
    check(!claim(*block));
    drop_hold(*block, 100);
    check(!is_held(*block));
  }
  check(claim(*block));  // and goes no further
  check(take_hold(*block, 1, block->generation) == Hold::kBlocked);
  unclaim(*block);
  check(!is_held(*block));
});

const Case cells("any word is a cell of a block that exists", [] {
  for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 54})
    check(decode(word).block < kBlocks);
  const std::uint64_t word = encode(CellValue{309, kBlocks - 1, kSerialMask});
  check(decode(word).slot == 309 && decode(word).block == kBlocks - 1);
  check(decode(orphaned(word)).slot == kOrphanSlot && decode(orphaned(word)).serial == kSerialMask);
});

const Case racing("of threads that attach and one that frees, one sees the other", [] {
  auto block = std::make_unique<Block>();
  std::atomic<std::uint64_t> generation{0};
  std::atomic<bool> is_done{false};
  std::atomic<long> wrong{0}, taken{0};
  std::uint64_t content =
      0;  // of the block: only its holders and the one that claimed it access it
  std::vector<std::thread> running;
  for (std::uint32_t t = 0; t < 2; ++t) {
    running.emplace_back([&, slot = 1 + t * 70] {
      while (!is_done) {
        const std::uint64_t expected = generation;
        if (take_hold(*block, slot, expected) != Hold::kTaken) continue;
        wrong += content != expected ? 1 : 0;
        ++taken;
        drop_hold(*block, slot);
      }
    });
  }
  for (int i = 0; i < 20000; ++i) {
    if (!claim(*block)) continue;
    content = block->generation;
    generation = content;
    publish(*block, 0, 0, 0);
    drop_hold(*block, 0);
  }
  is_done = true;
  for (std::thread& each : running) each.join();
  expect(wrong.load(), 0);
});

// --- Allocation.

const Case allocation("arrays have separate memory, which is used again", [] {
  const ArenaPtr arena = Arena::create(true, 64 * kMiB);
  std::vector<core::Array> arrays;
  for (int i = 0; i < 300; ++i) arrays.push_back(bytes_in(arena, i * 37, i % 251));
  for (int i = 0; i < 300; i += 2) arrays[static_cast<std::size_t>(i)] = {};
  for (int i = 0; i < 300; i += 2)
    arrays[static_cast<std::size_t>(i)] = bytes_in(arena, i * 37, i % 251);
  for (int i = 0; i < 300; ++i) {
    const core::Array& each = arrays[static_cast<std::size_t>(i)];
    check(all_are(each, i % 251) && reinterpret_cast<std::uintptr_t>(each.data) % 256 == 0);
    check(arena_of(each) == arena && each.storage->host_block() == 0);
  }
  expect(arena->usage().held, 300U);
  const std::int64_t shape[] = {1000};
  arrays.clear();
  check(all_are(new_shared_array(arena, kBytes, shape, /*zeroed=*/true), 0));
  expect(arena->usage().held, 0U);
  const std::uint64_t taken = arena->collect();  // all that was ever taken
  check(taken >= 300 * 299 / 2 * 37 && taken % kUnit == 0, text(taken));
  expect(arena->usage().free_bytes, 0U);
});

const Case limited("an arena has a limit, and the memory of dropped arrays counts again", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  fails(Fault::kMemory, "cannot allocate 8388609 bytes: the limit of the arena is 8388608",
        [&] { bytes_in(arena, 8 * kMiB + 1, 0); });
  for (int round = 0; round < 5; ++round) {
    core::Array first = bytes_in(arena, 5 * kMiB, 1);
    fails(Fault::kMemory, "the limit of the arena is 8388608, and 5242880 are in use",
          [&] { bytes_in(arena, 5 * kMiB, 2); });
    const core::Array rest = bytes_in(arena, 2 * kMiB, 3);
    check(all_are(first, 1));
  }
  fails(Fault::kValue, "limit is 0", [] { Arena::create(true, 0); });
  fails(Fault::kValue, "limit is 1099511627777", [] { Arena::create(true, (1ULL << 40) + 1); });
});

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // they need more addresses
const Case address_space("an arena maps what RLIMIT_AS lets it, and says so at its end", [] {
  check(in_child([] {
    const rlimit space{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
    setrlimit(RLIMIT_AS, &space);
    const ArenaPtr arena = Arena::create(true, 512ULL << 30);  // maps less than that
    const core::Array fits = bytes_in(arena, 10 * kMiB, 1);
    fails(Fault::kMemory, "RLIMIT_AS", [&] { bytes_in(arena, 2000 * kMiB, 1); });
    return all_are(fits, 1) && checks_failed == 0;
  }));
});
#endif

const Case file_size("the limit of file sizes is an error, not a signal", [] {
  check(in_child([] {
    const ArenaPtr arena = Arena::create(true, 64 * kMiB);
    const rlimit size{4 * kMiB, 4 * kMiB};
    setrlimit(RLIMIT_FSIZE, &size);
    fails(Fault::kMemory, "File too large", [&] { bytes_in(arena, 10 * kMiB, 1); });
    return all_are(bytes_in(arena, kMiB, 1), 1) && checks_failed == 0;
  }));
});

// --- Handles.

const Case codec("a message survives its bytes, and no wrong field does", [] {
  const ArenaPtr arena = Arena::create(true, 64 * kMiB);
  const core::Array x = bytes_in(arena, 1000, 7);
  core::Layout layout;
  layout.push(10, -50);
  layout.push(4, 2);
  const core::Array view = core::with_layout(x, layout, 900);
  const std::vector<std::byte> bytes = encode(send(view));
  const core::Array again = attach(arena, decode_message(bytes));
  check(again.data == view.data && again.dtype == kBytes && !again.readonly);
  check(again.layout.strides[0] == -50 && again.layout.shape[1] == 4);
  const auto refused = [&](std::size_t at, std::initializer_list<int> values,
                           std::string_view part) {
    std::vector<std::byte> wrong = bytes;
    for (const int value : values) wrong[at++] = std::byte(value);
    fails(Fault::kBuffer, part, [&] { attach(arena, decode_message(wrong)); });
  };
  refused(0, {0}, "magic is");
  refused(4, {65}, "ndim is 65; it must be 0 to 64");
  refused(4, {1}, "bytes; ndim 1 needs");
  refused(8, {0, 0, 0, 0}, "another arena");
  refused(56, {1}, "offset is");                                 // of the place
  refused(60, {1}, "ends beyond the arena's 67108864 bytes");    // the same
  refused(64, {0, 0, 0, 0}, "first is 900; it must be 0 to 0");  // of the length
  refused(70, {1}, "length is");
  refused(74, {255}, "block is");
  refused(90, {255}, "cell is");
  refused(96, {255, 3}, "leave the block");  // the first element
  refused(103, {255}, "first is -72057594037927036; it must be 0 to 1024");
  refused(104, {99}, "(code 99, bits 8) is not a type");
  refused(106, {0}, "lanes is 0");
  refused(108, {1}, "padded is 1 for 8 bits");
  refused(108, {2}, "padded is 2; it must be 0 or 1");
  refused(109, {2}, "readonly is 2");
  refused(110, {1}, "bit is 1");
  refused(112, {255, 255}, "leave the block");
  refused(119, {255}, "a number is negative");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    fails(Fault::kBuffer, "bytes; ", [&] { decode_message(std::span(bytes).first(size)); });
  const core::Array plain = core::new_array(kBytes, layout.extents(), true);
  fails(Fault::kBuffer, "shared.asarray(x)", [&] { send(plain); });
});

const Case packed("arrays of packed, empty and read-only elements go to others as they are", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  const std::int64_t shape[] = {9};
  const core::DType fp4{core::Kind::kFloat4_e2m1fn, 4};
  const core::Array x = new_shared_array(arena, fp4, shape, true);
  core::Layout layout;
  layout.push(8, 1);
  core::Array view = core::with_layout(x, layout, 1);
  view.readonly = true;
  const core::Array again = attach(arena, decode_message(encode(send(view))));
  check(again.bit == 4 && again.data == x.data && again.readonly);
  layout.shape[0] = 9;
  Message beyond = send(view);
  beyond.layout = layout;
  fails(Fault::kBuffer, "leave the block", [&] {
    beyond.place.length = 4;
    decode_message(encode(beyond));
  });
  const std::int64_t none[] = {3, 0};
  const core::Array empty = new_shared_array(arena, fp4, none, true);
  expect(attach(arena, decode_message(encode(send(empty)))).layout.ndim, 2);
  Message far = send(empty);
  far.first = std::int64_t{1} << 62;
  fails(Fault::kBuffer, "first is 4611686018427387904; it must be 0 to 256",
        [&] { decode_message(encode(far)); });
});

const Case twice("a handle is good once for sure, then as long as somebody holds the block", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  core::Array x = bytes_in(arena, 100, 7);
  const Message message = send(x);
  expect(arena->usage().sent, 1U);
  core::Array y = attach(arena, message);
  arena->collect();
  expect(arena->usage().sent, 0U);
  core::Array z = attach(arena, message);  // again
  x = y = z = {};
  fails(Fault::kBuffer, "released: its handle was used before", [&] { attach(arena, message); });
  x = bytes_in(arena, 100, 8);  // the same block, used anew
  fails(Fault::kBuffer, "released", [&] { attach(arena, message); });
  const Message kept = send(x);
  x = {};
  check(all_are(attach(arena, kept), 8));  // held on its way
});

const Case bounded("beyond the limit the oldest handle is given up", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  const std::uint32_t before = limits().transit.exchange(3);
  std::vector<Message> sent;
  for (int i = 0; i < 5; ++i) sent.push_back(send(bytes_in(arena, 100, i)));
  expect(arena->usage().sent, 3U);
  for (std::size_t i = 0; i < 2; ++i)
    fails(Fault::kBuffer, "was given up (limits)", [&] { attach(arena, sent[i]); });
  for (std::size_t i = 2; i < 5; ++i) check(all_are(attach(arena, sent[i]), static_cast<int>(i)));
  limits().transit = before;
});

const Case found("elements of a shared array are found by their address, and held once more", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  core::Array x = bytes_in(arena, 100, 7);
  const core::Array other = bytes_in(arena, 100, 8);
  core::Layout layout;
  layout.push(20, -5);
  core::Array view = core::with_layout(x, layout, 95);
  view.storage = {};  // as another library has it
  const std::optional<core::Array> again = found_in_arena(view);
  check(again && again->data == view.data && arena_of(*again) == arena && !again->readonly);
  x = {};
  expect(arena->usage().held, 2U);
  layout.strides[0] = 300;
  check(!found_in_arena(core::with_layout(other, layout, 0)));  // leaves the block
  layout.shape[0] = 0;
  check(!found_in_arena(core::with_layout(other, layout, 0)));
  check(!found_in_arena(core::new_array(kBytes, layout.extents(), true)));
  expect(arena->usage().held, 2U);
});

const Case kept_alive("an arena lives while a handle is on its way", [] {
  ArenaPtr arena = Arena::create(true, 8 * kMiB);
  const Message message = send(bytes_in(arena, 100, 7));
  arena.reset();
  arena = find_arena(message.source.arena);
  check(arena != nullptr);
  core::Array x = attach(arena, message);
  arena->collect();
  arena.reset();
  check(find_arena(message.source.arena) != nullptr && all_are(x, 7));
  x = {};
  check(find_arena(message.source.arena) == nullptr);
});

// --- Processes.

const Case children("a child holds what its parent held, by a slot of its own", [] {
  const ArenaPtr arena = Arena::create(true, 64 * kMiB);
  core::Array x = bytes_in(arena, 5000, 7);
  Waiting child;
  const std::byte* data = x.data;
  x = {};
  expect(arena->usage().dropped, 1U);
  expect(arena->usage().processes, 2U);
  const core::Array other = bytes_in(arena, 5000, 8);
  check(other.data != data && data[0] == std::byte{7});
  child.end();
  arena->collect();
  expect(arena->usage().dropped, 0U);
  expect(arena->usage().processes, 1U);
  check(in_child([&] {  // allocates for itself, attaches what its parent sent before
    core::Array own = bytes_in(arena, 100, 9);
    return all_are(own, 9) && all_are(other, 8);
  }));
});

const Case ended("what an ended process has sent is readable, and then freed", [] {
  const ArenaPtr arena = Arena::create(true, 64 * kMiB);
  int way[2];
  check(pipe2(way, O_CLOEXEC) == 0);
  check(in_child([&] {
    for (int i = 0; i < 3; ++i) {
      const std::vector<std::byte> bytes = encode(send(bytes_in(arena, 3 * kMiB, i)));
      if (write(way[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        return false;
    }
    return true;
  }));
  const auto receive = [&] {
    std::array<std::byte, 112 + 16> bytes;
    check(read(way[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    return decode_message(bytes);
  };
  const core::Array first = attach(arena, receive());  // before anybody has swept
  check(all_are(first, 0));
  arena->collect();
  check(all_are(first, 0) && all_are(attach(arena, receive()), 1));
  const Message last = receive();
  const std::uint32_t before = limits().orphans.exchange(0);
  arena->collect();
  fails(Fault::kBuffer, "released", [&] { attach(arena, last); });
  limits().orphans = before;
  check(all_are(first, 0));
  const Control& control = control_of(arena);
  const auto owned = [&] {
    return std::count_if(control.unit_owner.begin(), control.unit_owner.begin() + 256,
                         [](const Owner& each) { return each != 0; });
  };
  expect(owned(), 12);  // the units of `first`
  close(way[0]);
  close(way[1]);
});

const Case abandoned("the memory of an ended process is used again, but for what is held", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  Message message;
  void* place = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Waiting child([&] {
    static const core::Array big = bytes_in(arena, 5 * kMiB, 1);
    static const core::Array small = bytes_in(arena, 100, 2);
    message = send(small);
    std::memcpy(place, static_cast<const void*>(&message), sizeof message);
  });
  std::memcpy(static_cast<void*>(&message), place, sizeof message);
  const core::Array small = attach(arena, message);
  fails(Fault::kMemory, "the limit of the arena", [&] { bytes_in(arena, 3 * kMiB, 3); });
  child.end();
  const core::Array mine = bytes_in(arena, 3 * kMiB, 3);  // without collect()
  check(all_are(small, 2));
});

const Case many("310 processes have a slot; a child beyond that keeps its arrays", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  Control& control = control_of(arena);
  core::Array x = bytes_in(arena, 100, 7);
  // As if 309 others lived.
  std::vector<Descriptor> others;
  for (std::uint32_t slot = 1; slot < kSlots; ++slot) {
    others.push_back(open_again(arena->control_file(), Access::kWrite));
    check(lock_byte(others.back(), (std::uint64_t{1} << 40) + slot));
    control.slot_used[slot] = 1;
  }
  Waiting child([&] {
    fails(Fault::kBuffer, "the arena had no slot for this child; the limit is 310",
          [&] { bytes_in(arena, 100, 8); });
    check(all_are(x, 7));
    if (checks_failed != 0) _exit(1);
  });
  const std::byte* data = x.data;
  x = {};
  expect(arena->usage().held, 1U);  // for the child
  check(bytes_in(arena, 100, 9).data != data && data[0] == std::byte{7});
  child.end();
  const Message message = send(bytes_in(arena, 100, 9));
  check(all_are(attach(arena, message), 9));
});

const Case cloned("a child that was made without fork() changes nothing", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  core::Array x = bytes_in(arena, 100, 7);
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    checks_failed = 0;
    fails(Fault::kBuffer, "made by clone()", [&] { bytes_in(arena, 100, 8); });
    fails(Fault::kBuffer, "made by clone()", [&] { send(x); });
    const bool is_readable = all_are(x, 7);
    x = {};
    _exit(is_readable && checks_failed == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  expect(status, 0);
  const Message message = send(x);
  x = {};
  check(all_are(attach(arena, message), 7));
});

const Case by_process("another process opens an arena by the sender's descriptors", [] {
  int way[2];
  check(pipe2(way, O_CLOEXEC) == 0);
  Waiting sender([&] {
    static const ArenaPtr arena = Arena::create(true, 8 * kMiB);
    static const core::Array x = bytes_in(arena, 100, 7);
    const std::vector<std::byte> bytes = encode(send(x));
    check(write(way[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  });
  std::array<std::byte, 112 + 16> bytes;
  check(read(way[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const Message message = decode_message(bytes);
  {
    const ArenaPtr arena = find_or_open(message.source);
    const core::Array x = attach(arena, message);
    check(all_are(x, 7) && arena->can_write());
    x.data[0] = std::byte{1};
    check(find_or_open(message.source) == arena);
  }
  Source wrong = message.source;
  wrong.pid_namespace += 1;
  fails(Fault::kBuffer, "have other numbers", [&] { find_or_open(wrong); });
  wrong = message.source;
  wrong.control = 0;
  fails(Fault::kBuffer, "", [&] { find_or_open(wrong); });
  wrong = message.source;
  wrong.arena[0] ^= 1;
  fails(Fault::kBuffer, "cannot be opened", [&] { find_or_open(wrong); });
  sender.end();
  fails(Fault::kBuffer, "has ended", [&] { find_or_open(message.source); });
  close(way[0]);
  close(way[1]);
});

const Case read_only("the kernel lets nobody but the maker write where peers only read", [] {
  const ArenaPtr arena = Arena::create(false, 64 * kMiB);
  const core::Array x = bytes_in(arena, 3 * kMiB, 7);
  check(x.storage->writable());
  const auto map = [&](int protection) {
    const Descriptor again = open_again(arena->data_file(), Access::kWrite);
    return mmap(nullptr, 4096, protection, MAP_SHARED, again.number(), 0);
  };
  check(map(PROT_READ | PROT_WRITE) == MAP_FAILED);
  void* readable = map(PROT_READ);
  check(readable != MAP_FAILED && mprotect(readable, 4096, PROT_READ | PROT_WRITE) != 0);
  const Descriptor again = open_again(arena->data_file(), Access::kWrite);
  check(pwrite(again.number(), "x", 1, 0) < 0 && !take_pages(again, 0, 4096));
  check(ftruncate(again.number(), 0) != 0);
  check(in_child([&] { return all_are(x, 7) && all_are(bytes_in(arena, 3 * kMiB, 8), 8); }));
  expect(arena->collect(), 0U);  // the system gets nothing back
});

// --- Descriptors from elsewhere.

/// A sealed file that begins as an arena's control memory does.
Descriptor control_file(const Header& header, std::uint64_t size = sizeof(Control),
                        bool grow = true) {
  Descriptor out = new_memory_file("x", size);
  check(pwrite(out.number(), &header, sizeof header, 0) > 0);
  add_seals(out, {.shrink = true, .grow = grow, .future_write = false});
  return out;
}

const Case foreign("descriptors that are no arena's are refused, and never mapped", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  const Descriptor control = open_again(arena->control_file(), Access::kWrite);
  const Descriptor data = open_again(arena->data_file(), Access::kWrite);
  check(Arena::open(control, data) == arena);
  int ends[2];
  check(pipe2(ends, O_CLOEXEC) == 0);
  const Descriptor reader(ends[0]), writer(ends[1]);
  fails(Fault::kBuffer, "control: the descriptor is not of a file",
        [&] { Arena::open(reader, data); });
  fails(Fault::kBuffer, "", [&] { Arena::open(Descriptor(), data); });
  const Descriptor unsealed = new_memory_file("x", sizeof(Control));
  fails(Fault::kBuffer, "control: the file is not sealed", [&] { Arena::open(unsealed, data); });
  fails(Fault::kBuffer, "control: the file is not sealed",
        [&] { Arena::open(control_file({}, sizeof(Control), /*grow=*/false), data); });
  fails(Fault::kBuffer, "control: the file has 4096 bytes; it must have",
        [&] { Arena::open(control_file({}, 4096), data); });
  Header good = Arena::read_header(control);
  good.id[0] ^= 1;  // not one that is open
  const auto refused = [&](std::string_view part, const std::function<void(Header&)>& change) {
    Header header = good;
    change(header);
    fails(Fault::kBuffer, part, [&] { Arena::open(control_file(header), data); });
  };
  refused("magic is 1", [](Header& each) { each.magic = 1; });
  refused("version is 2; this refarray knows 1", [](Header& each) { each.version = 2; });
  refused("peers_write is 2", [](Header& each) { each.peers_write = 2; });
  refused("units is 0; it must be 1 to", [](Header& each) { each.units = 0; });
  refused("units is 4194305", [](Header& each) { each.units = kMaxUnits + 1; });
  refused("the header names 1", [](Header& each) { each.data_inode = 1; });
  refused("the header names", [](Header& each) { each.data_device += 1; });
  refused("data: the file is not sealed against writing",
          [](Header& each) { each.peers_write = 0; });
  fails(Fault::kBuffer, "data: the descriptor is not of a file",
        [&] { Arena::open(control_file(good), reader); });
  good.data_inode = facts_of(unsealed).inode;
  fails(Fault::kBuffer, "data: the file is not sealed: a process",
        [&] { Arena::open(control_file(good), unsealed); });
});

const Case too_short("a block beyond the end of a short file is refused", [] {
  const ArenaPtr arena = Arena::create(true, 8 * kMiB);
  Message message = send(bytes_in(arena, 100, 7));
  const Descriptor data = new_memory_file("x", 100);
  add_seals(data, {.shrink = true, .grow = false, .future_write = false});
  Header header = Arena::read_header(arena->control_file());
  header.id[0] ^= 1;
  header.data_inode = facts_of(data).inode;
  const ArenaPtr of_short = Arena::open(control_file(header), data);
  message.source.arena = header.id;
  fails(Fault::kBuffer, "the block ends at byte 256; the file has 100",
        [&] { attach(of_short, message); });
  expect(of_short->usage().held, 0U);
});

const Case hostile("words of control memory may have any value", [] {
  std::mt19937_64 random(7);
  for (int round = 0; round < 30; ++round) {
    const ArenaPtr arena = Arena::create(true, 64 * kMiB);
    Control& control = control_of(arena);
    core::Array x = bytes_in(arena, 100, 7);
    const Message message = send(x);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t value = random() % 3 == 0 ? random() : random() % 400;
      switch (random() % 8) {
        case 0:
          control.cells_used = static_cast<std::uint32_t>(random());
          break;
        case 1:
          control.pages_used = static_cast<std::uint32_t>(random() % 40);
          break;
        case 2:
          control.units_used = static_cast<std::uint32_t>(random());
          break;
        case 3:
          control.slot_used[random() % kSlots] = static_cast<std::uint32_t>(value);
          break;
        case 4:
          control.cells[random() % 100] = value;
          break;
        case 5:
          control.page_owner[random() % 40] = static_cast<std::uint32_t>(value);
          break;
        case 6:
          control.unit_owner[random() % 40] = static_cast<std::uint32_t>(value);
          break;
        default:
          reinterpret_cast<Word*>(&control.blocks[random() % 2000])[random() % 8] = value;
      }
    }
    const auto tried = [](const std::function<void()>& call) {
      try {  // boundary: any error is right, a crash is not
        call();
      } catch (const core::Error&) {
      }
    };
    for (int i = 0; i < 20; ++i) tried([&] { bytes_in(arena, i * 50000, 1); });
    tried([&] { attach(arena, message); });
    tried([&] { arena->collect(); });
    tried([&] { send(x); });
    x = {};
    tried([&] { arena->collect(); });
    munmap(&control, sizeof(Control));
    check(arena->data() != nullptr);
  }
});

const Case threads("threads allocate, send, attach and drop at once", [] {
  const ArenaPtr arena = Arena::create(true, 64 * kMiB);
  std::atomic<long> wrong{0};
  std::vector<std::thread> running;
  for (int t = 0; t < 3; ++t) {
    running.emplace_back([&, t] {
      std::vector<core::Array> held;
      for (int i = 0; i < 2000; ++i) {
        core::Array x = bytes_in(arena, 1 + i % 700, t);
        const Message message = send(x);
        x = {};
        held.push_back(attach(arena, message));
        if (!all_are(held.back(), t)) ++wrong;
        if (held.size() > 20) held.erase(held.begin(), held.begin() + 15);
        if (i % 500 == 0) arena->collect();
      }
    });
  }
  for (std::thread& each : running) each.join();
  expect(wrong.load(), 0);
  arena->collect();
  expect(arena->usage().held + arena->usage().sent + arena->usage().dropped, 0U);
});

}  // namespace
