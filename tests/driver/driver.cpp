// Owns a driver library of either vendor that counts devices as the environment says and answers
// every other call with success, or like NVIDIA's stub: no device is behind it.
#include <cstdint>
#include <cstdlib>
#include <cstring>

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
int succeed() { return 0; }

struct Entry {
  const char* name;
  int version;  // the first whose form is the one that is meant
  int (*function)();
};
template <class F>
Entry entry(const char* name, int from, F* function) {
  return {name, from, reinterpret_cast<int (*)()>(function)};
}

int find(const char* name, void** out, int asked) {
  if (number("STUB_INIT_STATUS") == 34) return 34;  // as NVIDIA's: nothing is written
  if (is("STUB_LACKS", name)) return 500;
  const Entry known[] = {
      entry("cuDeviceGetCount", 2000, count),    entry("cuDriverGetVersion", 2020, version),
      entry("cuMemAlloc", 3020, succeed),        entry("cuMemFree", 3020, succeed),
      entry("cuEventDestroy", 4000, succeed),    entry("cuStreamDestroy", 4000, succeed),
      entry("cuCtxPushCurrent", 4000, succeed),  entry("cuCtxPopCurrent", 4000, succeed),
      entry("cuMemcpyHtoDAsync", 3020, succeed), entry("cuMemcpyDtoHAsync", 3020, succeed),
      entry("cuMemcpyDtoDAsync", 3020, succeed), entry("cuMemcpy2DAsync", 3020, succeed),
  };
  *out = reinterpret_cast<void*>(&succeed);
  for (const Entry& row : known) {
    if (std::strcmp(row.name, name) != 0) continue;
    if (asked < row.version) std::abort();  // the form of CUDA 3 was asked for
    *out = reinterpret_cast<void*>(row.function);
  }
  return 0;
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return number("STUB_INIT_STATUS"); }

#if !defined(STUB_WITHOUT_LOOKUP)
int cuGetProcAddress(const char* name, void** out, int asked, std::uint64_t) {
  return find(name, out, asked);
}
#if !defined(STUB_OLD_LOOKUP)
int cuGetProcAddress_v2(const char* name, void** out, int asked, std::uint64_t, int* status) {
  *status = 0;
  return find(name, out, asked);
}
#endif
#endif

// The names without a version: the forms of CUDA 3, which nobody may call.
int cuMemAlloc(unsigned*, unsigned) { std::abort(); }
int cuMemFree(unsigned) { std::abort(); }
int cuEventDestroy(void*) { std::abort(); }
int cuStreamDestroy(void*) { std::abort(); }
int cuCtxPushCurrent(void*) { std::abort(); }
int cuCtxPopCurrent(void**) { std::abort(); }
int cuDeviceGetCount(int*) { std::abort(); }

int hipInit(unsigned) { return number("STUB_INIT_STATUS"); }
#if !defined(STUB_WITHOUT_COUNT)
int hipGetDeviceCount(int* out) { return count(out); }
#endif
int hipRuntimeGetVersion(int* out) { return version(out); }
const char* hipGetErrorName(int) { return "hipErrorOfTheStub"; }
const char* hipGetErrorString(int) { return "the stub has no words for it"; }
int hipDeviceGetName() { return 0; }
int hipGetDevice() { return 0; }
int hipSetDevice() { return 0; }
int hipDeviceSynchronize() { return 0; }
int hipMalloc() { return 0; }
int hipFree() { return 0; }
#if defined(STUB_HIP_NEWER)  // the names that later versions prefer
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
