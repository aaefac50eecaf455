// CUDA driver API: streams, events, captures and kernels.
#include "cuda/cuda.hpp"

using namespace fakegpu;

namespace {

constexpr Vendor kCuda = Vendor::kCuda;

}  // namespace

int cuStreamCreate(Handle* stream, unsigned flags) {
  return call(kCuda, "cuStreamCreate", kPlain,
              [&](Call& at) { return stream_create(at, stream, flags, 0); });
}

int cuStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return call(kCuda, "cuStreamCreateWithPriority", kPlain,
              [&](Call& at) { return stream_create(at, stream, flags, priority); });
}

int cuStreamDestroy_v2(Handle stream) {
  return call(kCuda, "cuStreamDestroy", kReleases,
              [&](Call& at) { return stream_destroy(at, stream); });
}

int cuStreamSynchronize(Handle stream) {
  return call(kCuda, "cuStreamSynchronize", kBlocks,
              [&](Call& at) { return stream_synchronize(at, stream); });
}

int cuStreamQuery(Handle stream) {
  return call(kCuda, "cuStreamQuery", kPlain, [&](Call& at) { return stream_query(at, stream); });
}

int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  return call(kCuda, "cuStreamWaitEvent", kPlain,
              [&](Call& at) { return stream_wait_event(at, stream, event, flags); });
}

int cuStreamGetCtx(Handle stream, Handle* context) {
  return call(kCuda, "cuStreamGetCtx", kPlain, [&](Call& at) -> int {
    Stream* found = nullptr;
    if (const int code = find_stream(at, stream, found)) return code;
    *context = found->context->handle;
    return kSuccess;
  });
}

int cuStreamGetDevice(Handle stream, int* device) {
  return call(kCuda, "cuStreamGetDevice", kPlain,
              [&](Call& at) { return stream_device(at, stream, device); });
}

int cuStreamGetFlags(Handle stream, unsigned* flags) {
  return call(kCuda, "cuStreamGetFlags", kPlain, [&](Call& at) -> int {
    Stream* found = nullptr;
    if (const int code = find_stream(at, stream, found)) return code;
    *flags = found->flags;
    return kSuccess;
  });
}

int cuStreamGetPriority(Handle stream, int* priority) {
  return call(kCuda, "cuStreamGetPriority", kPlain, [&](Call& at) -> int {
    Stream* found = nullptr;
    if (const int code = find_stream(at, stream, found)) return code;
    *priority = found->priority;
    return kSuccess;
  });
}

int cuStreamGetId(Handle stream, std::uint64_t* id) {
  return call(kCuda, "cuStreamGetId", kPlain, [&](Call& at) -> int {
    Stream* found = nullptr;
    if (const int code = find_stream(at, stream, found)) return code;
    *id = found->component;
    return kSuccess;
  });
}

int cuStreamIsCapturing(Handle stream, int* status) {
  return call(kCuda, "cuStreamIsCapturing", kPlain,
              [&](Call& at) { return stream_is_capturing(at, stream, status); });
}

int cuStreamGetCaptureInfo(Handle stream, int* status, std::uint64_t* id) {
  return call(kCuda, "cuStreamGetCaptureInfo", kPlain,
              [&](Call& at) { return stream_capture_info(at, stream, status, id); });
}

int cuStreamGetCaptureInfo_v2(Handle stream, int* status, std::uint64_t* id, Handle* graph,
                              const Handle** dependencies, std::size_t* count) {
  return call(kCuda, "cuStreamGetCaptureInfo_v2", kPlain, [&](Call& at) {
    if (graph != nullptr) *graph = 0;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (count != nullptr) *count = 0;
    return stream_capture_info(at, stream, status, id);
  });
}

int cuStreamGetCaptureInfo_v3(Handle stream, int* status, std::uint64_t* id, Handle* graph,
                              const Handle** dependencies, const void** edges, std::size_t* count) {
  return call(kCuda, "cuStreamGetCaptureInfo_v3", kPlain, [&](Call& at) {
    if (graph != nullptr) *graph = 0;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = 0;
    return stream_capture_info(at, stream, status, id);
  });
}

