// HIP API: streams, events, captures and kernels.
#include "hip/hip.hpp"

using namespace fakegpu;

namespace {

constexpr Vendor kHip = Vendor::kHip;

}  // namespace

int hipStreamCreate(Handle* stream) {
  return call(kHip, "hipStreamCreate", kPlain,
              [&](Call& at) { return stream_create(at, stream, 0, 0); });
}

int hipStreamCreateWithFlags(Handle* stream, unsigned flags) {
  return call(kHip, "hipStreamCreateWithFlags", kPlain,
              [&](Call& at) { return stream_create(at, stream, flags, 0); });
}

int hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(kHip, "hipDeviceGetStreamPriorityRange", kPlain, [&](Call&) -> int {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
    return kSuccess;
  });
}

int hipGetStreamDeviceId(Handle stream) {
  int device = -1;
  call(kHip, "hipGetStreamDeviceId", kPlain,
       [&](Call& at) { return stream_device(at, stream, &device); });
  return device;
}

int hipStreamGetCaptureInfo(Handle stream, int* status, unsigned long long* id) {
  return call(kHip, "hipStreamGetCaptureInfo", kPlain, [&](Call& at) {
    std::uint64_t number = 0;
    const int code = stream_capture_info(at, stream, status, &number);
    if (id != nullptr) *id = number;
    return code;
  });
}

int hipGraphInstantiate(Handle* executable, Handle graph, Handle*, char*, std::size_t) {
  return call(kHip, "hipGraphInstantiate", kPlain,
              [&](Call& at) { return graph_instantiate(at, executable, graph); });
}

int hipEventCreate(Handle* event) {
  return call(kHip, "hipEventCreate", kPlain, [&](Call& at) { return event_create(at, event, 0); });
}

int hipEventCreateWithFlags(Handle* event, unsigned flags) {
  return call(kHip, "hipEventCreateWithFlags", kPlain,
              [&](Call& at) { return event_create(at, event, flags); });
}

int hipStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return call(kHip, "hipStreamCreateWithPriority", kPlain,
              [&](Call& at) { return stream_create(at, stream, flags, priority); });
}

int hipStreamDestroy(Handle stream) {
  return call(kHip, "hipStreamDestroy", kReleases,
              [&](Call& at) { return stream_destroy(at, stream); });
}

int hipStreamSynchronize(Handle stream) {
  return call(kHip, "hipStreamSynchronize", kBlocks,
              [&](Call& at) { return stream_synchronize(at, stream); });
}

int hipStreamQuery(Handle stream) {
  return call(kHip, "hipStreamQuery", kPlain, [&](Call& at) { return stream_query(at, stream); });
}

int hipStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  return call(kHip, "hipStreamWaitEvent", kPlain,
              [&](Call& at) { return stream_wait_event(at, stream, event, flags); });
}

int hipStreamGetDevice(Handle stream, int* device) {
  return call(kHip, "hipStreamGetDevice", kPlain,
              [&](Call& at) { return stream_device(at, stream, device); });
}

int hipStreamGetFlags(Handle stream, unsigned* flags) {
  return call(kHip, "hipStreamGetFlags", kPlain, [&](Call& at) -> int {
    Stream* found = nullptr;
    if (const int code = find_stream(at, stream, found)) return code;
    *flags = found->flags;
    return kSuccess;
  });
}

int hipStreamIsCapturing(Handle stream, int* status) {
  return call(kHip, "hipStreamIsCapturing", kPlain,
              [&](Call& at) { return stream_is_capturing(at, stream, status); });
}

int hipStreamBeginCapture(Handle stream, int mode) {
  return call(kHip, "hipStreamBeginCapture", kPlain,
              [&](Call& at) { return stream_begin_capture(at, stream, mode); });
}

int hipStreamEndCapture(Handle stream, Handle* graph) {
  return call(kHip, "hipStreamEndCapture", kPlain,
              [&](Call& at) { return stream_end_capture(at, stream, graph); });
}

int hipThreadExchangeStreamCaptureMode(int* mode) {
  return call(kHip, "hipThreadExchangeStreamCaptureMode", kPlain,
              [&](Call& at) { return exchange_capture_mode(at, mode); });
}

int hipGraphLaunch(Handle executable, Handle stream) {
  return call(kHip, "hipGraphLaunch", kPlain,
              [&](Call& at) { return graph_launch(at, executable, stream); });
}

int hipGraphExecDestroy(Handle executable) {
  return call(kHip, "hipGraphExecDestroy", kReleases,
              [&](Call& at) { return graph_destroy(at, executable); });
}

int hipGraphDestroy(Handle graph) {
  return call(kHip, "hipGraphDestroy", kReleases,
              [&](Call& at) { return graph_destroy(at, graph); });
}

int hipEventDestroy(Handle event) {
  return call(kHip, "hipEventDestroy", kReleases,
              [&](Call& at) { return event_destroy(at, event); });
}

int hipEventRecord(Handle event, Handle stream) {
  return call(kHip, "hipEventRecord", kPlain,
              [&](Call& at) { return event_record(at, event, stream); });
}

int hipEventRecordWithFlags(Handle event, Handle stream, unsigned) {
  return call(kHip, "hipEventRecordWithFlags", kPlain,
              [&](Call& at) { return event_record(at, event, stream); });
}

int hipEventQuery(Handle event) {
  return call(kHip, "hipEventQuery", kPlain, [&](Call& at) { return event_query(at, event); });
}

int hipEventSynchronize(Handle event) {
  return call(kHip, "hipEventSynchronize", kBlocks,
              [&](Call& at) { return event_synchronize(at, event); });
}

int hipEventElapsedTime(float* milliseconds, Handle start, Handle end) {
  return call(kHip, "hipEventElapsedTime", kPlain,
              [&](Call& at) { return event_elapsed(at, milliseconds, start, end); });
}

int hipModuleLoadData(Handle* module, const void* image) {
  return call(kHip, "hipModuleLoadData", kBlocks | kUnsafe,
              [&](Call& at) { return module_load(at, module, image); });
}

int hipModuleUnload(Handle module) {
  return call(kHip, "hipModuleUnload", kBlocks | kReleases,
              [&](Call& at) { return module_unload(at, module); });
}

int hipModuleGetFunction(Handle* function, Handle module, const char* name) {
  return call(kHip, "hipModuleGetFunction", kPlain,
              [&](Call& at) { return module_function(at, function, module, name); });
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
  return call(kHip, "hipLaunchHostFunc", kPlain,
              [&](Call& at) { return launch_host(at, stream, function, data); });
}
