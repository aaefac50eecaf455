// Compares our declarations of libcuda's ABI with NVIDIA's headers. Compiled, never run;
// declared.py generates functions.inc from our sources.
#include "runtime/drivers/cuda_abi.hpp"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>

#include "runtime/drivers/driver_table.hpp"
#include "same.hpp"

namespace {

using namespace refarray::runtime;
using namespace refarray::runtime::cuda;

#include "functions.inc"

static_assert(same<ProcAddress, PFN_cuGetProcAddress_v11030>);
#if CUDA_VERSION >= 12000
static_assert(same<ProcAddress2, PFN_cuGetProcAddress_v12000>);
#endif

static_assert(sizeof(PoolProperties) == sizeof(CUmemPoolProps));
static_assert(offsetof(PoolProperties, allocation_type) == offsetof(CUmemPoolProps, allocType));
static_assert(offsetof(PoolProperties, handle_types) == offsetof(CUmemPoolProps, handleTypes));
static_assert(offsetof(PoolProperties, location_type) ==
              offsetof(CUmemPoolProps, location) + offsetof(CUmemLocation, type));
static_assert(offsetof(PoolProperties, location_id) ==
              offsetof(CUmemPoolProps, location) + offsetof(CUmemLocation, id));
static_assert(sizeof(MemoryAccess) == sizeof(CUmemAccessDesc));
static_assert(offsetof(MemoryAccess, location_id) ==
              offsetof(CUmemAccessDesc, location) + offsetof(CUmemLocation, id));
static_assert(offsetof(MemoryAccess, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(MemoryAccess{}.location_type == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(MemoryAccess{}.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(PoolProperties{}.allocation_type == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(PoolProperties{}.handle_types == CU_MEM_HANDLE_TYPE_NONE);
static_assert(PoolProperties{}.location_type == CU_MEM_LOCATION_TYPE_DEVICE);

static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, type) == offsetof(CUmemAllocationProp, type));
static_assert(offsetof(AllocationProperties, handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location_type) ==
              offsetof(CUmemAllocationProp, location) + offsetof(CUmemLocation, type));
static_assert(offsetof(AllocationProperties, location_id) ==
              offsetof(CUmemAllocationProp, location) + offsetof(CUmemLocation, id));
static_assert(offsetof(AllocationProperties, flags) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(AllocationProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(AllocationProperties{}.location_type == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(kFileHandle == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(sizeof(Uuid) == sizeof(CUuuid) && sizeof(EventHandle) == sizeof(CUipcEventHandle));
static_assert(kEventInterprocess == CU_EVENT_INTERPROCESS);
static_assert(kNotSupported == CUDA_ERROR_NOT_SUPPORTED);

static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D));
static_assert(offsetof(Copy2D, from_x) == offsetof(CUDA_MEMCPY2D, srcXInBytes));
static_assert(offsetof(Copy2D, from_y) == offsetof(CUDA_MEMCPY2D, srcY));
static_assert(offsetof(Copy2D, from_type) == offsetof(CUDA_MEMCPY2D, srcMemoryType));
static_assert(offsetof(Copy2D, from_host) == offsetof(CUDA_MEMCPY2D, srcHost));
static_assert(offsetof(Copy2D, from_device) == offsetof(CUDA_MEMCPY2D, srcDevice));
static_assert(offsetof(Copy2D, from_array) == offsetof(CUDA_MEMCPY2D, srcArray));
static_assert(offsetof(Copy2D, from_pitch) == offsetof(CUDA_MEMCPY2D, srcPitch));
static_assert(offsetof(Copy2D, to_x) == offsetof(CUDA_MEMCPY2D, dstXInBytes));
static_assert(offsetof(Copy2D, to_y) == offsetof(CUDA_MEMCPY2D, dstY));
static_assert(offsetof(Copy2D, to_type) == offsetof(CUDA_MEMCPY2D, dstMemoryType));
static_assert(offsetof(Copy2D, to_host) == offsetof(CUDA_MEMCPY2D, dstHost));
static_assert(offsetof(Copy2D, to_device) == offsetof(CUDA_MEMCPY2D, dstDevice));
static_assert(offsetof(Copy2D, to_array) == offsetof(CUDA_MEMCPY2D, dstArray));
static_assert(offsetof(Copy2D, to_pitch) == offsetof(CUDA_MEMCPY2D, dstPitch));
static_assert(offsetof(Copy2D, width) == offsetof(CUDA_MEMCPY2D, WidthInBytes));
static_assert(offsetof(Copy2D, height) == offsetof(CUDA_MEMCPY2D, Height));

static_assert(kUnifiedMemory == CU_MEMORYTYPE_UNIFIED);
static_assert(kMemoryHost == CU_MEMORYTYPE_HOST);
static_assert(kMemoryDevice == CU_MEMORYTYPE_DEVICE);
static_assert(kConcurrentManaged == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
static_assert(kPoolsSupported == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
static_assert(kReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(kPointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(kPointerIsManaged == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(kPointerDevice == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kHostPortable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(kManagedGlobal == CU_MEM_ATTACH_GLOBAL);
static_assert(kLegacyFlag == CU_GET_PROC_ADDRESS_LEGACY_STREAM);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kCaptureModeRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(kCaptureStatusActive == CU_STREAM_CAPTURE_STATUS_ACTIVE);
static_assert(kCaptureImplicit == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);

static_assert(kSuccess == CUDA_SUCCESS);
static_assert(kInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kNotReady == CUDA_ERROR_NOT_READY);
static_assert(kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kFirstCaptureError == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(kLastCaptureError == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
static_assert(kEventDefault == CU_EVENT_DEFAULT);
static_assert(kNotInitialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(kStubLibrary == CUDA_ERROR_STUB_LIBRARY);
static_assert(kSystemDriverMismatch == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
static_assert(kUnknownError == CUDA_ERROR_UNKNOWN);

}  // namespace
