// The functions we request from libcuda by cuGetProcAddress, and the version of each.
#include <algorithm>
#include <array>
#include <string>

#include "runtime/drivers/cuda_abi.hpp"
#include "runtime/drivers/load.hpp"

namespace refarray::runtime::cuda {
namespace {

/// A function and the CUDA version whose signature we use. Neither dlsym nor the newest version
/// will do: cuMemAlloc, say, is exported with its CUDA 3 signature, and later versions may add
/// parameters.
struct Symbol {
  const char* name;
  int version;
  bool required;
  void** slot;
};

auto device_symbols(Calls& calls) {
  return std::to_array<Symbol>({
      {"cuInit", 2000, true, slot(calls.init)},
      {"cuDriverGetVersion", 2020, true, slot(calls.driver_version)},
      {"cuGetErrorName", 6000, true, slot(calls.error_name)},
      {"cuGetErrorString", 6000, true, slot(calls.error_text)},
      {"cuDeviceGetCount", 2000, true, slot(calls.device_count)},
      {"cuDeviceGet", 2000, true, slot(calls.device_get)},
      {"cuDeviceGetAttribute", 2000, true, slot(calls.device_attribute)},
      {"cuDeviceTotalMem", 3020, true, slot(calls.device_memory)},
      {"cuDevicePrimaryCtxRetain", 7000, true, slot(calls.context_retain)},
      {"cuDevicePrimaryCtxGetState", 7000, true, slot(calls.context_state)},
      {"cuCtxPushCurrent", 4000, true, slot(calls.context_push)},
      {"cuCtxPopCurrent", 4000, true, slot(calls.context_pop)},
      {"cuCtxGetCurrent", 4000, true, slot(calls.context_current)},
      {"cuCtxGetDevice", 2000, true, slot(calls.context_device)},
      {"cuCtxSynchronize", 2000, true, slot(calls.context_synchronize)},
      {"cuMemAlloc", 3020, true, slot(calls.allocate)},
      {"cuMemFree", 3020, true, slot(calls.free)},
      {"cuMemHostAlloc", 2020, true, slot(calls.allocate_host)},
      {"cuMemFreeHost", 2000, true, slot(calls.free_host)},
      {"cuMemAllocManaged", 6000, true, slot(calls.allocate_managed)},
      {"cuMemPoolCreate", 11020, false, slot(calls.pool_create)},
      {"cuMemPoolSetAttribute", 11020, false, slot(calls.pool_set)},
      {"cuMemPoolSetAccess", 11020, false, slot(calls.pool_access)},
      {"cuMemPoolTrimTo", 11020, false, slot(calls.pool_trim)},
      {"cuDeviceCanAccessPeer", 4000, true, slot(calls.can_access_peer)},
      {"cuMemAllocFromPoolAsync", 11020, false, slot(calls.allocate_from_pool)},
      {"cuMemFreeAsync", 11020, false, slot(calls.free_async)},
      {"cuMemcpyAsync", 4000, true, slot(calls.copy)},
      {"cuMemcpyHtoDAsync", 3020, true, slot(calls.copy_to_device)},
      {"cuMemcpyDtoHAsync", 3020, true, slot(calls.copy_to_host)},
      {"cuMemcpyDtoDAsync", 3020, true, slot(calls.copy_on_device)},
      {"cuMemcpy2DAsync", 3020, true, slot(calls.copy_2d)},
      {"cuMemcpyPeerAsync", 4000, true, slot(calls.copy_peer)},
      {"cuMemsetD8Async", 3020, true, slot(calls.set_bytes)},
  });
}

/// Of streams, events and kernels.
auto stream_symbols(Calls& calls) {
  return std::to_array<Symbol>({
      {"cuStreamCreate", 2000, true, slot(calls.stream_create)},
      {"cuStreamDestroy", 4000, true, slot(calls.stream_destroy)},
      {"cuStreamSynchronize", 2000, true, slot(calls.stream_synchronize)},
      {"cuStreamQuery", 2000, true, slot(calls.stream_query)},
      {"cuStreamWaitEvent", 3020, true, slot(calls.stream_wait)},
      {"cuStreamGetCtx", 9020, true, slot(calls.stream_context)},
      {"cuStreamGetCtx", 12050, false, slot(calls.stream_contexts)},
      {"cuStreamGetGreenCtx", 12040, false, slot(calls.stream_green)},
      {"cuStreamGetDevice", 12080, false, slot(calls.stream_device)},
      {"cuStreamIsCapturing", 10000, true, slot(calls.stream_is_capturing)},
      {"cuStreamGetCaptureInfo", 10010, true, slot(calls.stream_capture)},
      {"cuThreadExchangeStreamCaptureMode", 10010, true, slot(calls.exchange_capture_mode)},
      {"cuEventCreate", 2000, true, slot(calls.event_create)},
      {"cuEventDestroy", 4000, true, slot(calls.event_destroy)},
      {"cuEventRecord", 2000, true, slot(calls.event_record)},
      {"cuEventQuery", 2000, true, slot(calls.event_query)},
      {"cuEventSynchronize", 2000, true, slot(calls.event_synchronize)},
      {"cuEventElapsedTime", 2000, true, slot(calls.event_elapsed)},
      {"cuCtxRecordEvent", 12050, false, slot(calls.record_context)},
      {"cuCtxGetId", 12000, false, slot(calls.context_id)},
      {"cuPointerGetAttributes", 7000, true, slot(calls.pointer_attributes)},
      {"cuModuleLoadData", 2000, true, slot(calls.module_load)},
      {"cuModuleGetFunction", 2000, true, slot(calls.module_function)},
      {"cuLaunchKernel", 4000, true, slot(calls.launch)},
  });
}

/// Of memory and events that other processes can use.
auto shareable_symbols(Calls& calls) {
  return std::to_array<Symbol>({
      {"cuDeviceGetUuid", 9020, false, slot(calls.shareable.device_uuid)},
      {"cuMemGetAllocationGranularity", 10020, false, slot(calls.shareable.granularity)},
      {"cuMemCreate", 10020, false, slot(calls.shareable.create)},
      {"cuMemRelease", 10020, false, slot(calls.shareable.release)},
      {"cuMemGetAllocationPropertiesFromHandle", 10020, false, slot(calls.shareable.properties)},
      {"cuMemExportToShareableHandle", 10020, false, slot(calls.shareable.to_file)},
      {"cuMemImportFromShareableHandle", 10020, false, slot(calls.shareable.from_file)},
      {"cuMemAddressReserve", 10020, false, slot(calls.shareable.reserve)},
      {"cuMemAddressFree", 10020, false, slot(calls.shareable.unreserve)},
      {"cuMemMap", 10020, false, slot(calls.shareable.map)},
      {"cuMemUnmap", 10020, false, slot(calls.shareable.unmap)},
      {"cuMemSetAccess", 10020, false, slot(calls.shareable.set_access)},
      {"cuIpcGetEventHandle", 4010, false, slot(calls.shareable.event_to_handle)},
      {"cuIpcOpenEventHandle", 4010, false, slot(calls.shareable.event_from_handle)},
  });
}

/// cuGetProcAddress has two signatures, each under a symbol of its own.
class Resolver {
 public:
  explicit Resolver(void* library) noexcept
      : newer_(reinterpret_cast<ProcAddress2>(symbol_of(library, "cuGetProcAddress_v2"))),
        older_(reinterpret_cast<ProcAddress>(symbol_of(library, "cuGetProcAddress"))) {}

