// Arenas: slots of processes, and what those leave that have ended.
//
// Who sweeps has locked one more byte, so that no two do it at a time, and the slot that is swept.
// A process that is killed while it sweeps leaves work that can be done again.
#include <algorithm>
#include <new>
#include <vector>

#include "core/error.hpp"
#include "shared/arena.hpp"
#include "shared/holds.hpp"

namespace refarray::shared {
namespace {

/// Bytes of control memory that are locked, never read: beyond its end.
constexpr std::uint64_t kSlotBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kSweepByte = kSlotBytes + kSlots;

}  // namespace

/// Locks a slot that is in use by nobody. Empty if there is none.
std::optional<std::uint32_t> Arena::take_slot(const Descriptor& lock) noexcept {
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      Owner& used = control_->slot_used[slot];
      if (used.load() != 0 || !lock_byte(lock, kSlotBytes + slot)) continue;
      if (used.exchange(1) == 0) return slot;
      unlock_byte(lock, kSlotBytes + slot);  // it was used in between, and must be swept
    }
    sweep(limits().orphans);
  }
  return std::nullopt;
}

/// Whether there was anything to sweep. Waits for nobody: a peer may lock the byte for ever.
bool Arena::sweep(std::uint32_t orphans_left) noexcept {
  if (!lock_byte(lock_, kSweepByte)) return false;
  bool found = false;
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    if (control_->slot_used[slot].load() == 0 || slot == slot_) continue;
    if (!lock_byte(lock_, kSlotBytes + slot)) continue;
    sweep_slot(slot);
    control_->slot_used[slot].store(0);
    unlock_byte(lock_, kSlotBytes + slot);
    found = true;
  }
  try {  // boundary: without memory for the lists the next sweep goes on
    purge_orphans(orphans_left);
    free_abandoned();
  } catch (const std::bad_alloc&) {
  }
  unlock_byte(lock_, kSweepByte);
  return found || orphans_left == 0;
}

/// Drops the holds of a process that has ended. What it had sent stays held, for its receivers.
void Arena::sweep_slot(std::uint32_t slot) noexcept {
  for (std::uint32_t i = count_in(control_->cells_used, kCells); i-- > 0;) {
    std::uint64_t value = control_->cells[i].load();
    if (value == 0 || decode(value).slot != slot) continue;
    record(decode(value).block).holds[0].fetch_or(kOrphan);  // before its hold ends, below
    control_->cells[i].compare_exchange_strong(value, orphaned(value));
  }
  const std::uint32_t pages = count_in(control_->pages_used, kPages);
  for (std::uint32_t page = 0; page < pages; ++page) {
    const bool is_own = control_->page_owner[page].load() == slot + 1;
    for (std::uint32_t i = 0; i < kBlocksPerPage; ++i) {
      Block& block = record(page * kBlocksPerPage + i);
      if (is_own) unclaim(block);  // it may have been killed while it was busy
      if ((word_of(block, slot).load() & bit_of(slot)) != 0) drop_hold(block, slot);
    }
    if (is_own) control_->page_owner[page].store(kAbandoned);
  }
  for (std::uint32_t i = count_in(control_->units_used, static_cast<std::uint32_t>(header_.units));
       i-- > 0;) {
    std::uint32_t owner = slot + 1;
    if (control_->unit_owner[i].load() == owner)
      control_->unit_owner[i].compare_exchange_strong(owner, kAbandoned);
  }
}

/// Gives up the oldest handles of senders that have ended, but `most`, and ends the holds of those
/// that were received.
void Arena::purge_orphans(std::uint32_t most) {
  std::vector<Ticket> orphans;
  for (std::uint32_t i = count_in(control_->cells_used, kCells); i-- > 0;) {
    const std::uint64_t value = control_->cells[i].load();
    if (value != 0 && decode(value).slot == kOrphanSlot) orphans.push_back({value, i});
  }
  std::sort(orphans.begin(), orphans.end(), [](const Ticket& a, const Ticket& b) {
    return decode(a.value).serial > decode(b.value).serial;
  });
  for (; orphans.size() > most; orphans.pop_back()) {
    std::uint64_t value = orphans.back().value;
    control_->cells[orphans.back().cell].compare_exchange_strong(value, 0);
  }
  std::vector<std::uint32_t> kept;
  for (const Ticket& each : orphans) kept.push_back(decode(each.value).block);
  std::sort(kept.begin(), kept.end());
  const std::uint32_t blocks = count_in(control_->pages_used, kPages) * kBlocksPerPage;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    Word& holds = record(i).holds[0];
    if ((holds.load() & kOrphan) == 0) continue;
    if (!std::binary_search(kept.begin(), kept.end(), i)) holds.fetch_and(~kOrphan);
  }
}

/// Frees pages and units of processes that have ended, but what others still hold.
void Arena::free_abandoned() {
  std::vector<Range> in_use;
  const std::uint32_t pages = count_in(control_->pages_used, kPages);
  for (std::uint32_t page = 0; page < pages; ++page) {
    if (control_->page_owner[page].load() != kAbandoned) continue;
    bool is_free = true;
    for (std::uint32_t i = 0; i < kBlocksPerPage; ++i) {
      Block& block = record(page * kBlocksPerPage + i);
      unclaim(block);  // of a sweep that was killed
      if (claim(block)) {
        unclaim(block);
        continue;
      }
      is_free = false;
      const std::uint64_t offset = block.offset.load();
      const std::uint64_t length = block.length.load();
      const std::uint64_t limit = header_.units * kUnit;
      if (offset < limit && length <= limit - offset) in_use.push_back({offset, length});
    }
    if (is_free) control_->page_owner[page].store(0);
  }
  std::sort(in_use.begin(), in_use.end(),
            [](const Range& a, const Range& b) { return a.offset < b.offset; });
  std::uint64_t used_to = 0;  // the end of the blocks that begin before the unit ends
  auto next = in_use.begin();
  const std::uint32_t units =
      count_in(control_->units_used, static_cast<std::uint32_t>(header_.units));
  for (std::uint32_t i = 0; i < units; ++i) {
    const Range unit{i * kUnit, kUnit};
    for (; next != in_use.end() && next->offset < unit.end(); ++next)
      used_to = std::max(used_to, next->end());
    if (used_to > unit.offset || control_->unit_owner[i].load() != kAbandoned) continue;
    take_pages(data_file_, unit.offset, unit.length);  // fails where only the maker writes
    control_->unit_owner[i].store(0);
  }
}

std::uint64_t Arena::collect() {
  const std::unique_lock<std::mutex> here = lock_as_member();
  acknowledge(kAll);
  while (sent_.size() > limits().transit) cancel_oldest();
  sweep(limits().orphans);
  reclaim(kAll);
  return give_back_units();
}

}  // namespace refarray::shared
