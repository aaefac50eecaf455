// Old functions that share their name with a newer one of another ABI.
#pragma once

#include <vector>

namespace fakegpu {

struct Trap {
  const char* name;
  void* function;
};

/// Each aborts with a message. A real driver would misread the arguments as 32-bit.
const std::vector<Trap>& traps();

}  // namespace fakegpu
