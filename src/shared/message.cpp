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

/// The bytes of a message: this, then the extents, then the strides. Both processes are of one
/// machine, so numbers have its byte order.
struct Head {
  std::uint32_t magic;
  std::uint32_t ndim;
  Source source;
  Placement place;
  Ticket ticket;
  std::int64_t first;
  std::uint8_t kind, bits;
  std::uint16_t lanes;
  std::uint8_t padded, readonly, bit, zero;
};
static_assert(std::is_trivially_copyable_v<Head> && sizeof(Head) == 112);

constexpr std::uint32_t kMessageMagic = 0x31534152;  // "RAS1"

void check_flag(const char* field, std::uint8_t value) {
  if (value > 1) fail(Fault::kBuffer, field, " is ", int{value}, "; it must be 0 or 1");
}

core::DType checked_dtype(const Head& head) {
  check_flag("padded", head.padded);
  const core::DType out{static_cast<core::Kind>(head.kind), head.bits, head.lanes,
                        head.padded != 0};
  if (core::scalar_index(head.kind, head.bits) < 0) {
    fail(Fault::kBuffer, "dtype: (code ", int{head.kind}, ", bits ", int{head.bits},
         ") is not a type");
  }
  if (head.lanes == 0) fail(Fault::kBuffer, "dtype: lanes is 0; the minimum is 1");
  if (out.padded && !out.is_sub_byte())
    fail(Fault::kBuffer, "padded is 1 for ", int{head.bits}, " bits; only fewer than 8 are padded");
  return out;
}

/// Throws unless all elements are inside of the block.
void check_extents(const Message& message) {
  core::Layout copy;
  const core::Survey found = core::survey(message.layout.shape, message.layout.strides,
                                          message.layout.ndim, message.dtype, copy);
  if (!found.sound) {
    fail(Fault::kBuffer, "shape ", core::shape_text(message.layout.extents()), " or strides ",
         core::shape_text(message.layout.stride_span()), ": a number is negative or too large");
  }
  const std::int64_t length = static_cast<std::int64_t>(message.place.length);
  if (message.first < 0 || message.first > length)
    fail(Fault::kBuffer, "first is ", message.first, "; it must be 0 to ", length);
  if (found.size == 0) return;
  const std::int64_t low = message.first + (found.range.begin >> 3);
  const std::int64_t high = found.range.end_byte() + (message.bit != 0 ? 1 : 0);
  if (low < 0 || high > length - message.first) {
    fail(Fault::kBuffer, "strides: bytes ", found.range.first_byte(), " to ", high, " from byte ",
         message.first, " leave the block of ", length);
  }
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
  const auto ndim = static_cast<std::size_t>(message.layout.ndim);
  Head head{};
  head.magic = kMessageMagic;
  head.ndim = static_cast<std::uint32_t>(ndim);
  head.source = message.source;
  head.place = message.place;
  head.ticket = message.ticket;
  head.first = message.first;
  head.kind = static_cast<std::uint8_t>(message.dtype.kind);
  head.bits = message.dtype.bits;
  head.lanes = message.dtype.lanes;
  head.padded = message.dtype.padded ? 1 : 0;
  head.readonly = message.readonly ? 1 : 0;
  head.bit = message.bit;
  const std::size_t axes = ndim * sizeof(std::int64_t);
  std::vector<std::byte> out(sizeof head + 2 * axes);
  std::memcpy(out.data(), &head, sizeof head);
  if (axes == 0) return out;
  std::memcpy(out.data() + sizeof head, message.layout.shape, axes);
  std::memcpy(out.data() + sizeof head + axes, message.layout.strides, axes);
  return out;
}

Message decode_message(std::span<const std::byte> bytes) {
  Head head{};
  if (bytes.size() < sizeof head) {
    fail(Fault::kBuffer, "the handle has ", bytes.size(), " bytes; the minimum is ", sizeof head);
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != kMessageMagic)
    fail(Fault::kBuffer, "magic is ", head.magic, ", not ", kMessageMagic, ": this is no handle");
  if (head.ndim > core::kMaxRank)
    fail(Fault::kBuffer, "ndim is ", head.ndim, "; it must be 0 to ", core::kMaxRank);
  const std::size_t axes = head.ndim * sizeof(std::int64_t);
  if (bytes.size() != sizeof head + 2 * axes) {
    fail(Fault::kBuffer, "the handle has ", bytes.size(), " bytes; ndim ", head.ndim, " needs ",
         sizeof head + 2 * axes);
  }
  check_flag("readonly", head.readonly);
  Message out{head.source,        head.place, head.ticket, checked_dtype(head),
              head.readonly != 0, head.bit,   head.first,  {}};
  if (head.bit > 7 || (head.bit != 0 && !out.dtype.is_packed()))
    fail(Fault::kBuffer, "bit is ", int{head.bit}, "; it must be 0 to 7, and 0 for whole bytes");
  if (head.place.block >= kBlocks)
    fail(Fault::kBuffer, "block is ", head.place.block, "; the limit is ", kBlocks);
  if (head.ticket.cell >= kCells)
    fail(Fault::kBuffer, "cell is ", head.ticket.cell, "; the limit is ", kCells);
  if (head.place.length > kMaxUnits * kUnit)
    fail(Fault::kBuffer, "length is ", head.place.length, "; the limit is ", kMaxUnits * kUnit);
  out.layout.ndim = static_cast<int>(head.ndim);
  if (axes != 0) {
    std::memcpy(out.layout.shape, bytes.data() + sizeof head, axes);
    std::memcpy(out.layout.strides, bytes.data() + sizeof head + axes, axes);
  }
  check_extents(out);
  return out;
}

}  // namespace refarray::shared