  explicit operator bool() const noexcept { return newer_ != nullptr || older_ != nullptr; }

  /// nullptr if the driver does not have the function. kLegacyFlag: in every version stream 0 is
  /// the legacy, not the per-thread default stream.
  void* find(const Symbol& symbol) const noexcept {
    void* found = nullptr;
    int ignored = 0;
    const Status status = newer_ != nullptr
                              ? newer_(symbol.name, &found, symbol.version, kLegacyFlag, &ignored)
                              : older_(symbol.name, &found, symbol.version, kLegacyFlag);
    return status == kSuccess ? found : nullptr;
  }

 private:
  ProcAddress2 newer_;
  ProcAddress older_;
};

}  // namespace

bool resolve(void* library, Calls& calls, std::string& why) {
  const Resolver resolver(library);
  if (!resolver) {
    why = "the library has no cuGetProcAddress: the driver is older than CUDA 11.3";
    return false;
  }
  const auto fill = [&](const Symbol& symbol) {
    *symbol.slot = resolver.find(symbol);
    if (*symbol.slot != nullptr || !symbol.required) return true;
    why = core::text("the driver has no ", symbol.name, " of CUDA ", symbol.version / 1000, ".",
                     symbol.version % 1000 / 10);
    return false;
  };
  if (!std::ranges::all_of(device_symbols(calls), fill) ||
      !std::ranges::all_of(stream_symbols(calls), fill) ||
      !std::ranges::all_of(shareable_symbols(calls), fill))
    return false;
  // Asked for a later version than its own, a driver gives the function that it has.
  if (*slot(calls.stream_contexts) == *slot(calls.stream_context)) calls.stream_contexts = nullptr;
  return true;
}

}  // namespace refarray::runtime::cuda
