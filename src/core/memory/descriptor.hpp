// Descriptor: owns a file descriptor, by which processes share memory.
#pragma once

#include <utility>

namespace refarray::core {

class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int owned) noexcept : number_(owned) {}
  /// Takes over a descriptor that a driver made; programs that the process starts do not get it.
  static Descriptor close_on_exec(int owned) noexcept;
  /// A new descriptor of the same file. Throws kBuffer if there is none of that number.
  static Descriptor copy_of(int number);
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  ~Descriptor();

  int number() const noexcept { return number_; }  // -1: none
  explicit operator bool() const noexcept { return number_ >= 0; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace refarray::core
