// Replays a corpus without a fuzzer: one input per line, in hexadecimal.
#include <fstream>
#include <iostream>
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

int main(int count, char** arguments) {
  long runs = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i]);
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::vector<std::uint8_t> bytes(line.size() / 2);
      for (std::size_t k = 0; k < bytes.size(); ++k)
        bytes[k] = static_cast<std::uint8_t>(std::stoul(line.substr(2 * k, 2), nullptr, 16));
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      ++runs;
    }
  }
  std::cout << runs << " inputs replayed\n";
  return runs > 0 ? 0 : 1;  // an empty or missing corpus is a failure
}
