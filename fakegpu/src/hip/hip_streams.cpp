// HIP API: streams, events, captures and kernels.
#include "machine/driver.hpp"

using namespace fakegpu;

extern "C" {

int hipStreamCreate(Handle* stream) {
  return call(kHip, "hipStreamCreate", kPlain, stream_create, stream, 0, 0);
}

int hipStreamCreateWithFlags(Handle* stream, unsigned flags) {
  return call(kHip, "hipStreamCreateWithFlags", kPlain, stream_create, stream, flags, 0);
}

int hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(kHip, "hipDeviceGetStreamPriorityRange", kImmediate, [&](Call&) -> int {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
    return kSuccess;
  });
}

int hipGetStreamDeviceId(Handle stream) {
  int device = -1;
  call(kHip, "hipGetStreamDeviceId", kImmediate, stream_device, stream, &device);
  return device;
}

int hipStreamGetCaptureInfo(Handle stream, int* status, unsigned long long* id) {
  return call(kHip, "hipStreamGetCaptureInfo", kImmediate, [&](Call& at) {
    std::uint64_t number = 0;
    const int code = stream_capture_info(at, stream, status, &number);
    if (id != nullptr) *id = number;
    return code;
  });
}

int hipGraphInstantiate(Handle* executable, Handle graph, Handle*, char*, std::size_t) {
  return call(kHip, "hipGraphInstantiate", kPlain, graph_instantiate, executable, graph);
}

int hipEventCreate(Handle* event) {
  return call(kHip, "hipEventCreate", kPlain, event_create, event, 0);
}

int hipEventCreateWithFlags(Handle* event, unsigned flags) {
  return call(kHip, "hipEventCreateWithFlags", kPlain, event_create, event, flags);
}

int hipIpcGetEventHandle(EventHandle* out, Handle event) {
  return call(kHip, "hipIpcGetEventHandle", kPlain, event_export, out, event);
}

int hipIpcOpenEventHandle(Handle* event, EventHandle from) {
  return call(kHip, "hipIpcOpenEventHandle", kPlain,
              [&](Call& at) { return event_open(at, event, from); });
}

int hipStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return call(kHip, "hipStreamCreateWithPriority", kPlain, stream_create, stream, flags, priority);
}

int hipStreamDestroy(Handle stream) {
  return call(kHip, "hipStreamDestroy", kReleases, stream_destroy, stream);
}

int hipStreamSynchronize(Handle stream) {
  return call(kHip, "hipStreamSynchronize", kBlocks, stream_synchronize, stream);
}

int hipStreamQuery(Handle stream) {
  return call(kHip, "hipStreamQuery", kImmediate, stream_query, stream);
}

int hipStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  return call(kHip, "hipStreamWaitEvent", kPlain, stream_wait_event, stream, event, flags);
}

int hipStreamGetDevice(Handle stream, int* device) {
  return call(kHip, "hipStreamGetDevice", kImmediate, stream_device, stream, device);
}

int hipStreamGetFlags(Handle stream, unsigned* flags) {
  return call(kHip, "hipStreamGetFlags", kImmediate,
              with(find_stream, stream, [&](Call&, Stream& found) { *flags = found.flags; }));
}

int hipStreamIsCapturing(Handle stream, int* status) {
  return call(kHip, "hipStreamIsCapturing", kImmediate, stream_is_capturing, stream, status);
}

int hipStreamBeginCapture(Handle stream, int mode) {
  return call(kHip, "hipStreamBeginCapture", kPlain, stream_begin_capture, stream, mode);
}

int hipStreamEndCapture(Handle stream, Handle* graph) {
  return call(kHip, "hipStreamEndCapture", kPlain, stream_end_capture, stream, graph);
}

int hipThreadExchangeStreamCaptureMode(int* mode) {
  return call(kHip, "hipThreadExchangeStreamCaptureMode", kImmediate, exchange_capture_mode, mode);
}

int hipGraphLaunch(Handle executable, Handle stream) {
  return call(kHip, "hipGraphLaunch", kPlain, graph_launch, executable, stream);
}

int hipGraphExecDestroy(Handle executable) {
  return call(kHip, "hipGraphExecDestroy", kReleases, graph_destroy, executable);
}

int hipGraphDestroy(Handle graph) {
  return call(kHip, "hipGraphDestroy", kReleases, graph_destroy, graph);
}

int hipEventDestroy(Handle event) {
  return call(kHip, "hipEventDestroy", kReleases, event_destroy, event);
}

int hipEventRecord(Handle event, Handle stream) {
  return call(kHip, "hipEventRecord", kPlain, event_record, event, stream);
}

int hipEventRecordWithFlags(Handle event, Handle stream, unsigned) {
  return call(kHip, "hipEventRecordWithFlags", kPlain, event_record, event, stream);
}

int hipEventQuery(Handle event) {
  return call(kHip, "hipEventQuery", kImmediate, event_query, event);
}

int hipEventSynchronize(Handle event) {
  return call(kHip, "hipEventSynchronize", kBlocks, event_synchronize, event);
}

int hipEventElapsedTime(float* milliseconds, Handle start, Handle end) {
  return call(kHip, "hipEventElapsedTime", kImmediate, event_elapsed, milliseconds, start, end);
}

int hipModuleLoadData(Handle* module, const void* image) {
  return call(kHip, "hipModuleLoadData", kBlocks | kUnsafe, module_load, module, image);
}

int hipModuleUnload(Handle module) {
  return call(kHip, "hipModuleUnload", kBlocks | kReleases, module_unload, module);
}

int hipModuleGetFunction(Handle* function, Handle module, const char* name) {
  return call(kHip, "hipModuleGetFunction", kPlain, module_function, function, module, name);
}

int hipModuleLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, Handle stream, void** parameters, void** extra) {
  return call(kHip, "hipModuleLaunchKernel", kPlain, [&](Call& at) {
    return launch(at, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                  stream, parameters, extra);
  });
}

int hipLaunchHostFunc(Handle stream, void (*function)(void*), void* data) {
  return call(kHip, "hipLaunchHostFunc", kPlain, launch_host, stream, function, data);
}

}  // extern "C"
