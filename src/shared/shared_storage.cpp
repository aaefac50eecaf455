// Arrays in arenas: their storage, new ones, their handles, and arrays from handles.
#include "shared/shared_storage.hpp"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "shared/processes.hpp"

namespace refarray::shared {
namespace {

using core::fail;
using core::Fault;

/// Owns one hold of a block. In memory of this process: the arena has elements only.
class SharedStorage final : public core::Storage {
 public:
  /// Takes over a hold that the arena has counted.
  static core::StoragePtr make(const ArenaPtr& arena, const Placement& place) {
    struct Drop {
      Arena* arena;
      std::uint32_t block;
      ~Drop() {
        if (arena != nullptr) arena->drop(block);
      }
    } drop{arena.get(), place.block};
    core::StoragePtr out = core::StoragePtr::steal(new SharedStorage(arena, place));
    drop.arena = nullptr;
    return out;
  }
  static const SharedStorage* of(const core::ArrayView& array) noexcept {
    const bool is_shared = array.storage != nullptr && array.storage->is_destroyed_by(&destroy);
    return is_shared ? static_cast<const SharedStorage*>(array.storage) : nullptr;
  }

  const ArenaPtr& arena() const noexcept { return arena_; }
  const Placement& place() const noexcept { return place_; }

 private:
  SharedStorage(ArenaPtr arena, const Placement& place) noexcept
      : Storage(arena->data() + place.offset, core::Device{}, arena->can_write(),
                /*foreign=*/false, &destroy),
        arena_(std::move(arena)),
        place_(place) {}
  static void destroy(core::Storage* storage) noexcept {
    auto* self = static_cast<SharedStorage*>(storage);
    const ArenaPtr arena = std::move(self->arena_);
    const std::uint32_t block = self->place_.block;
    delete self;
    arena->drop(block);
  }

  ArenaPtr arena_;
  Placement place_;
};

}  // namespace

core::Array new_shared_array(const ArenaPtr& arena, const core::DType& dtype, core::Extents shape,
                             bool zeroed) {
  core::Array out{{}, nullptr, dtype, 0, false, core::c_layout(shape)};
  const std::int64_t nbytes = core::checked_nbytes(core::size_of(shape), dtype);
  core::note_attempt(core::Entry::kAllocation, nbytes);
  out.storage = SharedStorage::make(arena, arena->allocate(static_cast<std::uint64_t>(nbytes)));
  core::note(core::Entry::kAllocation, nbytes);
  out.data = out.storage->data();
  if (zeroed) std::memset(out.data, 0, static_cast<std::size_t>(nbytes));
  // As new_array() does, so that equal arrays have equal bytes.
  if (dtype.is_packed() && nbytes > 0) out.data[nbytes - 1] = std::byte{0};
  return out;
}

ArenaPtr arena_of(const core::ArrayView& array) noexcept {
  const SharedStorage* storage = SharedStorage::of(array);
  return storage == nullptr ? ArenaPtr() : storage->arena();
}

Source source_of(const Arena& arena) noexcept {
  return {arena.id(), pid_namespace(), static_cast<std::uint32_t>(getpid()),
          static_cast<std::uint32_t>(arena.control_file().number()),
          static_cast<std::uint32_t>(arena.data_file().number())};
}

std::optional<core::Array> found_in_arena(const core::ArrayView& array) {
  if (array.size() == 0) return std::nullopt;
  for (const ArenaPtr& arena : open_arenas()) {
    const std::optional<Placement> place = arena->hold_again(array.data);
    if (!place) continue;
    core::Array out{SharedStorage::make(arena, *place),
                    array.data,
                    array.dtype,
                    array.bit,
                    /*is_readonly=*/true,
                    core::Layout(array.extents(), array.stride_span())};
    const std::int64_t length = static_cast<std::int64_t>(place->length), step = 1;
    const core::DType bytes{core::Kind::kUInt, 8};
    const core::ArrayView block{nullptr, out.storage->data(), bytes, 0, false, 1, &length, &step};
    if (!core::lies_within(array, block)) return std::nullopt;
    out.readonly = !array.writable() || !out.storage->writable();
    return out;
  }
  return std::nullopt;
}

Message send(const core::ArrayView& array) {
  const SharedStorage* storage = SharedStorage::of(array);
  if (storage == nullptr) {
    fail(Fault::kBuffer, "the array on ", core::name(array.device()),
         " is in no shared memory; shared.asarray(x) copies it there");
  }
  Arena& arena = *storage->arena();
  Message out{core::record_of(array), source_of(arena), storage->place(), {}};
  out.ticket = arena.send(storage->place().block);
  return out;
}

ArenaPtr find_or_open(const Source& source) {
  if (ArenaPtr found = find_arena(source.arena)) return found;
  if (source.pid_namespace == 0 || source.pid_namespace != pid_namespace()) {
    fail(Fault::kBuffer, "the sender's processes have other numbers (namespace ",
         source.pid_namespace, ", here ", pid_namespace(),
         "), or there is no /proc: pass its arena's descriptors, fds()");
  }
  Descriptor control = open_of_process(source.pid, source.control, Access::kWrite);
  const Header header = control ? Arena::read_header(control) : Header{};
  Descriptor data = open_of_process(source.pid, source.data,
                                    header.peers_write != 0 ? Access::kWrite : Access::kRead);
  if (!control || !data || header.id != source.arena) {
    fail(Fault::kBuffer, "the arena of process ", source.pid,
         " cannot be opened: the process has ended or is another user's. A process that already "
         "has the arena open needs the sender no more (use(arena) in its initializer)");
  }
  return Arena::open_own(header, std::move(control), std::move(data));
}

core::Array attach(const ArenaPtr& arena, const Message& message) {
  if (arena->id() != message.source.arena)
    fail(Fault::kBuffer, "the handle is of another arena than the descriptors");
  arena->attach(message.place);
  core::Array out{SharedStorage::make(arena, message.place),
                  nullptr,
                  message.dtype,
                  message.bit,
                  message.readonly,
                  message.layout};
  out.readonly = message.readonly || !out.storage->writable();
  out.data = out.storage->data() + message.first;
  arena->receive(message.ticket);
  return out;
}

}  // namespace refarray::shared
