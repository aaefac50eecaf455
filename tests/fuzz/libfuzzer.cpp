// The entry point of a target for libFuzzer.
#include "input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  refarray::fuzz::Input input(data, size);
  refarray::fuzz::run(input);
  return 0;
}
