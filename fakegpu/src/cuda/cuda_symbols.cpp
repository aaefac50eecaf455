// cuGetProcAddress: maps a name and a CUDA version to a function.
#include <cstring>

#include "cuda/cuda.hpp"
#include "cuda/cuda_traps.hpp"

using namespace fakegpu;

namespace {

struct Symbol {
  const char* name;
  int version;  // the first version in which the name means this function
  void* function;
  void* per_thread;  // the variant in which stream 0 is the per-thread default stream
};

class NullIsPerThread {
 public:
  NullIsPerThread() : flag_(null_is_per_thread()), before_(flag_) { flag_ = true; }
  ~NullIsPerThread() { flag_ = before_; }
  NullIsPerThread(const NullIsPerThread&) = delete;
  NullIsPerThread& operator=(const NullIsPerThread&) = delete;

 private:
  bool& flag_;
  bool before_;
};

template <auto Function>
struct PerThread;

template <class... Arguments, int (*Function)(Arguments...)>
struct PerThread<Function> {
  static int call(Arguments... arguments) {
    const NullIsPerThread scope;
    return Function(arguments...);
  }
};

template <auto Function>
Symbol plain(const char* name, int version) {
  return {name, version, reinterpret_cast<void*>(Function), reinterpret_cast<void*>(Function)};
}

/// A function that takes a stream, or uses the null stream implicitly.
template <auto Function>
Symbol streamed(const char* name, int version) {
  return {name, version, reinterpret_cast<void*>(Function),
          reinterpret_cast<void*>(&PerThread<Function>::call)};
}

void add_contexts(std::vector<Symbol>& all) {
  all.insert(all.end(), {plain<cuInit>("cuInit", 2000),
                         plain<cuDriverGetVersion>("cuDriverGetVersion", 2020),
                         plain<cuGetErrorName>("cuGetErrorName", 6000),
                         plain<cuGetErrorString>("cuGetErrorString", 6000),
                         plain<cuGetProcAddress>("cuGetProcAddress", 11030),
                         plain<cuGetProcAddress_v2>("cuGetProcAddress", 12000),
                         plain<cuDeviceGetCount>("cuDeviceGetCount", 2000),
                         plain<cuDeviceGet>("cuDeviceGet", 2000),
                         plain<cuDeviceGetName>("cuDeviceGetName", 2000),
                         plain<cuDeviceGetAttribute>("cuDeviceGetAttribute", 2000),
                         plain<cuDeviceTotalMem_v2>("cuDeviceTotalMem", 3020),
                         plain<cuDeviceGetPCIBusId>("cuDeviceGetPCIBusId", 4010),
                         plain<cuDeviceGetUuid>("cuDeviceGetUuid", 9020),
                         plain<cuDeviceGetUuid_v2>("cuDeviceGetUuid", 11040),
                         plain<cuDeviceCanAccessPeer>("cuDeviceCanAccessPeer", 4000),
                         plain<cuDevicePrimaryCtxRetain>("cuDevicePrimaryCtxRetain", 7000),
                         plain<cuDevicePrimaryCtxRelease_v2>("cuDevicePrimaryCtxRelease", 11000),
                         plain<cuDevicePrimaryCtxReset_v2>("cuDevicePrimaryCtxReset", 11000),
                         plain<cuDevicePrimaryCtxGetState>("cuDevicePrimaryCtxGetState", 7000),
                         plain<cuCtxCreate_v2>("cuCtxCreate", 3020),
                         plain<cuCtxDestroy_v2>("cuCtxDestroy", 4000),
                         plain<cuCtxPushCurrent_v2>("cuCtxPushCurrent", 4000),
                         plain<cuCtxPopCurrent_v2>("cuCtxPopCurrent", 4000),
                         plain<cuCtxSetCurrent>("cuCtxSetCurrent", 4000),
                         plain<cuCtxGetCurrent>("cuCtxGetCurrent", 4000),
                         plain<cuCtxGetDevice>("cuCtxGetDevice", 2000),
                         plain<cuCtxGetId>("cuCtxGetId", 12000),
                         plain<cuCtxGetDevice_v2>("cuCtxGetDevice", 13000),
                         plain<cuCtxGetStreamPriorityRange>("cuCtxGetStreamPriorityRange", 5050),
                         plain<cuCtxSynchronize>("cuCtxSynchronize", 2000),
                         plain<cuCtxSynchronize_v2>("cuCtxSynchronize", 13000),
                         plain<cuCtxEnablePeerAccess>("cuCtxEnablePeerAccess", 4000),
                         plain<cuCtxDisablePeerAccess>("cuCtxDisablePeerAccess", 4000),
                         plain<cuCtxRecordEvent>("cuCtxRecordEvent", 12050),
                         plain<cuCtxWaitEvent>("cuCtxWaitEvent", 12050),
                         plain<cuDeviceGetDevResource>("cuDeviceGetDevResource", 12040),
                         plain<cuDevResourceGenerateDesc>("cuDevResourceGenerateDesc", 12040),
                         plain<cuGreenCtxCreate>("cuGreenCtxCreate", 12040),
                         plain<cuGreenCtxDestroy>("cuGreenCtxDestroy", 12040),
                         plain<cuCtxFromGreenCtx>("cuCtxFromGreenCtx", 12040),
                         plain<cuGreenCtxStreamCreate>("cuGreenCtxStreamCreate", 12050),
                         plain<cuGreenCtxRecordEvent>("cuGreenCtxRecordEvent", 12040),
                         plain<cuGreenCtxWaitEvent>("cuGreenCtxWaitEvent", 12040)});
}

void add_memory(std::vector<Symbol>& all) {
  all.insert(all.end(), {plain<cuMemGetInfo_v2>("cuMemGetInfo", 3020),
                         plain<cuMemAlloc_v2>("cuMemAlloc", 3020),
                         plain<cuMemFree_v2>("cuMemFree", 3020),
                         plain<cuMemHostAlloc>("cuMemHostAlloc", 2020),
                         plain<cuMemAllocHost_v2>("cuMemAllocHost", 3020),
                         plain<cuMemFreeHost>("cuMemFreeHost", 2000),
                         plain<cuMemHostRegister_v2>("cuMemHostRegister", 6050),
                         plain<cuMemHostUnregister>("cuMemHostUnregister", 4000),
                         plain<cuMemHostGetDevicePointer_v2>("cuMemHostGetDevicePointer", 3020),
                         plain<cuMemAllocManaged>("cuMemAllocManaged", 6000),
                         streamed<cuStreamAttachMemAsync>("cuStreamAttachMemAsync", 6000),
                         plain<cuMemGetAddressRange_v2>("cuMemGetAddressRange", 3020),
                         streamed<cuMemAllocAsync>("cuMemAllocAsync", 11020),
                         streamed<cuMemAllocFromPoolAsync>("cuMemAllocFromPoolAsync", 11020),
                         streamed<cuMemFreeAsync>("cuMemFreeAsync", 11020),
                         plain<cuMemPoolCreate>("cuMemPoolCreate", 11020),
                         plain<cuMemPoolDestroy>("cuMemPoolDestroy", 11020),
                         plain<cuMemPoolTrimTo>("cuMemPoolTrimTo", 11020),
                         plain<cuMemPoolSetAttribute>("cuMemPoolSetAttribute", 11020),
                         plain<cuMemPoolGetAttribute>("cuMemPoolGetAttribute", 11020),
                         plain<cuMemPoolSetAccess>("cuMemPoolSetAccess", 11020),
                         plain<cuDeviceGetDefaultMemPool>("cuDeviceGetDefaultMemPool", 11020),
                         plain<cuDeviceGetMemPool>("cuDeviceGetMemPool", 11020),
                         plain<cuDeviceSetMemPool>("cuDeviceSetMemPool", 11020),
                         plain<cuPointerGetAttribute>("cuPointerGetAttribute", 4000),
                         plain<cuPointerGetAttributes>("cuPointerGetAttributes", 7000),
                         streamed<cuMemcpy>("cuMemcpy", 4000),
                         streamed<cuMemcpyAsync>("cuMemcpyAsync", 4000),
                         streamed<cuMemcpyHtoD_v2>("cuMemcpyHtoD", 3020),
                         streamed<cuMemcpyDtoH_v2>("cuMemcpyDtoH", 3020),
                         streamed<cuMemcpyDtoD_v2>("cuMemcpyDtoD", 3020),
                         streamed<cuMemcpyHtoDAsync_v2>("cuMemcpyHtoDAsync", 3020),
                         streamed<cuMemcpyDtoHAsync_v2>("cuMemcpyDtoHAsync", 3020),
                         streamed<cuMemcpyDtoDAsync_v2>("cuMemcpyDtoDAsync", 3020),
                         streamed<cuMemcpyPeer>("cuMemcpyPeer", 4000),
                         streamed<cuMemcpyPeerAsync>("cuMemcpyPeerAsync", 4000),
                         streamed<cuMemcpy2D_v2>("cuMemcpy2D", 3020),
                         streamed<cuMemcpy2DUnaligned_v2>("cuMemcpy2DUnaligned", 3020),
                         streamed<cuMemcpy2DAsync_v2>("cuMemcpy2DAsync", 3020),
                         streamed<cuMemsetD8_v2>("cuMemsetD8", 3020),
                         streamed<cuMemsetD8Async>("cuMemsetD8Async", 3020),
                         streamed<cuMemsetD16Async>("cuMemsetD16Async", 3020),
                         streamed<cuMemsetD32Async>("cuMemsetD32Async", 3020)});
}

void add_streams(std::vector<Symbol>& all) {
  all.insert(all.end(),
             {plain<cuStreamCreate>("cuStreamCreate", 2000),
              plain<cuStreamCreateWithPriority>("cuStreamCreateWithPriority", 5050),
              plain<cuStreamDestroy_v2>("cuStreamDestroy", 4000),
              streamed<cuStreamSynchronize>("cuStreamSynchronize", 2000),
              streamed<cuStreamQuery>("cuStreamQuery", 2000),
              streamed<cuStreamWaitEvent>("cuStreamWaitEvent", 3020),
              streamed<cuStreamGetCtx>("cuStreamGetCtx", 9020),
              streamed<cuStreamGetCtx_v2>("cuStreamGetCtx", 12050),
              plain<cuStreamGetGreenCtx>("cuStreamGetGreenCtx", 12040),
              streamed<cuStreamGetDevice>("cuStreamGetDevice", 12080),
              streamed<cuStreamGetFlags>("cuStreamGetFlags", 5050),
              streamed<cuStreamGetPriority>("cuStreamGetPriority", 5050),
              streamed<cuStreamGetId>("cuStreamGetId", 12000),
              streamed<cuStreamIsCapturing>("cuStreamIsCapturing", 10000),
              streamed<cuStreamGetCaptureInfo>("cuStreamGetCaptureInfo", 10010),
              streamed<cuStreamGetCaptureInfo_v2>("cuStreamGetCaptureInfo", 11030),
              streamed<cuStreamGetCaptureInfo_v3>("cuStreamGetCaptureInfo", 12030),
              streamed<cuStreamBeginCapture_v2>("cuStreamBeginCapture", 10010),
              streamed<cuStreamEndCapture>("cuStreamEndCapture", 10000),
              plain<cuThreadExchangeStreamCaptureMode>("cuThreadExchangeStreamCaptureMode", 10010),
              plain<cuGraphInstantiateWithFlags>("cuGraphInstantiateWithFlags", 11040),
              plain<cuGraphInstantiateWithFlags>("cuGraphInstantiate", 12000),
              streamed<cuGraphLaunch>("cuGraphLaunch", 10000),
              plain<cuGraphExecDestroy>("cuGraphExecDestroy", 10000),
              plain<cuGraphDestroy>("cuGraphDestroy", 10000),
              plain<cuEventCreate>("cuEventCreate", 2000),
              plain<cuEventDestroy_v2>("cuEventDestroy", 4000),
              streamed<cuEventRecord>("cuEventRecord", 2000),
              streamed<cuEventRecordWithFlags>("cuEventRecordWithFlags", 11010),
              plain<cuEventQuery>("cuEventQuery", 2000),
              plain<cuEventSynchronize>("cuEventSynchronize", 2000),
              plain<cuEventElapsedTime>("cuEventElapsedTime", 2000),
              plain<cuEventElapsedTime_v2>("cuEventElapsedTime", 12080),
              plain<cuModuleLoadData>("cuModuleLoadData", 2000),
              plain<cuModuleLoadDataEx>("cuModuleLoadDataEx", 2010),
              plain<cuModuleUnload>("cuModuleUnload", 2000),
              plain<cuModuleGetFunction>("cuModuleGetFunction", 2000),
              streamed<cuLaunchKernel>("cuLaunchKernel", 4000),
              streamed<cuLaunchHostFunc>("cuLaunchHostFunc", 10000)});
}

const std::vector<Symbol>& symbols() {
  static const std::vector<Symbol> all = [] {
    std::vector<Symbol> list;
    add_contexts(list);
    add_memory(list);
    add_streams(list);
    for (const Trap& trap : traps())
      list.push_back({trap.name, 2000, trap.function, trap.function});
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

int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return call(Vendor::kCuda, "cuGetProcAddress", kBeforeInit, [&](Call& at) {
    Status status = kFound;
    return get_address(at, name, function, version, flags, status);
  });
}

int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                        int* status_out) {
  return call(Vendor::kCuda, "cuGetProcAddress_v2", kBeforeInit, [&](Call& at) -> int {
    if (at.machine.settings.cuda_version < 12000) return kNotFound;
    Status status = kFound;
    const int code = get_address(at, name, function, version, flags, status);
    if (status_out != nullptr) *status_out = status;
    // A known name that this version lacks is not an error; `status` reports it.
    return status == kVersionNotSufficient ? int{kSuccess} : code;
  });
}
