// Runs a target without a fuzzer: on a corpus, one input per line in hexadecimal, and on random
// inputs, the same ones each time unless FUZZ_INPUTS and FUZZ_SEED name others.
#include <array>
#include <cstdlib>
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

constexpr long kRandomInputs = 5'000;
constexpr std::size_t kLongest = 256;  // bytes of one

void run(const std::vector<std::uint8_t>& bytes) {
  refarray::fuzz::Input input(bytes.data(), bytes.size());
  refarray::fuzz::run(input);
}

void run_random_inputs(long count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<std::uint64_t, kLongest / sizeof(std::uint64_t)> words;
  for (long i = 0; i < count; ++i) {
    for (std::uint64_t& each : words) each = random();
    refarray::fuzz::Input input(reinterpret_cast<const std::uint8_t*>(words.data()),
                                random() % (kLongest + 1));
    refarray::fuzz::run(input);
  }
}

/// The number that an environment variable holds, or `otherwise`.
long number_of(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atol(text) : otherwise;
}

int main(int files, char** arguments) {
  long runs = 0;
  for (int i = 1; i < files; ++i) {
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
  const long count = number_of("FUZZ_INPUTS", kRandomInputs);
  run_random_inputs(count, static_cast<std::uint64_t>(number_of("FUZZ_SEED", 20261126)));
  std::cout << runs << " inputs replayed, " << count << " random ones run\n";
  return runs > 0 ? 0 : 1;  // an empty or missing corpus is a failure
}
