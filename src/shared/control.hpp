// The control memory of an arena: the words that its processes share.
//
// Any of them may write anything here at any time. So each word is read once, compared and masked,
// and never followed: there is no pointer, no mutex and no object in it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace refarray::shared {

using Word = std::atomic<std::uint64_t>;
using Owner = std::atomic<std::uint32_t>;  // 0: nobody; slot + 1; or kAbandoned
static_assert(Word::is_always_lock_free && Owner::is_always_lock_free);

/// Elements are in a file of their own, which processes take in units. A block keeps its units for
/// its process, also after that has ended: small ones leave more to others.
inline constexpr std::uint64_t kUnit = std::uint64_t{256} << 10;
inline constexpr std::uint32_t kMaxUnits = 1U << 22;
/// Blocks begin at multiples of this, as all memory of arrays does.
inline constexpr std::uint64_t kGrain = 256;

/// A process has a slot: one bit in the holds of each block.
inline constexpr std::uint32_t kHoldWords = 5;
inline constexpr std::uint32_t kSlotsPerWord = 62;
inline constexpr std::uint32_t kSlots = kHoldWords * kSlotsPerWord;

/// Processes take the records of blocks in pages.
inline constexpr std::uint32_t kBlocksPerPage = 64;
inline constexpr std::uint32_t kPages = 1U << 14;
inline constexpr std::uint32_t kBlocks = kPages * kBlocksPerPage;

inline constexpr std::uint32_t kCells = 1U << 16;
/// The owner of what a process had that has ended.
inline constexpr std::uint32_t kAbandoned = 0xFFFFFFFF;

using Id = std::array<std::uint8_t, 16>;

/// Written once, before the file is sealed.
struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t peers_write;  // 0: only the process that made the arena writes elements
  Id id;
  std::uint64_t units;  // the limit of the file of elements
  std::uint64_t data_device, data_inode;
};
inline constexpr std::uint64_t kMagic = 0x31414E4552414652;  // "RFARENA1"
inline constexpr std::uint32_t kVersion = 1;

/// The record of a block: 64 bytes, a cache line.
struct Block {
  std::array<Word, kHoldWords> holds;  // the first has two more bits: see holds.hpp
  Word generation;                     // never returns to an earlier value
  Word offset, length;                 // for the process that takes over from an owner that ended
};
static_assert(sizeof(Block) == 64);

struct Control {
  alignas(4096) Header header;
  // How many entries of each table were ever in use.
  alignas(4096) Owner cells_used;
  Owner pages_used;
  Owner units_used;
  Word next_serial;
  std::array<Owner, kSlots> slot_used;  // a process has had it since it was last swept
  alignas(4096) std::array<Word, kCells> cells;
  alignas(4096) std::array<Owner, kPages> page_owner;
  alignas(4096) std::array<Owner, kMaxUnits> unit_owner;
  alignas(4096) std::array<Block, kBlocks> blocks;
};

/// A count of entries in use, which no peer can make larger than the table.
inline std::uint32_t count_in(const Owner& used, std::uint32_t capacity) noexcept {
  const std::uint32_t count = used.load();
  return count < capacity ? count : capacity;
}
/// To be called before entry `at` is used.
inline void include_in(Owner& used, std::uint32_t at) noexcept {
  std::uint32_t before = used.load();
  while (before <= at && !used.compare_exchange_weak(before, at + 1)) {
  }
}

}  // namespace refarray::shared
