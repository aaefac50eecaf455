// Who holds a block, and the cells of blocks on their way to another process. Pure atomics.
//
// A holder sets its bit before it looks whether the block is still the one it means. Who wants to
// use a block anew marks it as busy first, then looks for holders, and only then changes the
// generation. All orders are sequentially consistent: of the two, one sees the other.
#pragma once

#include <cstdint>
#include <thread>

#include "shared/control.hpp"

namespace refarray::shared {

// Besides slots, in the first word of holds.
inline constexpr std::uint64_t kBusy = std::uint64_t{1} << 63;    // somebody looks for holders
inline constexpr std::uint64_t kOrphan = std::uint64_t{1} << 62;  // on its way, its sender ended

inline Word& word_of(Block& block, std::uint32_t slot) noexcept {
  return block.holds[slot / kSlotsPerWord];
}
inline std::uint64_t bit_of(std::uint32_t slot) noexcept {
  return std::uint64_t{1} << slot % kSlotsPerWord;
}

inline bool is_held(const Block& block) noexcept {
  for (const Word& word : block.holds) {
    if (word.load() != 0) return true;
  }
  return false;
}

/// Ends what claim() began.
inline void unclaim(Block& block) noexcept { block.holds[0].fetch_and(~kBusy); }

/// Marks a block that nobody holds as busy, and makes handles of its earlier use invalid. Only the
/// owner of the block's page may call it.
inline bool claim(Block& block) noexcept {
  if (is_held(block)) return false;
  std::uint64_t nobody = 0;
  if (!block.holds[0].compare_exchange_strong(nobody, kBusy)) return false;
  for (std::uint32_t word = 1; word < kHoldWords; ++word) {
    if (block.holds[word].load() == 0) continue;
    unclaim(block);
    return false;
  }
  block.generation.fetch_add(1);
  return true;
}

/// Gives a claimed block its first holder.
inline void publish(Block& block, std::uint32_t slot, std::uint64_t offset,
                    std::uint64_t length) noexcept {
  block.offset.store(offset);
  block.length.store(length);
  word_of(block, slot).fetch_or(bit_of(slot));
  unclaim(block);
}

inline void drop_hold(Block& block, std::uint32_t slot) noexcept {
  word_of(block, slot).fetch_and(~bit_of(slot));
}

enum class Hold : std::uint8_t { kTaken, kReused, kBlocked };

/// Holds the block if it still has this generation. Waits a little for a process that looks for
/// holders; kBlocked if that takes long, because it was stopped or killed just then.
inline Hold take_hold(Block& block, std::uint32_t slot, std::uint64_t generation) noexcept {
  constexpr int kYields = 20;
  constexpr int kSleeps = 50;
  word_of(block, slot).fetch_or(bit_of(slot));
  for (int tries = 0; tries < kYields + kSleeps; ++tries) {
    const bool is_busy = (block.holds[0].load() & kBusy) != 0;
    if (block.generation.load() != generation) {
      drop_hold(block, slot);
      return Hold::kReused;
    }
    if (!is_busy) return Hold::kTaken;
    if (tries < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  drop_hold(block, slot);
  return Hold::kBlocked;
}

// --- Cells: a handle on its way is held by its sender until the receiver clears its cell.

/// What a cell holds; 0 is a free one. Serials tell the uses of a cell apart, and their order.
struct CellValue {
  std::uint32_t slot;  // kOrphanSlot: of a sender that has ended
  std::uint32_t block;
  std::uint64_t serial;
};
inline constexpr std::uint32_t kOrphanSlot = 511;
inline constexpr std::uint64_t kSerialMask = (std::uint64_t{1} << 35) - 1;
static_assert(kSlots < kOrphanSlot && kBlocks == 1U << 20);

inline std::uint64_t encode(const CellValue& cell) noexcept {
  return std::uint64_t{cell.slot} << 55 | std::uint64_t{cell.block} << 35 | cell.serial;
}
/// Any word gives a block that exists.
inline CellValue decode(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 55), static_cast<std::uint32_t>(word >> 35) % kBlocks,
          word & kSerialMask};
}
/// The same cell after its sender has ended.
inline std::uint64_t orphaned(std::uint64_t word) noexcept {
  return word | std::uint64_t{kOrphanSlot} << 55;
}

}  // namespace refarray::shared
