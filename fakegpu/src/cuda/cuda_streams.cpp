// CUDA driver API: streams, events, captures and kernels.
#include "cuda/cuda.hpp"

using namespace fakegpu;

extern "C" {

int cuStreamCreate(Handle* stream, unsigned flags) {
  return call(kCuda, "cuStreamCreate", kPlain, stream_create, stream, flags, 0);
}

int cuStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return call(kCuda, "cuStreamCreateWithPriority", kPlain, stream_create, stream, flags, priority);
}

int cuStreamDestroy_v2(Handle stream) {
  return call(kCuda, "cuStreamDestroy", kReleases | kInContext, stream_destroy, stream);
}

int cuStreamSynchronize(Handle stream) {
  return call(kCuda, "cuStreamSynchronize", kBlocks | kInContext, stream_synchronize, stream);
}

int cuStreamQuery(Handle stream) {
  return call(kCuda, "cuStreamQuery", kImmediate | kInContext, stream_query, stream);
}

int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  return call(kCuda, "cuStreamWaitEvent", kInContext, stream_wait_event, stream, event, flags);
}

int cuStreamGetCtx(Handle stream, Handle* context) {
  return call(
      kCuda, "cuStreamGetCtx", kImmediate | kInContext,
      with(find_stream, stream, [&](Call&, Stream& found) { *context = found.context->handle; }));
}

int cuStreamGetDevice(Handle stream, int* device) {
  return call(kCuda, "cuStreamGetDevice", kImmediate | kInContext, stream_device, stream, device);
}

int cuStreamGetFlags(Handle stream, unsigned* flags) {
  return call(kCuda, "cuStreamGetFlags", kImmediate | kInContext,
              with(find_stream, stream, [&](Call&, Stream& found) { *flags = found.flags; }));
}

int cuStreamGetPriority(Handle stream, int* priority) {
  return call(kCuda, "cuStreamGetPriority", kImmediate | kInContext,
              with(find_stream, stream, [&](Call&, Stream& found) { *priority = found.priority; }));
}

int cuStreamGetId(Handle stream, std::uint64_t* id) {
  return call(kCuda, "cuStreamGetId", kImmediate,
              with(find_stream, stream, [&](Call&, Stream& found) { *id = found.component; }));
}

int cuIpcGetEventHandle(EventHandle* out, Handle event) {
  return call(kCuda, "cuIpcGetEventHandle", kPlain, event_export, out, event);
}

int cuIpcOpenEventHandle(Handle* event, EventHandle from) {
  return call(kCuda, "cuIpcOpenEventHandle", kPlain,
              [&](Call& at) { return event_open(at, event, from); });
}

int cuStreamIsCapturing(Handle stream, int* status) {
  return call(kCuda, "cuStreamIsCapturing", kImmediate, stream_is_capturing, stream, status);
}

int cuStreamGetCaptureInfo(Handle stream, int* status, std::uint64_t* id) {
  return call(kCuda, "cuStreamGetCaptureInfo", kImmediate, stream_capture_info, stream, status, id);
}

int cuStreamGetCaptureInfo_v2(Handle stream, int* status, std::uint64_t* id, Handle* graph,
                              const Handle** dependencies, std::size_t* count) {
  return call(kCuda, "cuStreamGetCaptureInfo_v2", kImmediate, [&](Call& at) {
    if (graph != nullptr) *graph = 0;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (count != nullptr) *count = 0;
    return stream_capture_info(at, stream, status, id);
  });
}

int cuStreamGetCaptureInfo_v3(Handle stream, int* status, std::uint64_t* id, Handle* graph,
                              const Handle** dependencies, const void** edges, std::size_t* count) {
  return call(kCuda, "cuStreamGetCaptureInfo_v3", kImmediate, [&](Call& at) {
    if (graph != nullptr) *graph = 0;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = 0;
    return stream_capture_info(at, stream, status, id);
  });
}

int cuStreamBeginCapture_v2(Handle stream, int mode) {
  return call(kCuda, "cuStreamBeginCapture", kPlain, stream_begin_capture, stream, mode);
}

