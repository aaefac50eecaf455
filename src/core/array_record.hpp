// ArrayRecord: an array without its memory, as it goes to another process of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/array.hpp"

namespace refarray::core {

struct ArrayRecord {
  DType dtype{};
  bool readonly = false;
  std::uint8_t bit = 0;    // of the first element in its byte
  std::int64_t first = 0;  // bytes from the begin of the memory to the first element
  Layout layout{};
};

ArrayRecord record_of(const ArrayView& array);

/// Appends the record's bytes.
void encode(std::vector<std::byte>& out, const ArrayRecord& record);
/// Checks everything: all elements are inside of `length` bytes of memory. `bytes` begin with a
/// record of `ndim` axes at `at` and end with it. Throws kBuffer naming field, value and limit.
ArrayRecord decode_record(std::span<const std::byte> bytes, std::size_t at, std::uint32_t ndim,
                          std::int64_t length);

}  // namespace refarray::core
