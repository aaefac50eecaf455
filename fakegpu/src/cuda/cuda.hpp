// The functions of the CUDA driver API that the simulated libcuda.so.1 exports.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/driver.hpp"

namespace fakegpu {

struct CudaMemPoolProps {
  int allocation_type;
  int handle_types;
  int location_type;
  int location_id;
  void* security;
  std::size_t max_bytes;
  unsigned char reserved[56];
};
static_assert(sizeof(CudaMemPoolProps) == 88);

struct CudaMemAccessDesc {
  int location_type;
  int location_id;
  int flags;
};

struct CudaMemcpy2D {  // CUDA_MEMCPY2D_v2
  std::size_t from_x, from_y;
  int from_type;
  const void* from_host;
  Handle from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  int to_type;
  void* to_host;
  Handle to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};
static_assert(sizeof(CudaMemcpy2D) == 128);

}  // namespace fakegpu

extern "C" {

using fakegpu::CudaMemAccessDesc;
using fakegpu::CudaMemcpy2D;
using fakegpu::CudaMemPoolProps;
using fakegpu::Handle;

// Initialisation, devices, contexts.
int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);
int cuGetErrorName(int code, const char** name);
int cuGetErrorString(int code, const char** text);
int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags);
int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                        int* status);
int cuDeviceGetCount(int* count);
int cuDeviceGet(int* device, int ordinal);
int cuDeviceGetName(char* name, int room, int device);
int cuDeviceGetAttribute(int* value, int attribute, int device);
int cuDeviceTotalMem_v2(std::size_t* bytes, int device);
int cuDeviceGetPCIBusId(char* text, int room, int device);
int cuDeviceGetUuid(void* uuid, int device);
int cuDeviceGetUuid_v2(void* uuid, int device);
int cuDeviceCanAccessPeer(int* yes, int device, int peer);
int cuDevicePrimaryCtxRetain(Handle* context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active);
int cuCtxCreate_v2(Handle* context, unsigned flags, int device);
int cuCtxDestroy_v2(Handle context);
int cuCtxPushCurrent_v2(Handle context);
int cuCtxPopCurrent_v2(Handle* context);
int cuCtxSetCurrent(Handle context);
int cuCtxGetCurrent(Handle* context);
int cuCtxGetDevice(int* device);
int cuCtxGetDevice_v2(int* device, Handle context);
int cuCtxGetStreamPriorityRange(int* least, int* greatest);
int cuCtxSynchronize();
int cuCtxSynchronize_v2(Handle context);
int cuCtxEnablePeerAccess(Handle context, unsigned flags);
int cuCtxDisablePeerAccess(Handle context);
int cuCtxGetId(Handle context, unsigned long long* id);
int cuCtxRecordEvent(Handle context, Handle event);
int cuCtxWaitEvent(Handle context, Handle event);
int cuDeviceGetDevResource(int device, int* resource, int type);
int cuDevResourceGenerateDesc(Handle* description, const int* resources, unsigned count);
int cuGreenCtxCreate(Handle* green, Handle description, int device, unsigned flags);
int cuGreenCtxDestroy(Handle green);
int cuCtxFromGreenCtx(Handle* context, Handle green);
int cuGreenCtxStreamCreate(Handle* stream, Handle green, unsigned flags, int priority);
int cuGreenCtxRecordEvent(Handle green, Handle event);
int cuGreenCtxWaitEvent(Handle green, Handle event);

// Memory.
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total);
int cuMemAlloc_v2(Handle* pointer, std::size_t bytes);
int cuMemFree_v2(Handle pointer);
int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags);
int cuMemAllocHost_v2(void** pointer, std::size_t bytes);
int cuMemFreeHost(void* pointer);
int cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags);
int cuMemHostUnregister(void* pointer);
int cuMemHostGetDevicePointer_v2(Handle* device, void* pointer, unsigned flags);
int cuMemAllocManaged(Handle* pointer, std::size_t bytes, unsigned flags);
int cuStreamAttachMemAsync(Handle stream, Handle pointer, std::size_t bytes, unsigned flags);
int cuMemGetAddressRange_v2(Handle* base, std::size_t* bytes, Handle pointer);
int cuMemAllocAsync(Handle* pointer, std::size_t bytes, Handle stream);
int cuMemAllocFromPoolAsync(Handle* pointer, std::size_t bytes, Handle pool, Handle stream);
int cuMemFreeAsync(Handle pointer, Handle stream);
int cuMemPoolCreate(Handle* pool, const CudaMemPoolProps* props);
int cuMemPoolDestroy(Handle pool);
int cuMemPoolTrimTo(Handle pool, std::size_t keep);
int cuMemPoolSetAttribute(Handle pool, int attribute, void* value);
int cuMemPoolGetAttribute(Handle pool, int attribute, void* value);
int cuMemPoolSetAccess(Handle pool, const CudaMemAccessDesc* access, std::size_t count);
int cuDeviceGetDefaultMemPool(Handle* pool, int device);
int cuDeviceGetMemPool(Handle* pool, int device);
int cuDeviceSetMemPool(int device, Handle pool);
int cuPointerGetAttribute(void* data, int attribute, Handle pointer);
int cuPointerGetAttributes(unsigned count, int* attributes, void** data, Handle pointer);

