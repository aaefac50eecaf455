// Input: numbers from the bytes of a fuzzer. require(): aborts on a wrong result.
#pragma once

#include <algorithm>
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

/// Consumes bytes from the front, then zeros, so that every input is valid.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) noexcept : rest_(data, size) {}

  template <class T>
  T take() noexcept {
    T value{};
    const std::size_t count = std::min(sizeof(T), rest_.size());
    if (count > 0) std::memcpy(&value, rest_.data(), count);
    rest_ = rest_.subspan(count);
    return value;
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
