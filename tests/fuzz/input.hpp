// Owns how a fuzzer's bytes become numbers, and how a target says that an answer is wrong.
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

/// Takes numbers from the front; zeros when nothing is left, so that every input means something.
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
  /// 0 to `count` - 1.
  int below(int count) noexcept { return byte() % count; }
  /// One time in `count`.
  bool one_in(int count) noexcept { return below(count) == count - 1; }
  std::span<const std::uint8_t> rest() const noexcept { return rest_; }

 private:
  std::span<const std::uint8_t> rest_;
};

/// A wrong answer ends the process: that is what a fuzzer takes for a finding. `what` is a text, or
/// makes one: only then is it made.
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

}  // namespace refarray::fuzz

/// What libFuzzer and replay.cpp call.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
