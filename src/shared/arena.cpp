// Arenas: making and opening them, allocation from private books, holds, handles on their way.
#include "shared/arena.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"
#include "shared/holds.hpp"
#include "shared/processes.hpp"

namespace refarray::shared {

using core::fail;
using core::Fault;

namespace {

/// Blocks and handles that each call looks at, so that none waits for ever.
constexpr std::size_t kFew = 8;
/// Free bytes that a process keeps for its next arrays, as core does (kMaxCachedBytes).
constexpr std::uint64_t kKeptBytes = std::uint64_t{128} << 20;
/// So many bytes are taken without a look at what the machine has, which takes 100 us.
constexpr std::uint64_t kUncheckedBytes = std::uint64_t{2} << 20;

void check_control_file(const Descriptor& control) {
  const FileFacts facts = facts_of(control);
  if (!facts.is_regular) fail(Fault::kBuffer, "control: the descriptor is not of a file");
  const std::optional<Seals> seals = seals_of(control);
  if (!seals || !seals->shrink || !seals->grow)
    fail(Fault::kBuffer, "control: the file is not sealed against changes of its size");
  if (facts.size != sizeof(Control))
    fail(Fault::kBuffer, "control: the file has ", facts.size, " bytes; it must have ",
         sizeof(Control));
}

void check_data_file(const Descriptor& data, const Header& header) {
  const FileFacts facts = facts_of(data);
  if (!facts.is_regular) fail(Fault::kBuffer, "data: the descriptor is not of a file");
  const std::optional<Seals> seals = seals_of(data);
  if (!seals || !seals->shrink)
    fail(Fault::kBuffer,
         "data: the file is not sealed: a process that makes it shorter would end this one");
  if (header.peers_write == 0 && !seals->future_write)
    fail(Fault::kBuffer, "data: the file is not sealed against writing, as the header says");
  if (facts.device != header.data_device || facts.inode != header.data_inode)
    fail(Fault::kBuffer, "data: the file is number ", facts.inode, "; the header names ",
         header.data_inode);
}

}  // namespace

Limits& limits() noexcept {
  static Limits all;
  return all;
}

// --- Making and opening.

Arena::Arena(const Header& header, Descriptor lock, Descriptor data, bool can_write) noexcept
    : header_(header), can_write_(can_write), lock_(std::move(lock)), data_file_(std::move(data)) {}

Arena::~Arena() {
  unmap(reinterpret_cast<std::byte*>(control_), sizeof(Control));
  unmap(data_, mapped_);
}

ArenaPtr Arena::create(bool peers_write, std::uint64_t limit) {
  constexpr std::uint64_t kMost = kMaxUnits * kUnit;
  if (limit == 0 || limit > kMost)
    fail(Fault::kValue, "limit is ", limit, "; it must be 1 to ", kMost, " bytes");
  Descriptor data = new_memory_file("refarray-data", 0);
  const FileFacts facts = facts_of(data);
  Header header{kMagic,       kVersion,   peers_write ? 1U : 0U, {}, (limit - 1) / kUnit + 1,
                facts.device, facts.inode};
  core::fill_random(header.id);
  const Descriptor control = new_memory_file("refarray-control", sizeof(Control));
  write_at(control, &header, sizeof header);
  add_seals(control, {.shrink = true, .grow = true, .future_write = false});
  ArenaPtr out(new Arena(header, open_again(control, Access::kWrite), std::move(data),
                         /*can_write=*/true));
  out->join(control);
  // After join(), whose map stays writable.
  add_seals(out->data_file_, {.shrink = true, .grow = false, .future_write = !peers_write});
  return add_arena(std::move(out));
}

Header Arena::read_header(const Descriptor& control) {
  check_control_file(control);
  Header out;
  read_at(control, &out, sizeof out);
  if (out.magic != kMagic) fail(Fault::kBuffer, "header: magic is ", out.magic, ", not ", kMagic);
  if (out.version != kVersion)
    fail(Fault::kBuffer, "header: version is ", out.version, "; this refarray knows ", kVersion);
  if (out.peers_write > 1)
    fail(Fault::kBuffer, "header: peers_write is ", out.peers_write, "; it must be 0 or 1");
  if (out.units == 0 || out.units > kMaxUnits)
    fail(Fault::kBuffer, "header: units is ", out.units, "; it must be 1 to ", kMaxUnits);
  return out;
}

ArenaPtr Arena::open(const Descriptor& control, const Descriptor& data) {
  const Header header = read_header(control);
  if (ArenaPtr found = find_arena(header.id)) return found;
  check_data_file(data, header);  // before it is opened: that of a device may have effects
  const Access access = header.peers_write != 0 ? Access::kWrite : Access::kRead;
  return open_own(header, open_again(control, Access::kWrite), open_again(data, access));
}

ArenaPtr Arena::open_own(const Header& header, Descriptor control, Descriptor data) {
  check_data_file(data, header);
  ArenaPtr out(new Arena(header, open_again(control, Access::kWrite), std::move(data),
                         header.peers_write != 0));
  out->join(control);
  return add_arena(std::move(out));
}

/// Maps both files and takes a slot. The map of control memory has a description of its own: that
/// of the lock must end with this process, and a child may keep the map.
void Arena::join(const Descriptor& for_map) {
  control_ = reinterpret_cast<Control*>(map_file(for_map, sizeof(Control), Access::kWrite));
  if (control_ == nullptr) fail_call("mmap()");
  // Once and for the whole limit, so that elements never move. Less where RLIMIT_AS is low.
  for (mapped_ = header_.units * kUnit; data_ == nullptr; mapped_ /= 2) {
    data_ = map_file(data_file_, mapped_, can_write_ ? Access::kWrite : Access::kRead);
    if (data_ != nullptr) break;
    const bool too_long = errno == ENOMEM || errno == EINVAL;  // valgrind gives the second
    if (!too_long || mapped_ <= kUnit) {
      mapped_ = 0;
      fail_call("mmap()");
    }
  }
  mapped_ = mapped_ / kUnit * kUnit;
  slot_ = take_slot(lock_);
  if (!slot_)
    fail(Fault::kBuffer, "the arena has no slot left; the limit is ", kSlots, " processes");
}

std::unique_lock<std::mutex> Arena::lock_as_member() {
  if (!is_ours()) {
    fail(Fault::kBuffer,
         "this process was made by clone(), without the handlers of fork(): it can "
         "read its shared arrays, but not share or attach");
  }
  std::unique_lock<std::mutex> out(mutex_);
  if (!slot_) {
    fail(Fault::kBuffer, "the arena had no slot for this child; the limit is ", kSlots,
         " processes. It can read its shared arrays, but not share or attach");
  }
  return out;
}

// --- Allocation.

bool Arena::take_page() {
  free_blocks_.reserve(free_blocks_.size() + kBlocksPerPage);
  for (std::uint32_t page = 0; page < kPages; ++page) {
    Owner& owner = control_->page_owner[page];
    std::uint32_t nobody = 0;
    if (owner.load() != 0) continue;
    include_in(control_->pages_used, page);
    if (!owner.compare_exchange_strong(nobody, *slot_ + 1)) continue;
    for (std::uint32_t i = kBlocksPerPage; i-- > 0;)
      free_blocks_.push_back(page * kBlocksPerPage + i);
    return true;
  }
  return false;
}

/// A claimed block.
std::uint32_t Arena::take_block() {
  for (;;) {
    if (free_blocks_.empty() && !take_page()) {
      reclaim(kAll);
      sweep(limits().orphans);
      if (free_blocks_.empty() && !take_page())
        fail(Fault::kMemory, "the arena has ", kBlocks, " blocks, and all are held");
    }
    dropped_.reserve(dropped_.size() + 1);
    const std::uint32_t block = free_blocks_.back();
    free_blocks_.pop_back();
    if (claim(record(block))) return block;
    dropped_.push_back({0, 0, 0, block});  // somebody just asks for an earlier use of it
  }
}

/// Whole units into the books. False if the arena has no such run.
bool Arena::take_units(std::uint64_t length) {
  const std::uint64_t count = (length - 1) / kUnit + 1;
  const std::uint64_t units = std::min(header_.units, mapped_ / kUnit);
  for (std::uint64_t first = 0; count <= units && first <= units - count;) {
    std::uint64_t taken = 0;
    const auto owner = [&](std::uint64_t i) -> Owner& { return control_->unit_owner[first + i]; };
    for (std::uint32_t nobody = 0; taken < count; ++taken, nobody = 0) {
      if (owner(taken).load() != 0) break;
      include_in(control_->units_used, static_cast<std::uint32_t>(first + taken));
      if (!owner(taken).compare_exchange_strong(nobody, *slot_ + 1)) break;
    }
    const Range range{first * kUnit, count * kUnit};
    const bool is_whole = taken == count;
    if (is_whole && give_pages(data_file_, range.end(), range.offset, range.length)) {
      known_size_ = std::max(known_size_, range.end());
      free_.give(range);
      return true;
    }
    const int error = errno;
    for (std::uint64_t i = 0; i < taken; ++i) owner(i).store(0);
    if (is_whole)
      fail(Fault::kMemory, "no memory for ", range.length, " shared bytes: ", std::strerror(error));
    first += taken + 1;
  }
  return false;
}

void Arena::fail_full(std::uint64_t length) {
  std::uint64_t used = 0;
  const auto units = static_cast<std::uint32_t>(header_.units);
  for (std::uint32_t unit = 0; unit < count_in(control_->units_used, units); ++unit)
    used += control_->unit_owner[unit].load() != 0 ? kUnit : 0;
  const std::uint64_t limit = std::min(units * kUnit, mapped_);
  fail(Fault::kMemory, "cannot allocate ", length, " bytes: the limit of the arena is ", limit,
       mapped_ < units * kUnit ? " in this process (RLIMIT_AS)" : "", ", and ", used,
       " are in use");
}

std::uint64_t Arena::take_range(std::uint64_t length) {
  const auto from_books = [&] {
    acknowledge(kAll);
    reclaim(kAll);
    return free_.take(length);
  };
  if (const auto found = free_.take(length)) return *found;
  if (const auto found = from_books()) return *found;
  if (sweep(limits().orphans)) {
    if (const auto found = from_books()) return *found;
  }
  unchecked_ += length;
  if (unchecked_ >= kUncheckedBytes) {
    if (const std::uint64_t left = available_memory(); length > left)
      fail(Fault::kMemory, "cannot allocate ", length, " bytes: the machine has ", left, " left");
    unchecked_ = 0;
  }
  if (take_units(length)) return *free_.take(length);
  sweep(/*orphans_left=*/0);
  if (const auto found = from_books()) return *found;
  give_back_units();
  if (take_units(length)) return *free_.take(length);
  fail_full(length);
}

Placement Arena::allocate(std::uint64_t nbytes) {
  const std::unique_lock<std::mutex> here = lock_as_member();
  if (!can_write_) {
    fail(Fault::kBuffer,
         "the arena has peers='read': only the process that made it, and what it "
         "forked, allocate there");
  }
  if (nbytes > header_.units * kUnit) fail_full(nbytes);
  const std::uint64_t length = std::max<std::uint64_t>((nbytes + kGrain - 1) / kGrain, 1) * kGrain;
  acknowledge(kFew);
  reclaim(kFew);
  struct Claimed {  // freed again if what follows throws
    Arena& arena;
    Placement place;
    bool is_used = false;
    ~Claimed() {
      if (is_used) return;
      unclaim(arena.record(place.block));
      arena.free_again(place);
    }
  };
  Claimed claimed{*this, {0, 0, 0, take_block()}};
  Placement& place = claimed.place;
  place.generation = record(place.block).generation.load();
  place.offset = take_range(length);
  place.length = length;
  held_.emplace(place.block, Held{1, true, place});
  claimed.is_used = true;
  publish(record(place.block), *slot_, place.offset, place.length);
  return place;
}

/// Puts what nobody holds into the books.
void Arena::free_again(const Placement& place) noexcept {
  try {  // boundary: without memory for the books the block is lost until this process ends
    if (place.length > 0) free_.give({place.offset, place.length});
    free_blocks_.push_back(place.block);
    if (free_.bytes() > kKeptBytes) give_back_units();
  } catch (const std::bad_alloc&) {
  }
}

/// Looks whether others still hold what this process has dropped.
void Arena::reclaim(std::size_t most) noexcept {
  for (std::size_t left = std::min(most, dropped_.size()); left > 0; --left) {
    if (next_dropped_ >= dropped_.size()) next_dropped_ = 0;
    const Placement place = dropped_[next_dropped_];
    if (!claim(record(place.block))) {
      ++next_dropped_;
      continue;
    }
    unclaim(record(place.block));
    dropped_[next_dropped_] = dropped_.back();
    dropped_.pop_back();
    free_again(place);
  }
}

/// Whole units to the system. It keeps those of files that only their maker writes.
std::uint64_t Arena::give_back_units() {
  std::uint64_t bytes = 0;
  for (const Range& range : free_.take_whole(kUnit)) {
    if (!take_pages(data_file_, range.offset, range.length)) {
      free_.give(range);
      continue;
    }
    for (std::uint64_t at = range.offset; at < range.end(); at += kUnit)
      control_->unit_owner[at / kUnit].store(0);
    bytes += range.length;
  }
  return bytes;
}

// --- Holds.

void Arena::attach(const Placement& place) {
  if (place.block >= kBlocks)
    fail(Fault::kBuffer, "block is ", place.block, "; the limit is ", kBlocks);
  if (place.offset % kGrain != 0)
    fail(Fault::kBuffer, "offset is ", place.offset, "; it must be a multiple of ", kGrain);
  std::uint64_t end = 0;
  if (__builtin_add_overflow(place.offset, place.length, &end) || end > header_.units * kUnit) {
    fail(Fault::kBuffer, "offset ", place.offset, " and length ", place.length,
         ": the block ends beyond the arena's ", header_.units * kUnit, " bytes");
  }
  const std::unique_lock<std::mutex> here = lock_as_member();
  if (end > mapped_) {
    fail(Fault::kBuffer, "the block ends at byte ", end, "; RLIMIT_AS let this process map ",
         mapped_);
  }
  if (end > known_size_) known_size_ = facts_of(data_file_).size;
  if (end > known_size_)
    fail(Fault::kBuffer, "the block ends at byte ", end, "; the file has ", known_size_);
  const auto [at, is_new] = held_.try_emplace(place.block, Held{0, false, place});
  Held& held = at->second;
  Hold result = held.place.generation == place.generation ? Hold::kTaken : Hold::kReused;
  if (is_new) {
    result = take_hold(record(place.block), *slot_, place.generation);
    if (result != Hold::kTaken) held_.erase(at);
  }
  if (result == Hold::kBlocked)
    fail(Fault::kBuffer, "block ", place.block, " is being freed by a process that does not go on");
  if (result == Hold::kReused) {
    fail(Fault::kBuffer,
         "the shared array was released: its handle was used before, was given up "
         "(limits), or came too late");
  }
  ++held.count;
}

void Arena::release_one(std::uint32_t block) noexcept {
  const auto at = held_.find(block);
  if (at == held_.end() || --at->second.count > 0) return;
  const Held held = at->second;
  held_.erase(at);
  if (slot_) drop_hold(record(block), *slot_);
  if (!held.is_own) return;
  if (claim(record(block))) {
    unclaim(record(block));
    return free_again(held.place);
  }
  try {  // boundary: without memory for the books the block is lost until this process ends
    dropped_.push_back(held.place);
  } catch (const std::bad_alloc&) {
  }
}

void Arena::drop(std::uint32_t block) noexcept {
  if (!is_ours()) return;
  const std::lock_guard here(mutex_);
  release_one(block);
  acknowledge(kFew);
}

std::optional<Placement> Arena::hold_again(const std::byte* address) {
  if (address < data_ || address >= data_ + mapped_) return std::nullopt;
  const auto at = static_cast<std::uint64_t>(address - data_);
  const std::unique_lock<std::mutex> here = lock_as_member();
  for (auto& [block, held] : held_) {
    if (at < held.place.offset || at - held.place.offset >= held.place.length) continue;
    ++held.count;
    return held.place;
  }
  return std::nullopt;
}

// --- Handles on their way.

Ticket Arena::send(std::uint32_t block) {
  const std::unique_lock<std::mutex> here = lock_as_member();
  Held& held = held_.at(block);
  acknowledge(kFew);
  while (!sent_.empty() && sent_.size() >= limits().transit) cancel_oldest();
  sent_.reserve(sent_.size() + 1);
  std::uint64_t serial = 0;
  while (serial == 0) serial = control_->next_serial.fetch_add(1) & kSerialMask;
  const std::uint64_t value = encode({*slot_, block, serial});
  for (std::uint32_t tries = 0; tries < kCells; ++tries) {
    const std::uint32_t cell = next_cell_++ % kCells;
    std::uint64_t free = 0;
    if (control_->cells[cell].load() != 0) continue;
    include_in(control_->cells_used, cell);
    if (!control_->cells[cell].compare_exchange_strong(free, value)) continue;
    ++held.count;
    sent_.push_back({{value, cell}, block});
    while_sent_ = shared_from_this();
    return {value, cell};
  }
  fail(Fault::kBuffer, "no cell for a handle: ", kCells, " are on their way in this arena");
}

void Arena::receive(const Ticket& ticket) noexcept {
  if (ticket.value == 0 || ticket.cell >= kCells || !is_ours()) return;
  std::uint64_t value = ticket.value;
  if (control_->cells[ticket.cell].compare_exchange_strong(value, 0)) return;
  value = orphaned(ticket.value);
  control_->cells[ticket.cell].compare_exchange_strong(value, 0);
}

void Arena::forget_sent(std::size_t at) noexcept {
  const Sent sent = sent_[at];
  sent_[at] = sent_.back();
  sent_.pop_back();
  next_cell_ = std::min(next_cell_ % kCells, sent.ticket.cell);
  release_one(sent.block);
  if (sent_.empty()) while_sent_.reset();  // not the last owner: the caller is one
}

/// Drops blocks whose receivers have attached them.
void Arena::acknowledge(std::size_t most) noexcept {
  for (std::size_t left = std::min(most, sent_.size()); left > 0; --left) {
    if (next_sent_ >= sent_.size()) next_sent_ = 0;
    const Ticket& ticket = sent_[next_sent_].ticket;
    if (control_->cells[ticket.cell].load() == ticket.value)
      ++next_sent_;
    else
      forget_sent(next_sent_);
  }
}

void Arena::cancel_oldest() noexcept {
  const auto serial = [](const Sent& each) { return decode(each.ticket.value).serial; };
  const auto oldest =
      std::min_element(sent_.begin(), sent_.end(),
                       [&](const Sent& a, const Sent& b) { return serial(a) < serial(b); });
  std::uint64_t value = oldest->ticket.value;
  control_->cells[oldest->ticket.cell].compare_exchange_strong(value, 0);
  forget_sent(static_cast<std::size_t>(oldest - sent_.begin()));
}

// --- fork().

void Arena::prepare_fork() noexcept {
  mutex_.lock();
  try {  // boundary: see end_fork_in_parent() for a child without a slot
    if (!slot_) return;
    child_lock_ = open_again(lock_, Access::kWrite);
    child_slot_ = take_slot(child_lock_);
  } catch (const std::exception&) {
    child_lock_ = Descriptor();
  }
  if (!child_slot_) return;
  for (const auto& [block, held] : held_)
    word_of(record(block), *child_slot_).fetch_or(bit_of(*child_slot_));
}

/// A child without a slot keeps the description of the parent's lock, and the parent keeps what it
/// holds now as long as one of the two lives.
void Arena::end_fork_in_parent() noexcept {
  if (slot_ && !child_slot_) {
    for (auto& [block, held] : held_) ++held.count;
  }
  child_lock_ = Descriptor();
  child_slot_.reset();
  mutex_.unlock();
}

void Arena::end_fork_in_child() noexcept {
  if (child_slot_) lock_ = std::move(child_lock_);
  slot_ = std::exchange(child_slot_, std::nullopt);
  for (auto& [block, held] : held_) held.is_own = false;
  // The handles that the parent sent are not the child's, and neither are its books.
  for (const Sent& sent : sent_) {
    const auto at = held_.find(sent.block);
    if (at == held_.end() || --at->second.count > 0) continue;
    if (slot_) drop_hold(record(sent.block), *slot_);
    held_.erase(at);
  }
  sent_.clear();
  dropped_.clear();
  free_.clear();
  free_blocks_.clear();
  const ArenaPtr last = std::exchange(while_sent_, nullptr);
  mutex_.unlock();
}

Usage Arena::usage() {
  const std::lock_guard here(mutex_);
  Usage out{header_.units * kUnit,
            facts_of(data_file_).size,
            free_.bytes(),
            static_cast<std::uint32_t>(held_.size()),
            static_cast<std::uint32_t>(sent_.size()),
            static_cast<std::uint32_t>(dropped_.size()),
            0};
  for (const Owner& used : control_->slot_used) out.processes += used.load() != 0 ? 1 : 0;
  return out;
}

}  // namespace refarray::shared