int cuStreamBeginCapture_v2(Handle stream, int mode) {
  return call(kCuda, "cuStreamBeginCapture", kPlain,
              [&](Call& at) { return stream_begin_capture(at, stream, mode); });
}

int cuStreamEndCapture(Handle stream, Handle* graph) {
  return call(kCuda, "cuStreamEndCapture", kPlain,
              [&](Call& at) { return stream_end_capture(at, stream, graph); });
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  return call(kCuda, "cuThreadExchangeStreamCaptureMode", kPlain,
              [&](Call& at) { return exchange_capture_mode(at, mode); });
}

int cuGraphInstantiateWithFlags(Handle* executable, Handle graph, unsigned long long) {
  return call(kCuda, "cuGraphInstantiate", kPlain,
              [&](Call& at) { return graph_instantiate(at, executable, graph); });
}

int cuGraphLaunch(Handle executable, Handle stream) {
  return call(kCuda, "cuGraphLaunch", kPlain,
              [&](Call& at) { return graph_launch(at, executable, stream); });
}

int cuGraphExecDestroy(Handle executable) {
  return call(kCuda, "cuGraphExecDestroy", kReleases,
              [&](Call& at) { return graph_destroy(at, executable); });
}

int cuGraphDestroy(Handle graph) {
  return call(kCuda, "cuGraphDestroy", kReleases,
              [&](Call& at) { return graph_destroy(at, graph); });
}

int cuEventCreate(Handle* event, unsigned flags) {
  return call(kCuda, "cuEventCreate", kPlain,
              [&](Call& at) { return event_create(at, event, flags); });
}

int cuEventDestroy_v2(Handle event) {
  return call(kCuda, "cuEventDestroy", kReleases,
              [&](Call& at) { return event_destroy(at, event); });
}

int cuEventRecord(Handle event, Handle stream) {
  return call(kCuda, "cuEventRecord", kPlain,
              [&](Call& at) { return event_record(at, event, stream); });
}

int cuEventRecordWithFlags(Handle event, Handle stream, unsigned) {
  return call(kCuda, "cuEventRecordWithFlags", kPlain,
              [&](Call& at) { return event_record(at, event, stream); });
}

int cuEventQuery(Handle event) {
  return call(kCuda, "cuEventQuery", kPlain, [&](Call& at) { return event_query(at, event); });
}

int cuEventSynchronize(Handle event) {
  return call(kCuda, "cuEventSynchronize", kBlocks,
              [&](Call& at) { return event_synchronize(at, event); });
}

int cuEventElapsedTime(float* milliseconds, Handle start, Handle end) {
  return call(kCuda, "cuEventElapsedTime", kPlain,
              [&](Call& at) { return event_elapsed(at, milliseconds, start, end); });
}

int cuEventElapsedTime_v2(float* milliseconds, Handle start, Handle end) {
  return cuEventElapsedTime(milliseconds, start, end);
}

int cuModuleLoadData(Handle* module, const void* image) {
  return call(kCuda, "cuModuleLoadData", kBlocks | kUnsafe,
              [&](Call& at) { return module_load(at, module, image); });
}

int cuModuleLoadDataEx(Handle* module, const void* image, unsigned, int*, void**) {
  return call(kCuda, "cuModuleLoadDataEx", kBlocks | kUnsafe,
              [&](Call& at) { return module_load(at, module, image); });
}

int cuModuleUnload(Handle module) {
  return call(kCuda, "cuModuleUnload", kBlocks | kReleases,
              [&](Call& at) { return module_unload(at, module); });
}

int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  return call(kCuda, "cuModuleGetFunction", kPlain,
              [&](Call& at) { return module_function(at, function, module, name); });
}

int cuLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void** parameters, void** extra) {
  return call(kCuda, "cuLaunchKernel", kPlain, [&](Call& at) {
    return launch(at, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                  stream, parameters, extra);
  });
}

int cuLaunchHostFunc(Handle stream, void (*function)(void*), void* data) {
  return call(kCuda, "cuLaunchHostFunc", kPlain,
              [&](Call& at) { return launch_host(at, stream, function, data); });
}