int cuStreamEndCapture(Handle stream, Handle* graph) {
  return call(kCuda, "cuStreamEndCapture", kPlain, stream_end_capture, stream, graph);
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  return call(kCuda, "cuThreadExchangeStreamCaptureMode", kImmediate, exchange_capture_mode, mode);
}

int cuGraphInstantiateWithFlags(Handle* executable, Handle graph, unsigned long long) {
  return call(kCuda, "cuGraphInstantiate", kPlain, graph_instantiate, executable, graph);
}

int cuGraphLaunch(Handle executable, Handle stream) {
  return call(kCuda, "cuGraphLaunch", kPlain, graph_launch, executable, stream);
}

int cuGraphExecDestroy(Handle executable) {
  return call(kCuda, "cuGraphExecDestroy", kReleases, graph_destroy, executable);
}

int cuGraphDestroy(Handle graph) {
  return call(kCuda, "cuGraphDestroy", kReleases, graph_destroy, graph);
}

int cuEventCreate(Handle* event, unsigned flags) {
  return call(kCuda, "cuEventCreate", kPlain, event_create, event, flags);
}

int cuEventDestroy_v2(Handle event) {
  return call(kCuda, "cuEventDestroy", kReleases | kInContext, event_destroy, event);
}

int cuEventRecord(Handle event, Handle stream) {
  return call(kCuda, "cuEventRecord", kInContext, event_record, event, stream);
}

int cuEventRecordWithFlags(Handle event, Handle stream, unsigned) {
  return call(kCuda, "cuEventRecordWithFlags", kInContext, event_record, event, stream);
}

int cuEventQuery(Handle event) {
  return call(kCuda, "cuEventQuery", kImmediate, event_query, event);
}

int cuEventSynchronize(Handle event) {
  return call(kCuda, "cuEventSynchronize", kBlocks | kInContext, event_synchronize, event);
}

int cuEventElapsedTime(float* milliseconds, Handle start, Handle end) {
  return call(kCuda, "cuEventElapsedTime", kImmediate | kInContext, event_elapsed, milliseconds,
              start, end);
}

int cuEventElapsedTime_v2(float* milliseconds, Handle start, Handle end) {
  return cuEventElapsedTime(milliseconds, start, end);
}

int cuModuleLoadData(Handle* module, const void* image) {
  return call(kCuda, "cuModuleLoadData", kBlocks | kUnsafe, module_load, module, image);
}

int cuModuleLoadDataEx(Handle* module, const void* image, unsigned, int*, void**) {
  return call(kCuda, "cuModuleLoadDataEx", kBlocks | kUnsafe, module_load, module, image);
}

int cuModuleUnload(Handle module) {
  return call(kCuda, "cuModuleUnload", kBlocks | kReleases | kInContext, module_unload, module);
}

int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  return call(kCuda, "cuModuleGetFunction", kInContext, module_function, function, module, name);
}

int cuLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void** parameters, void** extra) {
  return call(kCuda, "cuLaunchKernel", kInContext, [&](Call& at) {
    return launch(at, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                  stream, parameters, extra);
  });
}

int cuLaunchHostFunc(Handle stream, void (*function)(void*), void* data) {
  return call(kCuda, "cuLaunchHostFunc", kInContext, launch_host, stream, function, data);
}

}  // extern "C"

Symbols fakegpu::stream_symbols() {
  return {streamed<cuStreamSynchronize>("cuStreamSynchronize", 2000),
          streamed<cuStreamQuery>("cuStreamQuery", 2000),
          streamed<cuStreamWaitEvent>("cuStreamWaitEvent", 3020),
          streamed<cuStreamGetCtx>("cuStreamGetCtx", 9020),
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
          plain<cuGraphInstantiateWithFlags>("cuGraphInstantiate", 12000),
          streamed<cuGraphLaunch>("cuGraphLaunch", 10000),
          streamed<cuEventRecord>("cuEventRecord", 2000),
          streamed<cuEventRecordWithFlags>("cuEventRecordWithFlags", 11010),
          streamed<cuLaunchKernel>("cuLaunchKernel", 4000),
          streamed<cuLaunchHostFunc>("cuLaunchHostFunc", 10000)};
}
