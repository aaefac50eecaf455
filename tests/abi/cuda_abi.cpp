// Owns the comparison of the binary interface that we declare for libcuda with NVIDIA's own
// headers: compiled, never run. Functions have the same number of parameters, each passed in the
// same way.
#include "runtime/cuda_abi.hpp"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>

namespace {

using refarray::runtime::cuda::Calls;
using refarray::runtime::cuda::Copy2D;
using refarray::runtime::cuda::PoolProperties;

/// Pointers and integers of one size travel in the same registers.
template <class Ours, class Theirs>
inline constexpr bool same = false;
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
inline constexpr bool same<R (*)(A...), S (*)(B...)> =
    sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B)) && ...);

static_assert(same<decltype(Calls::init), PFN_cuInit_v2000>);
static_assert(same<decltype(Calls::driver_version), PFN_cuDriverGetVersion_v2020>);
static_assert(same<decltype(Calls::error_name), PFN_cuGetErrorName_v6000>);
static_assert(same<decltype(Calls::error_text), PFN_cuGetErrorString_v6000>);
static_assert(same<decltype(Calls::device_count), PFN_cuDeviceGetCount_v2000>);
static_assert(same<decltype(Calls::device_get), PFN_cuDeviceGet_v2000>);
static_assert(same<decltype(Calls::device_name), PFN_cuDeviceGetName_v2000>);
static_assert(same<decltype(Calls::device_attribute), PFN_cuDeviceGetAttribute_v2000>);
static_assert(same<decltype(Calls::context_retain), PFN_cuDevicePrimaryCtxRetain_v7000>);
static_assert(same<decltype(Calls::context_push), PFN_cuCtxPushCurrent_v4000>);
static_assert(same<decltype(Calls::context_pop), PFN_cuCtxPopCurrent_v4000>);
static_assert(same<decltype(Calls::context_device), PFN_cuCtxGetDevice_v2000>);
static_assert(same<decltype(Calls::context_synchronize), PFN_cuCtxSynchronize_v2000>);
static_assert(same<decltype(Calls::allocate), PFN_cuMemAlloc_v3020>);
static_assert(same<decltype(Calls::free), PFN_cuMemFree_v3020>);
static_assert(same<decltype(Calls::allocate_host), PFN_cuMemHostAlloc_v2020>);
static_assert(same<decltype(Calls::free_host), PFN_cuMemFreeHost_v2000>);
static_assert(same<decltype(Calls::allocate_managed), PFN_cuMemAllocManaged_v6000>);
static_assert(same<decltype(Calls::pool_create), PFN_cuMemPoolCreate_v11020>);
static_assert(same<decltype(Calls::pool_set), PFN_cuMemPoolSetAttribute_v11020>);
static_assert(same<decltype(Calls::pool_trim), PFN_cuMemPoolTrimTo_v11020>);
static_assert(same<decltype(Calls::allocate_from_pool), PFN_cuMemAllocFromPoolAsync_v11020>);
static_assert(same<decltype(Calls::free_async), PFN_cuMemFreeAsync_v11020>);
static_assert(same<decltype(Calls::copy), PFN_cuMemcpyAsync_v4000>);
static_assert(same<decltype(Calls::copy_to_device), PFN_cuMemcpyHtoDAsync_v3020>);
static_assert(same<decltype(Calls::copy_to_host), PFN_cuMemcpyDtoHAsync_v3020>);
static_assert(same<decltype(Calls::copy_on_device), PFN_cuMemcpyDtoDAsync_v3020>);
static_assert(same<decltype(Calls::copy_2d), PFN_cuMemcpy2DAsync_v3020>);
static_assert(same<decltype(Calls::copy_peer), PFN_cuMemcpyPeerAsync_v4000>);
static_assert(same<decltype(Calls::set_bytes), PFN_cuMemsetD8Async_v3020>);
static_assert(same<decltype(Calls::stream_create), PFN_cuStreamCreate_v2000>);
static_assert(same<decltype(Calls::stream_destroy), PFN_cuStreamDestroy_v4000>);
static_assert(same<decltype(Calls::stream_synchronize), PFN_cuStreamSynchronize_v2000>);
static_assert(same<decltype(Calls::stream_query), PFN_cuStreamQuery_v2000>);
static_assert(same<decltype(Calls::stream_wait), PFN_cuStreamWaitEvent_v3020>);
static_assert(same<decltype(Calls::stream_context), PFN_cuStreamGetCtx_v9020>);
static_assert(same<decltype(Calls::stream_device), PFN_cuStreamGetDevice_v12080>);
static_assert(same<decltype(Calls::stream_capture), PFN_cuStreamGetCaptureInfo_v10010>);
static_assert(same<decltype(Calls::stream_is_capturing), PFN_cuStreamIsCapturing_v10000>);
static_assert(
    same<decltype(Calls::exchange_capture_mode), PFN_cuThreadExchangeStreamCaptureMode_v10010>);
static_assert(same<decltype(Calls::event_create), PFN_cuEventCreate_v2000>);
static_assert(same<decltype(Calls::event_destroy), PFN_cuEventDestroy_v4000>);
static_assert(same<decltype(Calls::event_record), PFN_cuEventRecord_v2000>);
static_assert(same<decltype(Calls::event_query), PFN_cuEventQuery_v2000>);
static_assert(same<decltype(Calls::event_synchronize), PFN_cuEventSynchronize_v2000>);
static_assert(same<decltype(Calls::event_elapsed), PFN_cuEventElapsedTime_v2000>);
static_assert(same<decltype(Calls::record_context), PFN_cuCtxRecordEvent_v12050>);
static_assert(same<decltype(Calls::pointer_attributes), PFN_cuPointerGetAttributes_v7000>);
static_assert(same<decltype(Calls::module_load), PFN_cuModuleLoadData_v2000>);
static_assert(same<decltype(Calls::module_function), PFN_cuModuleGetFunction_v2000>);
static_assert(same<decltype(Calls::launch), PFN_cuLaunchKernel_v4000>);

static_assert(sizeof(PoolProperties) == sizeof(CUmemPoolProps_v1));
static_assert(offsetof(PoolProperties, location_id) ==
              offsetof(CUmemPoolProps_v1, location) + offsetof(CUmemLocation, id));
static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D_v2));
static_assert(offsetof(Copy2D, from_device) == offsetof(CUDA_MEMCPY2D_v2, srcDevice));
static_assert(offsetof(Copy2D, from_pitch) == offsetof(CUDA_MEMCPY2D_v2, srcPitch));
static_assert(offsetof(Copy2D, to_device) == offsetof(CUDA_MEMCPY2D_v2, dstDevice));
static_assert(offsetof(Copy2D, to_pitch) == offsetof(CUDA_MEMCPY2D_v2, dstPitch));
static_assert(offsetof(Copy2D, height) == offsetof(CUDA_MEMCPY2D_v2, Height));
static_assert(refarray::runtime::cuda::kUnifiedMemory == CU_MEMORYTYPE_UNIFIED);
static_assert(refarray::runtime::cuda::kPoolsSupported ==
              CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
static_assert(refarray::runtime::cuda::kReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(refarray::runtime::cuda::kPointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(refarray::runtime::cuda::kPointerIsManaged == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(refarray::runtime::cuda::kPointerDevice == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);

}  // namespace
