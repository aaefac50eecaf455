// Input: numbers from the bytes of a fuzzer. require(): aborts on a wrong result.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>

namespace refarray::fuzz {

/// Where the `width` bytes of a number are within those of a word that has its value.
inline std::byte* bytes_within(std::uint64_t& word, std::size_t width) noexcept {
  const bool is_big = std::endian::native == std::endian::big;
  return reinterpret_cast<std::byte*>(&word) + (is_big ? sizeof word - width : 0);
}

/// The unsigned number of `width` <= 8 bytes at `from`.
inline std::uint64_t read_number(const std::byte* from, std::size_t width) noexcept {
  std::uint64_t word = 0;
  std::memcpy(bytes_within(word, width), from, width);
  return word;
}
inline void write_number(std::byte* to, std::uint64_t word, std::size_t width) noexcept {
  std::memcpy(to, bytes_within(word, width), width);
}

/// Consumes bytes from the front, then zeros, so that every input is valid.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) noexcept : rest_(data, size) {}

  /// Little-endian on every machine, so that an input means the same.
  template <std::integral T>
  T take() noexcept {
    std::uint64_t value = 0;
    const std::size_t count = std::min(sizeof(T), rest_.size());
    for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{rest_[i]} << (8 * i);
    rest_ = rest_.subspan(count);
    return static_cast<T>(value);
  }
  std::uint8_t byte() noexcept { return take<std::uint8_t>(); }
  /// In [0, count).
  int below(int count) noexcept { return byte() % count; }
  /// True with a probability of 1 / count.
  bool one_in(int count) noexcept { return below(count) == count - 1; }
  std::span<const std::uint8_t> rest() const noexcept { return rest_; }

 private:
  std::span<const std::uint8_t> rest_;
};

/// Aborts the process on a wrong result, which a fuzzer reports as a crash. `what` is a message or
/// a function that makes one, called only on failure.
template <class What>
void require(bool holds, What&& what, std::source_location at = std::source_location::current()) {
  if (holds) return;
  std::string said;
  if constexpr (std::is_invocable_v<What>) {
    said = what();
  } else {
    said = what;
  }
  std::fprintf(stderr, "%s:%u: wrong: %s\n", at.file_name(), static_cast<unsigned>(at.line()),
               said.c_str());
  std::abort();
}

/// The target, which libfuzzer.cpp and replay.cpp call with one input after the other.
void run(Input& input);

}  // namespace refarray::fuzz
