// The bytes of an array without its memory, and their checks.
#include "core/array_record.hpp"

#include <cstring>
#include <type_traits>

#include "core/error.hpp"

namespace refarray::core {
namespace {

/// The bytes of a record: this, then the extents, then the strides. Both processes are of one
/// machine, so numbers have its byte order.
struct Head {
  std::int64_t first;
  std::uint8_t kind, bits;
  std::uint16_t lanes;
  std::uint8_t padded, readonly, bit, zero;
};
static_assert(std::is_trivially_copyable_v<Head> && sizeof(Head) == 16);

void check_flag(const char* field, std::uint8_t value) {
  if (value > 1) fail(Fault::kBuffer, field, " is ", int{value}, "; it must be 0 or 1");
}

DType checked_dtype(const Head& head) {
  check_flag("padded", head.padded);
  const DType out{static_cast<Kind>(head.kind), head.bits, head.lanes, head.padded != 0};
  if (scalar_index(head.kind, head.bits) < 0) {
    fail(Fault::kBuffer, "dtype: (code ", int{head.kind}, ", bits ", int{head.bits},
         ") is not a type");
  }
  if (head.lanes == 0) fail(Fault::kBuffer, "dtype: lanes is 0; the minimum is 1");
  if (out.padded && !out.is_sub_byte())
    fail(Fault::kBuffer, "padded is 1 for ", int{head.bits}, " bits; only fewer than 8 are padded");
  return out;
}

/// Throws unless all elements are inside of the memory.
void check_extents(const ArrayRecord& record, std::int64_t length) {
  Layout copy;
  const Survey found =
      survey(record.layout.shape, record.layout.strides, record.layout.ndim, record.dtype, copy);
  if (!found.sound) {
    fail(Fault::kBuffer, "shape ", shape_text(record.layout.extents()), " or strides ",
         shape_text(record.layout.stride_span()), ": a number is negative or too large");
  }
  if (record.first < 0 || record.first > length)
    fail(Fault::kBuffer, "first is ", record.first, "; it must be 0 to ", length);
  if (found.size == 0) return;
  const std::int64_t low = record.first + (found.range.begin >> 3);
  const std::int64_t high = found.range.end_byte() + (record.bit != 0 ? 1 : 0);
  if (low < 0 || high > length - record.first) {
    fail(Fault::kBuffer, "strides: bytes ", found.range.first_byte(), " to ", high, " from byte ",
         record.first, " leave the block of ", length);
  }
}

}  // namespace

ArrayRecord record_of(const ArrayView& array) {
  return {array.dtype, !array.writable(), array.bit,
          array.size() == 0 ? 0 : array.data - array.storage->data(),
          Layout(array.extents(), array.stride_span())};
}

void encode(std::vector<std::byte>& out, const ArrayRecord& record) {
  Head head{};
  head.first = record.first;
  head.kind = static_cast<std::uint8_t>(record.dtype.kind);
  head.bits = record.dtype.bits;
  head.lanes = record.dtype.lanes;
  head.padded = record.dtype.padded ? 1 : 0;
  head.readonly = record.readonly ? 1 : 0;
  head.bit = record.bit;
  const std::size_t axes = static_cast<std::size_t>(record.layout.ndim) * sizeof(std::int64_t);
  const std::size_t at = out.size();
  out.resize(at + sizeof head + 2 * axes);
  std::memcpy(out.data() + at, &head, sizeof head);
  if (axes == 0) return;
  std::memcpy(out.data() + at + sizeof head, record.layout.shape, axes);
  std::memcpy(out.data() + at + sizeof head + axes, record.layout.strides, axes);
}

ArrayRecord decode_record(std::span<const std::byte> bytes, std::size_t at, std::uint32_t ndim,
                          std::int64_t length) {
  Head head{};
  if (bytes.size() < at + sizeof head) {
    fail(Fault::kBuffer, "the handle has ", bytes.size(), " bytes; the minimum is ",
         at + sizeof head);
  }
  std::memcpy(&head, bytes.data() + at, sizeof head);
  if (ndim > kMaxRank) fail(Fault::kBuffer, "ndim is ", ndim, "; it must be 0 to ", kMaxRank);
  const std::size_t axes = ndim * sizeof(std::int64_t);
  const std::byte* extents = bytes.data() + at + sizeof head;
  if (bytes.size() != at + sizeof head + 2 * axes) {
    fail(Fault::kBuffer, "the handle has ", bytes.size(), " bytes; ndim ", ndim, " needs ",
         at + sizeof head + 2 * axes);
  }
  check_flag("readonly", head.readonly);
  ArrayRecord out{checked_dtype(head), head.readonly != 0, head.bit, head.first, {}};
  if (head.bit > 7 || (head.bit != 0 && !out.dtype.is_packed()))
    fail(Fault::kBuffer, "bit is ", int{head.bit}, "; it must be 0 to 7, and 0 for whole bytes");
  out.layout.ndim = static_cast<int>(ndim);
  if (axes != 0) {
    std::memcpy(out.layout.shape, extents, axes);
    std::memcpy(out.layout.strides, extents + axes, axes);
  }
  check_extents(out, length);
  return out;
}

}  // namespace refarray::core
