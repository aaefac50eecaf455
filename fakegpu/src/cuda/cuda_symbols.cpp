// cuGetProcAddress: maps a name and a CUDA version to a function. Unsuffixed names of functions
// with an old ABI, which programs must not call: a real driver would misread the arguments as
// 32-bit.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda/cuda.hpp"

using namespace fakegpu;

namespace {

int trap(const char* name) {
  std::fprintf(stderr,
               "fakegpu: %s without a version has an old ABI: request it by "
               "cuGetProcAddress with a version\n",
               name);
  std::abort();
}

}  // namespace

extern "C" {

int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags);
int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                        int* status_out);

int cuMemAlloc() { return trap("cuMemAlloc"); }
int cuMemFree() { return trap("cuMemFree"); }
int cuMemGetInfo() { return trap("cuMemGetInfo"); }
int cuMemAllocHost() { return trap("cuMemAllocHost"); }
int cuMemHostRegister() { return trap("cuMemHostRegister"); }
int cuMemHostGetDevicePointer() { return trap("cuMemHostGetDevicePointer"); }
int cuMemGetAddressRange() { return trap("cuMemGetAddressRange"); }
int cuEventDestroy() { return trap("cuEventDestroy"); }
int cuStreamDestroy() { return trap("cuStreamDestroy"); }
int cuCtxCreate() { return trap("cuCtxCreate"); }
int cuCtxDestroy() { return trap("cuCtxDestroy"); }
int cuCtxPushCurrent() { return trap("cuCtxPushCurrent"); }
int cuCtxPopCurrent() { return trap("cuCtxPopCurrent"); }
int cuDevicePrimaryCtxRelease() { return trap("cuDevicePrimaryCtxRelease"); }
int cuDevicePrimaryCtxReset() { return trap("cuDevicePrimaryCtxReset"); }
int cuDeviceTotalMem() { return trap("cuDeviceTotalMem"); }
int cuMemcpyHtoD() { return trap("cuMemcpyHtoD"); }
int cuMemcpyDtoH() { return trap("cuMemcpyDtoH"); }
int cuMemcpyDtoD() { return trap("cuMemcpyDtoD"); }
int cuMemcpyHtoDAsync() { return trap("cuMemcpyHtoDAsync"); }
int cuMemcpyDtoHAsync() { return trap("cuMemcpyDtoHAsync"); }
int cuMemcpyDtoDAsync() { return trap("cuMemcpyDtoDAsync"); }
int cuMemcpy2D() { return trap("cuMemcpy2D"); }
int cuMemcpy2DUnaligned() { return trap("cuMemcpy2DUnaligned"); }
int cuMemcpy2DAsync() { return trap("cuMemcpy2DAsync"); }
int cuMemsetD8() { return trap("cuMemsetD8"); }
int cuStreamBeginCapture() { return trap("cuStreamBeginCapture"); }
int cuGraphInstantiate() { return trap("cuGraphInstantiate"); }
int cuIpcOpenMemHandle() { return trap("cuIpcOpenMemHandle"); }

}  // extern "C"

namespace {

Symbols own_symbols() {
  return {plain<cuGetProcAddress>("cuGetProcAddress", 11030),
          plain<cuGetProcAddress_v2>("cuGetProcAddress", 12000),
          plain<cuMemAlloc>("cuMemAlloc", 2000),
          plain<cuMemFree>("cuMemFree", 2000),
          plain<cuMemGetInfo>("cuMemGetInfo", 2000),
          plain<cuMemAllocHost>("cuMemAllocHost", 2000),
          plain<cuMemHostRegister>("cuMemHostRegister", 2000),
          plain<cuMemHostGetDevicePointer>("cuMemHostGetDevicePointer", 2000),
          plain<cuMemGetAddressRange>("cuMemGetAddressRange", 2000),
          plain<cuEventDestroy>("cuEventDestroy", 2000),
          plain<cuStreamDestroy>("cuStreamDestroy", 2000),
          plain<cuCtxCreate>("cuCtxCreate", 2000),
          plain<cuCtxDestroy>("cuCtxDestroy", 2000),
          plain<cuCtxPushCurrent>("cuCtxPushCurrent", 2000),
          plain<cuCtxPopCurrent>("cuCtxPopCurrent", 2000),
          plain<cuDevicePrimaryCtxRelease>("cuDevicePrimaryCtxRelease", 2000),
          plain<cuDevicePrimaryCtxReset>("cuDevicePrimaryCtxReset", 2000),
          plain<cuDeviceTotalMem>("cuDeviceTotalMem", 2000),
          plain<cuMemcpyHtoD>("cuMemcpyHtoD", 2000),
          plain<cuMemcpyDtoH>("cuMemcpyDtoH", 2000),
          plain<cuMemcpyDtoD>("cuMemcpyDtoD", 2000),
          plain<cuMemcpyHtoDAsync>("cuMemcpyHtoDAsync", 2000),
          plain<cuMemcpyDtoHAsync>("cuMemcpyDtoHAsync", 2000),
          plain<cuMemcpyDtoDAsync>("cuMemcpyDtoDAsync", 2000),
          plain<cuMemcpy2D>("cuMemcpy2D", 2000),
          plain<cuMemcpy2DUnaligned>("cuMemcpy2DUnaligned", 2000),
          plain<cuMemcpy2DAsync>("cuMemcpy2DAsync", 2000),
          plain<cuMemsetD8>("cuMemsetD8", 2000),
          plain<cuStreamBeginCapture>("cuStreamBeginCapture", 2000),
          plain<cuGraphInstantiate>("cuGraphInstantiate", 2000),
          plain<cuIpcOpenMemHandle>("cuIpcOpenMemHandle", 2000)};
}

const Symbols& symbols() {
  static const Symbols all = [] {
    Symbols list;
    for (const auto some :
         {context_symbols, memory_symbols, copy_symbols, stream_symbols, own_symbols})
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
