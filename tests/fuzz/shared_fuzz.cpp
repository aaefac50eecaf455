// Fuzz target: handles of shared arrays, the header of an arena and the words of its control
// memory, as bytes of another process.
//
// Whatever they are, the elements of an array that is attached lie inside of the arena's memory,
// and every refusal is a core::Error.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "input.hpp"
#include "shared/holds.hpp"
#include "shared/shared_storage.hpp"

namespace refarray::fuzz {
namespace {

namespace core = refarray::core;
using Wide = __int128;

constexpr std::uint64_t kLimit = std::uint64_t{16} << 20;

/// An arena, its control memory as a peer may write to it, and a good handle.
struct Subject {
  shared::ArenaPtr arena = shared::Arena::create(true, kLimit);
  shared::Control* control = reinterpret_cast<shared::Control*>(
      shared::map_file(shared::open_again(arena->control_file(), shared::Access::kWrite),
                       sizeof(shared::Control), shared::Access::kWrite));
  core::Array array = make_array(arena);
  std::vector<std::byte> message = shared::encode(shared::send(array));

  static core::Array make_array(const shared::ArenaPtr& arena) {
    const std::int64_t shape[] = {6, 50};
    return shared::new_shared_array(arena, {core::Kind::kFloat, 32}, shape, false);
  }
};

/// Calls `call`; any core::Error is right.
template <class Call>
void attempt(Call call) {
  try {
    call();
  } catch (const core::Error&) {
  }
}

/// The bytes of each element, by 128-bit arithmetic, are inside of the arena.
void check_inside(const core::Array& array) {
  Wide low = 0, high = 0, size = 1;
  for (int axis = 0; axis < array.layout.ndim; ++axis) {
    const Wide reach = Wide{array.layout.shape[axis] - 1} * array.layout.strides[axis];
    (reach < 0 ? low : high) += reach;
    size *= array.layout.shape[axis] != 0 ? 1 : 0;
  }
  if (size == 0) return;
  const Wide bits = array.dtype.stored_bits();
  const Wide first = Wide{array.data - array.storage->data()} * 8 + array.bit;
  const Wide block = Wide{array.storage->data() - shared::arena_of(array)->data()} * 8;
  require(first + low * bits >= 0, "an element before the block");
  require(block + first + (high + 1) * bits <= Wide{kLimit} * 8, "an element behind the arena");
}

void change(Input& input, void* memory, std::size_t size) {
  for (int changes = 1 + input.below(4); changes > 0; --changes) {
    const std::size_t at = input.take<std::uint16_t>() % size;
    const std::uint64_t value = input.one_in(3) ? input.take<std::uint64_t>() : input.byte();
    const std::size_t width = std::min<std::size_t>(std::size_t{1} << input.below(4), size - at);
    std::memcpy(static_cast<std::byte*>(memory) + at, &value, width);
  }
}

void attach_changed(Input& input, const Subject& subject) {
  std::vector<std::byte> bytes = subject.message;
  if (input.one_in(20)) bytes.resize(input.byte());
  if (!bytes.empty()) change(input, bytes.data(), bytes.size());
  attempt([&] {
    const shared::Message message = shared::decode_message(bytes);
    if (message.source.arena == subject.arena->id())
      check_inside(shared::attach(subject.arena, message));
  });
}

void read_changed_header(Input& input, const Subject& subject) {
  shared::Header header = shared::Arena::read_header(subject.arena->control_file());
  change(input, &header, sizeof header);
  const shared::Descriptor control = shared::new_memory_file("fuzz", sizeof(shared::Control));
  shared::write_at(control, &header, sizeof header);
  shared::add_seals(control, {.shrink = true, .grow = true, .future_write = false});
  attempt([&] { shared::Arena::open(control, subject.arena->data_file()); });
}

void change_words(Input& input, Subject& subject) {
  shared::Control& control = *subject.control;
  for (int changes = 1 + input.below(8); changes > 0; --changes) {
    const std::uint64_t value = input.one_in(3) ? input.take<std::uint64_t>() : input.byte();
    const auto half = static_cast<std::uint32_t>(value);
    switch (input.below(8)) {
      case 0:
        control.cells_used = half % 200;
        break;
      case 1:
        control.pages_used = half % 8;
        break;
      case 2:
        control.units_used = half % 16;
        break;
      case 3:
        control.slot_used[input.byte()] = half;
        break;
      case 4:
        control.cells[input.below(16)] = value;
        break;
      case 5:
        control.page_owner[input.below(4)] = half;
        break;
      case 6:
        control.unit_owner[input.below(8)] = half;
        break;
      default:
        reinterpret_cast<shared::Word*>(&control.blocks[input.byte()])[input.below(8)] = value;
    }
  }
}

void use_spoilt_arena(Input& input) {
  Subject subject;
  for (int rounds = 1 + input.below(4); rounds > 0; --rounds) {
    change_words(input, subject);
    attempt([&] { check_inside(Subject::make_array(subject.arena)); });
    attempt([&] {
      check_inside(shared::attach(subject.arena, shared::decode_message(subject.message)));
    });
    attempt([&] { subject.arena->collect(); });
  }
  subject.array = {};
  munmap(subject.control, sizeof(shared::Control));
}

}  // namespace

void run(Input& input) {
  static const Subject subject;
  switch (input.take<std::uint16_t>() % 512) {  // an arena of its own takes a millisecond
    case 0:
      return use_spoilt_arena(input);
    case 1:
      return read_changed_header(input, subject);
    default:
      return attach_changed(input, subject);
  }
}

}  // namespace refarray::fuzz
