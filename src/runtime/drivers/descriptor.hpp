// Descriptor: owns a file descriptor, by which processes share memory of a device.
#pragma once

#include <utility>

namespace refarray::runtime {

class Descriptor {
 public:
  Descriptor() noexcept = default;
  /// Takes over a descriptor; programs that the process starts do not get it.
  explicit Descriptor(int owned) noexcept;
  /// A new descriptor of the same file. Throws kBuffer if there is none of that number.
  static Descriptor copy_of(int number);
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int number() const noexcept { return number_; }  // -1: none

 private:
  int number_ = -1;
};

}  // namespace refarray::runtime
