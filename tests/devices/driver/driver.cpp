// A driver library for both vendors without a device: counts devices as the environment says, and
// answers all other calls with success or like NVIDIA's stub.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

bool is(const char* variable, const char* expected) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, expected) == 0;
}

int count(int* out) {
  *out = number("STUB_DEVICES");
  return number("STUB_COUNT_STATUS");
}
int version(int* out) {
  *out = number("STUB_VERSION");
  return 0;
}
/// Any other call: writes no result, whatever the status.
int answer() { return number("STUB_CALL_STATUS"); }

/// With STUB_PAUSE=FILE: creates FILE.here, then blocks until FILE is deleted.
int initialise() {
  if (const char* file = std::getenv("STUB_PAUSE")) {
    if (std::FILE* here = std::fopen((std::string(file) + ".here").c_str(), "w")) {
      std::fclose(here);
    }
    while (access(file, F_OK) == 0) usleep(1000);
  }
  return number("STUB_INIT_STATUS");
}

struct Entry {
  const char* name;
  int from;   // first version with the signature we use
  int below;  // first version with a different signature
  int (*function)();
};
template <class F>
Entry entry(const char* name, int from, F* function, int below = 1 << 30) {
  return {name, from, below, reinterpret_cast<int (*)()>(function)};
}

int find(const char* name, void** out, int asked, std::uint64_t flags) {
  if (number("STUB_INIT_STATUS") == 34) return 34;  // like NVIDIA's stub: writes nothing
  if (is("STUB_LACKS", name)) return 500;
  if (flags != 1) std::abort();  // otherwise stream 0 is not the legacy default stream everywhere
  const Entry known[] = {
      entry("cuDeviceGetCount", 2000, count),
      entry("cuDriverGetVersion", 2020, version),
      entry("cuMemAlloc", 3020, answer),
      entry("cuMemFree", 3020, answer),
      entry("cuEventDestroy", 4000, answer),
      entry("cuStreamDestroy", 4000, answer),
      entry("cuCtxPushCurrent", 4000, answer),
      entry("cuCtxPopCurrent", 4000, answer),
      entry("cuCtxGetDevice", 2000, answer, 13000),
      entry("cuCtxSynchronize", 2000, answer, 13000),
      entry("cuStreamIsCapturing", 10000, answer),
      entry("cuStreamGetCaptureInfo", 10010, answer, 11030),
      entry("cuMemcpyHtoDAsync", 3020, answer),
      entry("cuMemcpyDtoHAsync", 3020, answer),
      entry("cuMemcpyDtoDAsync", 3020, answer),
      entry("cuMemcpy2DAsync", 3020, answer),
  };
  *out = reinterpret_cast<void*>(&answer);
  for (const Entry& row : known) {
    if (std::strcmp(row.name, name) != 0) continue;
    if (asked < row.from || asked >= row.below) std::abort();  // wrong version requested
    *out = reinterpret_cast<void*>(row.function);
  }
  return 0;
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return initialise(); }

#if !defined(STUB_WITHOUT_LOOKUP)
int cuGetProcAddress(const char* name, void** out, int asked, std::uint64_t flags) {
  return find(name, out, asked, flags);
}
#if !defined(STUB_OLD_LOOKUP)
int cuGetProcAddress_v2(const char* name, void** out, int asked, std::uint64_t flags, int* status) {
  *status = 0;
  return find(name, out, asked, flags);
}
#endif
#endif

// The unsuffixed names have CUDA 3 signatures: they must not be called.
int cuMemAlloc(unsigned*, unsigned) { std::abort(); }
int cuMemFree(unsigned) { std::abort(); }
int cuEventDestroy(void*) { std::abort(); }
int cuStreamDestroy(void*) { std::abort(); }
int cuCtxPushCurrent(void*) { std::abort(); }
int cuCtxPopCurrent(void**) { std::abort(); }
int cuDeviceGetCount(int*) { std::abort(); }

int hipInit(unsigned) { return initialise(); }
#if !defined(STUB_WITHOUT_COUNT)
int hipGetDeviceCount(int* out) { return count(out); }
#endif
int hipRuntimeGetVersion(int* out) { return version(out); }
// Their structs have changed between versions: they must not be called.
int hipGetDeviceProperties() { std::abort(); }
int hipGetDevicePropertiesR0600() { std::abort(); }
int hipGetLastError() { std::abort(); }
const char* hipGetErrorName(int) { return "hipErrorOfTheStub"; }
const char* hipGetErrorString(int) { return "no description"; }
int hipGetDevice() { return answer(); }
int hipSetDevice() { return 0; }
int hipDeviceSynchronize() { return 0; }
int hipDeviceTotalMem() { return 0; }
int hipMalloc() { return 0; }
int hipFree() { return 0; }
#if defined(STUB_HIP_NEWER)  // the names in later versions
int hipHostAlloc() { return 0; }
int hipFreeHost() { return 0; }
#else
int hipHostMalloc() { return 0; }
int hipHostFree() { return 0; }
#endif
int hipMemcpyAsync() { return 0; }
int hipMemcpy2DAsync() { return 0; }
int hipMemcpyPeerAsync() { return 0; }
int hipMemsetAsync() { return 0; }
int hipStreamCreateWithFlags() { return 0; }
int hipStreamDestroy() { return 0; }
int hipStreamSynchronize() { return 0; }
int hipStreamQuery() { return 0; }
int hipStreamWaitEvent() { return 0; }
int hipStreamIsCapturing() { return 0; }
int hipStreamGetCaptureInfo() { return 0; }
int hipThreadExchangeStreamCaptureMode() { return 0; }
int hipEventCreateWithFlags() { return 0; }
int hipEventDestroy() { return 0; }
int hipEventRecord() { return 0; }
int hipEventQuery() { return 0; }
int hipEventSynchronize() { return 0; }
int hipEventElapsedTime() { return 0; }
int hipPointerGetAttributes() { return 0; }
int hipModuleLoadData() { return 0; }
int hipModuleGetFunction() { return 0; }
int hipModuleLaunchKernel() { return 0; }
}
