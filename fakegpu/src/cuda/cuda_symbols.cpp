// cuGetProcAddress: maps a name and a CUDA version to a function. Functions that are not simulated.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda/cuda.hpp"

using namespace fakegpu;

extern "C" {

int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags);
int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                        int* status_out);

}  // extern "C"

namespace {

/// Those with a per-thread variant first: of two with a name and a version the first counts.
const Symbols& symbols() {
  static const Symbols all = [] {
    Symbols list;
    for (const auto some :
         {context_symbols, memory_symbols, copy_symbols, stream_symbols, listed_symbols})
      for (const Symbol& symbol : some()) list.push_back(symbol);
    return list;
  }();
  return all;
}

const Symbol* look_up(const char* name, int version, bool& known) {
  const Symbol* best = nullptr;
  known = false;
  for (const Symbol& symbol : symbols()) {
    if (std::strcmp(symbol.name, name) != 0) continue;
    known = true;
    if (symbol.version <= version && (best == nullptr || symbol.version > best->version))
      best = &symbol;
  }
  return best;
}

enum Status : int { kFound = 0, kSymbolNotFound = 1, kVersionNotSufficient = 2 };
constexpr std::uint64_t kPerThreadDefaultStream = 2;

int get_address(Call& at, const char* name, void** function, int version, std::uint64_t flags,
                Status& status) {
  if (name == nullptr || function == nullptr) return kInvalidValue;
  *function = nullptr;
  at.note("symbol", name).note("version", version);
  bool known = false;
  const int driver = at.machine.settings.cuda_version;
  const Symbol* symbol = look_up(name, version < driver ? version : driver, known);
  if (symbol == nullptr) {
    status = known ? kVersionNotSufficient : kSymbolNotFound;
    return kNotFound;
  }
  status = kFound;
  *function = flags == kPerThreadDefaultStream ? symbol->per_thread : symbol->function;
  return kSuccess;
}

}  // namespace

namespace fakegpu {

int not_simulated(const char* name, int version, const void* caller) {
  constexpr int kOf32Bits = 3020;  // the first version whose addresses and sizes have 64 bits
  bool known = false;
  if (version < kOf32Bits && look_up(name, 4010, known)->version > version) {
    std::fprintf(stderr,
                 "fakegpu: %s without a version has an old ABI: request it by "
                 "cuGetProcAddress with a version\n",
                 name);
    std::abort();
  }
  Call at(kCuda, name, kImmediate, caller);
  if (const int code = at.check()) return at.finish(code);
  return at.finish(kNotSupported);
}

}  // namespace fakegpu

extern "C" {

int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return call(kCuda, "cuGetProcAddress", kBeforeInit | kImmediate, [&](Call& at) {
    Status status = kFound;
    return get_address(at, name, function, version, flags, status);
  });
}

int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                        int* status_out) {
  return call(kCuda, "cuGetProcAddress_v2", kBeforeInit | kImmediate, [&](Call& at) -> int {
    if (at.machine.settings.cuda_version < 12000) return kNotFound;
    Status status = kFound;
    const int code = get_address(at, name, function, version, flags, status);
    if (status_out != nullptr) *status_out = status;
    // A known name that this version lacks is not an error; `status` reports it.
    return status == kVersionNotSufficient ? int{kSuccess} : code;
  });
}

}  // extern "C"
