// Owns the list of old functions that share a name with a newer one of another ABI.
#pragma once

#include <vector>

namespace fakegpu {

struct Trap {
  const char* name;
  void* function;
};

/// Each ends the process with a message: a real driver would take 32-bit arguments from the call.
const std::vector<Trap>& traps();

}  // namespace fakegpu
