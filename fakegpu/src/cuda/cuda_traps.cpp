// Unsuffixed names of functions with an old ABI. Programs must not call them: each prints a message
// and aborts.
#include "cuda/cuda_traps.hpp"

#include <cstdio>
#include <cstdlib>

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
}

namespace fakegpu {

const std::vector<Trap>& traps() {
  static const std::vector<Trap> all = {
      {"cuMemAlloc", reinterpret_cast<void*>(&cuMemAlloc)},
      {"cuMemFree", reinterpret_cast<void*>(&cuMemFree)},
      {"cuMemGetInfo", reinterpret_cast<void*>(&cuMemGetInfo)},
      {"cuMemAllocHost", reinterpret_cast<void*>(&cuMemAllocHost)},
      {"cuMemHostRegister", reinterpret_cast<void*>(&cuMemHostRegister)},
      {"cuMemHostGetDevicePointer", reinterpret_cast<void*>(&cuMemHostGetDevicePointer)},
      {"cuMemGetAddressRange", reinterpret_cast<void*>(&cuMemGetAddressRange)},
      {"cuEventDestroy", reinterpret_cast<void*>(&cuEventDestroy)},
      {"cuStreamDestroy", reinterpret_cast<void*>(&cuStreamDestroy)},
      {"cuCtxCreate", reinterpret_cast<void*>(&cuCtxCreate)},
      {"cuCtxDestroy", reinterpret_cast<void*>(&cuCtxDestroy)},
      {"cuCtxPushCurrent", reinterpret_cast<void*>(&cuCtxPushCurrent)},
      {"cuCtxPopCurrent", reinterpret_cast<void*>(&cuCtxPopCurrent)},
      {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(&cuDevicePrimaryCtxRelease)},
      {"cuDevicePrimaryCtxReset", reinterpret_cast<void*>(&cuDevicePrimaryCtxReset)},
      {"cuDeviceTotalMem", reinterpret_cast<void*>(&cuDeviceTotalMem)},
      {"cuMemcpyHtoD", reinterpret_cast<void*>(&cuMemcpyHtoD)},
      {"cuMemcpyDtoH", reinterpret_cast<void*>(&cuMemcpyDtoH)},
      {"cuMemcpyDtoD", reinterpret_cast<void*>(&cuMemcpyDtoD)},
      {"cuMemcpyHtoDAsync", reinterpret_cast<void*>(&cuMemcpyHtoDAsync)},
      {"cuMemcpyDtoHAsync", reinterpret_cast<void*>(&cuMemcpyDtoHAsync)},
      {"cuMemcpyDtoDAsync", reinterpret_cast<void*>(&cuMemcpyDtoDAsync)},
      {"cuMemcpy2D", reinterpret_cast<void*>(&cuMemcpy2D)},
      {"cuMemcpy2DUnaligned", reinterpret_cast<void*>(&cuMemcpy2DUnaligned)},
      {"cuMemcpy2DAsync", reinterpret_cast<void*>(&cuMemcpy2DAsync)},
      {"cuMemsetD8", reinterpret_cast<void*>(&cuMemsetD8)},
      {"cuStreamBeginCapture", reinterpret_cast<void*>(&cuStreamBeginCapture)},
      {"cuGraphInstantiate", reinterpret_cast<void*>(&cuGraphInstantiate)},
      {"cuIpcOpenMemHandle", reinterpret_cast<void*>(&cuIpcOpenMemHandle)},
  };
  return all;
}

}  // namespace fakegpu
