// Runs a target without a fuzzer: on a corpus, one input per line in hexadecimal, and on random
// inputs, the same ones each time.
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "input.hpp"

/// A failed allocation returns nullptr instead of aborting. Default visibility, so that the shared
/// library of the sanitizer finds the function.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

constexpr int kRandomInputs = 20'000;
constexpr std::size_t kLongest = 256;  // bytes of one

void run(const std::vector<std::uint8_t>& bytes) {
  refarray::fuzz::Input input(bytes.data(), bytes.size());
  refarray::fuzz::run(input);
}

void run_random_inputs() {
  std::mt19937_64 random(20261126);
  for (int i = 0; i < kRandomInputs; ++i) {
    std::vector<std::uint8_t> bytes(random() % (kLongest + 1));
    for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random());
    run(bytes);
  }
}

int main(int count, char** arguments) {
  long runs = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i]);
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::vector<std::uint8_t> bytes(line.size() / 2);
      for (std::size_t k = 0; k < bytes.size(); ++k)
        bytes[k] = static_cast<std::uint8_t>(std::stoul(line.substr(2 * k, 2), nullptr, 16));
      run(bytes);
      ++runs;
    }
  }
  run_random_inputs();
  std::cout << runs << " inputs replayed, " << kRandomInputs << " random ones run\n";
  return runs > 0 ? 0 : 1;  // an empty or missing corpus is a failure
}
