// The functions of the HIP API that the simulated libamdhip64.so exports.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/cuda.hpp"  // HIP's copy and pool structs are identical
#include "memory/pointers.hpp"

extern "C" {

using fakegpu::HipPointerAttributes;

// Initialisation and devices.
int hipInit(unsigned flags);
int hipRuntimeGetVersion(int* version);
int hipDriverGetVersion(int* version);
const char* hipGetErrorName(int code);
const char* hipGetErrorString(int code);
int hipGetDeviceCount(int* count);
int hipGetDevice(int* device);
int hipSetDevice(int device);
int hipDeviceGet(int* device, int ordinal);
int hipDeviceGetAttribute(int* value, int attribute, int device);
int hipDeviceGetName(char* name, int room, int device);
int hipDeviceGetPCIBusId(char* text, int room, int device);
int hipDeviceTotalMem(std::size_t* bytes, int device);
int hipDeviceSynchronize();
int hipDeviceCanAccessPeer(int* yes, int device, int peer);
int hipDeviceEnablePeerAccess(int peer, unsigned flags);
int hipDeviceDisablePeerAccess(int peer);

// Memory.
int hipMemGetInfo(std::size_t* free, std::size_t* total);
int hipMalloc(void** pointer, std::size_t bytes);
int hipFree(void* pointer);
int hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags);
int hipHostAlloc(void** pointer, std::size_t bytes, unsigned flags);
int hipHostFree(void* pointer);
int hipFreeHost(void* pointer);
int hipHostRegister(void* pointer, std::size_t bytes, unsigned flags);
int hipHostUnregister(void* pointer);
int hipHostGetDevicePointer(void** device, void* pointer, unsigned flags);
int hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags);
int hipStreamAttachMemAsync(Handle stream, void* pointer, std::size_t bytes, unsigned flags);
int hipMallocAsync(void** pointer, std::size_t bytes, Handle stream);
int hipMallocFromPoolAsync(void** pointer, std::size_t bytes, Handle pool, Handle stream);
int hipFreeAsync(void* pointer, Handle stream);
int hipMemPoolCreate(Handle* pool, const CudaMemPoolProps* props);
int hipMemPoolDestroy(Handle pool);
int hipMemPoolTrimTo(Handle pool, std::size_t keep);
int hipMemPoolSetAttribute(Handle pool, int attribute, void* value);
int hipDeviceGetDefaultMemPool(Handle* pool, int device);
int hipMemGetAddressRange(Handle* base, std::size_t* bytes, Handle pointer);
int hipPointerGetAttribute(void* data, int attribute, Handle pointer);
int hipPointerGetAttributes(HipPointerAttributes* out, const void* pointer);

// Copies and fills.
int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind);
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, Handle stream);
int hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind, Handle stream);
int hipMemcpyHtoD(Handle to, void* from, std::size_t bytes);
int hipMemcpyDtoH(void* to, Handle from, std::size_t bytes);
int hipMemcpyHtoDAsync(Handle to, const void* from, std::size_t bytes, Handle stream);
int hipMemcpyDtoHAsync(void* to, Handle from, std::size_t bytes, Handle stream);
int hipMemcpyDtoDAsync(Handle to, Handle from, std::size_t bytes, Handle stream);
int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                       std::size_t bytes, Handle stream);
int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                     std::size_t width, std::size_t height, int kind, Handle stream);
int hipMemset(void* pointer, int value, std::size_t bytes);
int hipMemsetAsync(void* pointer, int value, std::size_t bytes, Handle stream);
int hipMemsetD8Async(Handle pointer, unsigned char value, std::size_t count, Handle stream);
int hipMemsetD16Async(Handle pointer, unsigned short value, std::size_t count, Handle stream);
int hipMemsetD32Async(Handle pointer, int value, std::size_t count, Handle stream);

// Streams, events, captures.
int hipStreamCreate(Handle* stream);
int hipStreamCreateWithFlags(Handle* stream, unsigned flags);
int hipStreamCreateWithPriority(Handle* stream, unsigned flags, int priority);
int hipDeviceGetStreamPriorityRange(int* least, int* greatest);
int hipStreamDestroy(Handle stream);
int hipStreamSynchronize(Handle stream);
int hipStreamQuery(Handle stream);
int hipStreamWaitEvent(Handle stream, Handle event, unsigned flags);
int hipStreamGetFlags(Handle stream, unsigned* flags);
int hipStreamGetDevice(Handle stream, int* device);
int hipGetStreamDeviceId(Handle stream);
int hipStreamIsCapturing(Handle stream, int* status);
int hipStreamGetCaptureInfo(Handle stream, int* status, unsigned long long* id);
int hipStreamBeginCapture(Handle stream, int mode);
int hipStreamEndCapture(Handle stream, Handle* graph);
int hipThreadExchangeStreamCaptureMode(int* mode);
int hipGraphInstantiate(Handle* executable, Handle graph, Handle* node, char* log,
                        std::size_t room);
int hipGraphLaunch(Handle executable, Handle stream);
int hipGraphExecDestroy(Handle executable);
int hipGraphDestroy(Handle graph);
int hipEventCreate(Handle* event);
int hipEventCreateWithFlags(Handle* event, unsigned flags);
int hipEventDestroy(Handle event);
int hipEventRecord(Handle event, Handle stream);
int hipEventRecordWithFlags(Handle event, Handle stream, unsigned flags);
int hipEventQuery(Handle event);
int hipEventSynchronize(Handle event);
int hipEventElapsedTime(float* milliseconds, Handle start, Handle end);

// Kernels.
int hipModuleLoadData(Handle* module, const void* image);
int hipModuleUnload(Handle module);
int hipModuleGetFunction(Handle* function, Handle module, const char* name);
int hipModuleLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, Handle stream, void** parameters, void** extra);
int hipLaunchHostFunc(Handle stream, void (*function)(void*), void* data);
int hipGetProcAddress(const char* name, void** function, int version, std::uint64_t flags,
                      int* status);
}