// Copies and fills.
int cuMemcpy(Handle to, Handle from, std::size_t bytes);
int cuMemcpyAsync(Handle to, Handle from, std::size_t bytes, Handle stream);
int cuMemcpyHtoD_v2(Handle to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, Handle from, std::size_t bytes);
int cuMemcpyDtoD_v2(Handle to, Handle from, std::size_t bytes);
int cuMemcpyHtoDAsync_v2(Handle to, const void* from, std::size_t bytes, Handle stream);
int cuMemcpyDtoHAsync_v2(void* to, Handle from, std::size_t bytes, Handle stream);
int cuMemcpyDtoDAsync_v2(Handle to, Handle from, std::size_t bytes, Handle stream);
int cuMemcpyPeer(Handle to, Handle to_context, Handle from, Handle from_context, std::size_t bytes);
int cuMemcpyPeerAsync(Handle to, Handle to_context, Handle from, Handle from_context,
                      std::size_t bytes, Handle stream);
int cuMemcpy2D_v2(const CudaMemcpy2D* copy);
int cuMemcpy2DUnaligned_v2(const CudaMemcpy2D* copy);
int cuMemcpy2DAsync_v2(const CudaMemcpy2D* copy, Handle stream);
int cuMemsetD8_v2(Handle pointer, unsigned char value, std::size_t count);
int cuMemsetD8Async(Handle pointer, unsigned char value, std::size_t count, Handle stream);
int cuMemsetD16Async(Handle pointer, unsigned short value, std::size_t count, Handle stream);
int cuMemsetD32Async(Handle pointer, unsigned value, std::size_t count, Handle stream);

// Streams, events, captures.
int cuStreamCreate(Handle* stream, unsigned flags);
int cuStreamCreateWithPriority(Handle* stream, unsigned flags, int priority);
int cuStreamDestroy_v2(Handle stream);
int cuStreamSynchronize(Handle stream);
int cuStreamQuery(Handle stream);
int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags);
int cuStreamGetCtx(Handle stream, Handle* context);
int cuStreamGetCtx_v2(Handle stream, Handle* context, Handle* green);
int cuStreamGetGreenCtx(Handle stream, Handle* green);
int cuStreamGetDevice(Handle stream, int* device);
int cuStreamGetFlags(Handle stream, unsigned* flags);
int cuStreamGetPriority(Handle stream, int* priority);
int cuStreamGetId(Handle stream, std::uint64_t* id);
int cuStreamIsCapturing(Handle stream, int* status);
int cuStreamGetCaptureInfo(Handle stream, int* status, std::uint64_t* id);
int cuStreamGetCaptureInfo_v2(Handle stream, int* status, std::uint64_t* id, Handle* graph,
                              const Handle** dependencies, std::size_t* count);
int cuStreamGetCaptureInfo_v3(Handle stream, int* status, std::uint64_t* id, Handle* graph,
                              const Handle** dependencies, const void** edges, std::size_t* count);
int cuStreamBeginCapture_v2(Handle stream, int mode);
int cuStreamEndCapture(Handle stream, Handle* graph);
int cuThreadExchangeStreamCaptureMode(int* mode);
int cuGraphInstantiateWithFlags(Handle* executable, Handle graph, unsigned long long flags);
int cuGraphLaunch(Handle executable, Handle stream);
int cuGraphExecDestroy(Handle executable);
int cuGraphDestroy(Handle graph);
int cuEventCreate(Handle* event, unsigned flags);
int cuEventDestroy_v2(Handle event);
int cuEventRecord(Handle event, Handle stream);
int cuEventRecordWithFlags(Handle event, Handle stream, unsigned flags);
int cuEventQuery(Handle event);
int cuEventSynchronize(Handle event);
int cuEventElapsedTime(float* milliseconds, Handle start, Handle end);
int cuEventElapsedTime_v2(float* milliseconds, Handle start, Handle end);

// Kernels.
int cuModuleLoadData(Handle* module, const void* image);
int cuModuleLoadDataEx(Handle* module, const void* image, unsigned count, int* options,
                       void** values);
int cuModuleUnload(Handle module);
int cuModuleGetFunction(Handle* function, Handle module, const char* name);
int cuLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void** parameters, void** extra);
int cuLaunchHostFunc(Handle stream, void (*function)(void*), void* data);
}
