// The message by which an array goes to another process: its bytes, and their checks.
#include "shared/message.hpp"

#include <cstring>
#include <type_traits>

#include "core/error.hpp"
#include "shared/holds.hpp"

namespace refarray::shared {
namespace {

using core::fail;
using core::Fault;

/// The bytes of a message: this, then those of the array's record.
struct Head {
  std::uint32_t magic;
  std::uint32_t ndim;
  Source source;
  Placement place;
  Ticket ticket;
};
static_assert(std::is_trivially_copyable_v<Head> && sizeof(Head) == 96);

constexpr std::uint32_t kMessageMagic = 0x31534152;  // "RAS1"

}  // namespace

std::vector<std::byte> encode(const Message& message) {
  const Head head{kMessageMagic, static_cast<std::uint32_t>(message.layout.ndim), message.source,
                  message.place, message.ticket};
  std::vector<std::byte> out(sizeof head);
  std::memcpy(out.data(), &head, sizeof head);
  core::encode(out, message);
  return out;
}

Message decode_message(std::span<const std::byte> bytes) {
  Head head{};
  if (bytes.size() < sizeof head)
    fail(Fault::kBuffer, "the handle has ", bytes.size(), " bytes; the minimum is ", sizeof head);
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != kMessageMagic)
    fail(Fault::kBuffer, "magic is ", head.magic, ", not ", kMessageMagic, ": this is no handle");
  if (head.place.block >= kBlocks)
    fail(Fault::kBuffer, "block is ", head.place.block, "; the limit is ", kBlocks);
  if (head.ticket.cell >= kCells)
    fail(Fault::kBuffer, "cell is ", head.ticket.cell, "; the limit is ", kCells);
  if (head.place.length > kMaxUnits * kUnit)
    fail(Fault::kBuffer, "length is ", head.place.length, "; the limit is ", kMaxUnits * kUnit);
  const auto length = static_cast<std::int64_t>(head.place.length);
  return {core::decode_record(bytes, sizeof head, head.ndim, length), head.source, head.place,
          head.ticket};
}

}  // namespace refarray::shared
