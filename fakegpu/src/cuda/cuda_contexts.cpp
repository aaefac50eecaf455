// CUDA driver API: initialisation, devices and contexts.
#include <cstring>

#include "cuda/cuda.hpp"

using namespace fakegpu;

namespace {

int find_context(Call& at, Handle handle, Context*& context) {
  at.note("context", handle);
  context = at.machine.contexts.find(handle);
  if (context == nullptr || context->device->vendor != kCuda) return kInvalidContext;
  if (context->alive) return kSuccess;
  if (context->primary) return kContextIsDestroyed;
  at.violation("bad-handle", "a context that has been destroyed: drivers abort", 0, handle);
  return kInvalidContext;
}

int find_or_current(Call& at, Handle handle, Context*& context) {
  return handle != 0 ? find_context(at, handle, context) : find_current(at, context);
}

/// The handle of a primary context that has been reset stays valid: the next retain makes it anew.
int find_to_enter(Call& at, Handle handle, Context*& context) {
  const int code = find_context(at, handle, context);
  return code == kContextIsDestroyed ? int{kSuccess} : code;
}

/// "A green context can be current to only one thread at a time."
int make_current(Call& at, Context& context) {
  Thread& thread = at.machine.thread();
  if (context.green_of != nullptr) {
    if (context.times > 0 && context.current_in != thread.id) {
      at.violation("green-context", "a green context is made current in a second thread");
      return kInvalidContext;
    }
    context.current_in = thread.id;
    ++context.times;
  }
  thread.stack.push_back(&context);
  return kSuccess;
}

void leave_current(Call& at) {
  auto& stack = at.machine.thread().stack;
  if (stack.back()->green_of != nullptr) --stack.back()->times;
  stack.pop_back();
}

bool is_active(const Device& device) {
  return device.primary != nullptr && device.primary->alive && device.primary->retained > 0;
}

/// A CUgreenCtx is no CUcontext: it has to be converted.
constexpr Handle kGreen = 32;

int find_green(Call& at, Handle handle, Context*& context) {
  if (const int code = find_context(at, handle - kGreen, context)) return code;
  return context->green_of != nullptr ? kSuccess : kInvalidContext;
}

}  // namespace

extern "C" {

int cuInit(unsigned flags) {
  return call(kCuda, "cuInit", kBlocks | kBeforeInit, [&](Call& at) -> int {
    if (flags != 0) return kInvalidValue;
    if (at.machine.devices(kCuda).empty()) return kNoDevice;
    at.machine.cuda_initialized = true;
    return kSuccess;
  });
}

int cuDriverGetVersion(int* version) {
  return call(kCuda, "cuDriverGetVersion", kBeforeInit | kImmediate, [&](Call& at) -> int {
    if (version == nullptr) return kInvalidValue;
    *version = at.machine.settings.cuda_version;
    return kSuccess;
  });
}

int cuGetErrorName(int code, const char** name) {
  return call(kCuda, "cuGetErrorName", kBeforeInit | kQuiet | kImmediate, [&](Call&) -> int {
    *name = error_name(kCuda, code);
    return *name != nullptr ? kSuccess : kInvalidValue;
  });
}

int cuGetErrorString(int code, const char** text) {
  return call(kCuda, "cuGetErrorString", kBeforeInit | kQuiet | kImmediate, [&](Call&) -> int {
    *text = error_name(kCuda, code);
    return *text != nullptr ? kSuccess : kInvalidValue;
  });
}

int cuDeviceGetCount(int* count) {
  return call(kCuda, "cuDeviceGetCount", kImmediate, [&](Call& at) -> int {
    *count = static_cast<int>(at.machine.devices(kCuda).size());
    return kSuccess;
  });
}

int cuDeviceGet(int* device, int ordinal) {
  return call(kCuda, "cuDeviceGet", kImmediate,
              with(find_device, ordinal, [&](Call&, Device&) { *device = ordinal; }));
}

int cuDeviceGetName(char* name, int room, int device) {
  return call(kCuda, "cuDeviceGetName", kImmediate, device_name, name, room, device);
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return call(kCuda, "cuDeviceGetAttribute", kImmediate, device_attribute, value, attribute,
              device);
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return call(kCuda, "cuDeviceTotalMem", kImmediate,
              with(find_device, device, [&](Call&, Device& found) { *bytes = found.total; }));
}

int cuDeviceGetPCIBusId(char* text, int room, int device) {
  return call(kCuda, "cuDeviceGetPCIBusId", kImmediate, pci_bus_id, text, room, device);
}

int cuDeviceGetUuid(void* uuid, int device) {
  return call(kCuda, "cuDeviceGetUuid", kImmediate, with(find_device, device, [&](Call&, Device&) {
                std::memset(uuid, device + 1, 16);
              }));
}

int cuDeviceGetUuid_v2(void* uuid, int device) { return cuDeviceGetUuid(uuid, device); }

int cuDeviceCanAccessPeer(int* yes, int device, int peer) {
  return call(kCuda, "cuDeviceCanAccessPeer", kImmediate, can_access_peer, yes, device, peer);
}

int cuDevicePrimaryCtxRetain(Handle* context, int device) {
  return call(kCuda, "cuDevicePrimaryCtxRetain", kBlocks,
              with(find_device, device, [&](Call& at, Device& found) {
                Context* primary = at.machine.primary(found);
                ++primary->retained;
                *context = primary->handle;
                at.note("context", *context);
              }));
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  return call(kCuda, "cuDevicePrimaryCtxRelease", kBlocks | kReleases,
              with(find_device, device, [&](Call& at, Device& found) -> int {
                if (!is_active(found)) return kInvalidContext;
                if (--found.primary->retained == 0) at.machine.destroy_context(*found.primary);
                return kSuccess;
              }));
}

int cuDevicePrimaryCtxReset_v2(int device) {
  return call(kCuda, "cuDevicePrimaryCtxReset", kBlocks | kReleases,
              with(find_device, device, [&](Call& at, Device& found) {
                if (is_active(found)) at.machine.destroy_context(*found.primary);
              }));
}

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return call(kCuda, "cuDevicePrimaryCtxGetState", kImmediate,
              with(find_device, device, [&](Call&, Device& found) {
                *flags = 0;
                *active = is_active(found);
              }));
}

int cuCtxCreate_v2(Handle* context, unsigned, int device) {
  return call(kCuda, "cuCtxCreate", kBlocks,
              with(find_device, device, [&](Call& at, Device& found) {
                Context* made = at.machine.add_context(found);
                at.machine.thread().stack.push_back(made);
                *context = made->handle;
                at.note("context", *context);
              }));
}

int cuCtxDestroy_v2(Handle context) {
  return call(kCuda, "cuCtxDestroy", kBlocks | kReleases,
              with(find_context, context, [&](Call& at, Context& found) -> int {
                if (found.primary || found.green_of != nullptr) return kInvalidContext;
                auto& stack = at.machine.thread().stack;
                if (!stack.empty() && stack.back() == &found) stack.pop_back();
                at.machine.destroy_context(found);
                return kSuccess;
              }));
}

int cuCtxPushCurrent_v2(Handle context) {
  return call(kCuda, "cuCtxPushCurrent", kImmediate, with(find_to_enter, context, make_current));
}

int cuCtxPopCurrent_v2(Handle* context) {
  return call(kCuda, "cuCtxPopCurrent", kReleases | kImmediate, [&](Call& at) -> int {
    auto& stack = at.machine.thread().stack;
    if (stack.empty()) return kInvalidContext;
    if (context != nullptr) *context = stack.back()->handle;
    at.note("context", stack.back()->handle);
    leave_current(at);
    return kSuccess;
  });
}

int cuCtxSetCurrent(Handle context) {
  return call(kCuda, "cuCtxSetCurrent", kReleases | kImmediate, [&](Call& at) -> int {
    auto& stack = at.machine.thread().stack;
    Context* found = nullptr;
    if (context != 0)
      if (const int code = find_to_enter(at, context, found)) return code;
    if (!stack.empty()) leave_current(at);
    return found != nullptr ? make_current(at, *found) : int{kSuccess};
  });
}

int cuCtxGetCurrent(Handle* context) {
  return call(kCuda, "cuCtxGetCurrent", kImmediate, [&](Call& at) -> int {
    const auto& stack = at.machine.thread().stack;
    *context = stack.empty() ? 0 : stack.back()->handle;
    return kSuccess;
  });
}

int cuCtxGetDevice(int* device) {
  return call(kCuda, "cuCtxGetDevice", kImmediate,
              with(find_or_current, 0,
                   [&](Call&, Context& context) { *device = context.device->ordinal; }));
}

int cuCtxGetDevice_v2(int* device, Handle handle) {
  return call(kCuda, "cuCtxGetDevice_v2", kImmediate,
              with(find_or_current, handle,
                   [&](Call&, Context& context) { *device = context.device->ordinal; }));
}

int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call(kCuda, "cuCtxGetStreamPriorityRange", kImmediate,
              with(find_or_current, 0, [&](Call&, Context&) {
                if (least != nullptr) *least = 0;
                if (greatest != nullptr) *greatest = -5;
              }));
}

int cuCtxSynchronize() {
  return call(kCuda, "cuCtxSynchronize", kBlocks, with(find_or_current, 0, context_synchronize));
}

int cuCtxSynchronize_v2(Handle handle) {
  return call(kCuda, "cuCtxSynchronize_v2", kBlocks,
              with(find_or_current, handle, context_synchronize));
}

int cuCtxEnablePeerAccess(Handle handle, unsigned flags) {
  return call(kCuda, "cuCtxEnablePeerAccess", kPlain, [&](Call& at) -> int {
    Context* from = nullptr;
    Context* to = nullptr;
    if (const int code = find_current(at, from)) return code;
    if (const int code = find_context(at, handle, to)) return code;
    return flags != 0 ? int{kInvalidValue} : enable_peer(at, *from, *to->device, true);
  });
}

int cuCtxDisablePeerAccess(Handle handle) {
  return call(kCuda, "cuCtxDisablePeerAccess", kReleases, [&](Call& at) -> int {
    Context* from = nullptr;
    Context* to = nullptr;
    if (const int code = find_current(at, from)) return code;
    if (const int code = find_context(at, handle, to)) return code;
    return enable_peer(at, *from, *to->device, false);
  });
}

int cuCtxGetId(Handle handle, unsigned long long* id) {
  return call(kCuda, "cuCtxGetId", kImmediate, [&](Call& at) -> int {
    Context* context = at.machine.contexts.find(handle);
    if (context != nullptr && !context->alive) return kContextIsDestroyed;  // it may be asked
    if (const int code = find_or_current(at, handle, context)) return code;
    *id = context->id;
    return kSuccess;
  });
}

int cuCtxRecordEvent(Handle handle, Handle event) {
  return call(kCuda, "cuCtxRecordEvent", kPlain, with(find_context, handle, context_record, event));
}

int cuCtxWaitEvent(Handle handle, Handle event) {
  return call(kCuda, "cuCtxWaitEvent", kPlain, with(find_context, handle, context_wait, event));
}

int cuDeviceGetDevResource(int device, int* resource, int type) {
  return call(
      kCuda, "cuDeviceGetDevResource", kPlain, with(find_device, device, [&](Call&, Device&) {
        *resource = type;  // the rest of the struct does not matter: no device computes here
      }));
}

int cuDevSmResourceSplitByCount(int* parts, unsigned* count, const int* from, int* rest, unsigned,
                                unsigned least) {
  return call(kCuda, "cuDevSmResourceSplitByCount", kPlain, [&](Call&) -> int {
    constexpr unsigned kProcessors = 8;  // as the attribute says
    constexpr std::size_t kInts = 36;    // of a CUdevResource, whose first member is its type
    if (count == nullptr || from == nullptr || *from == 0) return kInvalidValue;
    const unsigned most = kProcessors / (least == 0 ? 1 : least);
    if (most == 0) return 915;  // CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION
    if (parts == nullptr || *count > most) *count = most;
    for (unsigned i = 0; parts != nullptr && i < *count; ++i) parts[i * kInts] = *from;
    if (rest != nullptr) *rest = *count * least < kProcessors ? *from : 0;
    return kSuccess;
  });
}

int cuDevResourceGenerateDesc(Handle* description, const int* resources, unsigned count) {
  return call(kCuda, "cuDevResourceGenerateDesc", kPlain, [&](Call&) -> int {
    if (resources == nullptr || count == 0) return kInvalidValue;
    *description = static_cast<Handle>(*resources);
    return kSuccess;
  });
}

int cuGreenCtxCreate(Handle* green, Handle description, int device, unsigned flags) {
  return call(kCuda, "cuGreenCtxCreate", kBlocks, [&](Call& at) -> int {
    constexpr unsigned kDefaultStream = 1;  // required
    Device* found = nullptr;
    if (const int code = find_device(at, device, found)) return code;
    if (description == 0 || flags != kDefaultStream) return kInvalidValue;
    Context* primary = at.machine.primary(*found);
    ++primary->retained;
    Context* made = at.machine.add_context(*found);
    made->retained = 1;
    made->green_of = primary;
    primary->greens.push_back(made);
    *green = made->handle + kGreen;
    at.note("context", made->handle);
    return kSuccess;
  });
}

int cuGreenCtxDestroy(Handle green) {
  return call(kCuda, "cuGreenCtxDestroy", kBlocks | kReleases,
              with(find_green, green, [&](Call& at, Context& found) {
                Context& primary = *found.green_of;
                found.retained = 0;
                at.machine.destroy_context(found);
                if (--primary.retained == 0) at.machine.destroy_context(primary);
              }));
}

int cuCtxFromGreenCtx(Handle* context, Handle green) {
  return call(kCuda, "cuCtxFromGreenCtx", kImmediate,
              with(find_green, green, [&](Call&, Context& found) { *context = found.handle; }));
}

int cuGreenCtxStreamCreate(Handle* stream, Handle green, unsigned flags, int priority) {
  return call(kCuda, "cuGreenCtxStreamCreate", kPlain,
              with(find_green, green, [&](Call& at, Context& found) -> int {
                if (stream == nullptr || flags != kNonBlocking) return kInvalidValue;
                *stream = at.machine.add_stream(found, flags, priority)->handle;
                at.note("stream", *stream).note("device", found.device->ordinal);
                return kSuccess;
              }));
}

int cuGreenCtxRecordEvent(Handle green, Handle event) {
  return call(kCuda, "cuGreenCtxRecordEvent", kPlain,
              with(find_green, green, context_record, event));
}

int cuGreenCtxWaitEvent(Handle green, Handle event) {
  return call(kCuda, "cuGreenCtxWaitEvent", kPlain, with(find_green, green, context_wait, event));
}

int cuStreamGetGreenCtx(Handle stream, Handle* green) {
  return call(kCuda, "cuStreamGetGreenCtx", kImmediate,
              with(find_stream, stream, [&](Call&, Stream& found) {
                *green = found.context->green_of != nullptr ? found.context->handle + kGreen : 0;
              }));
}

int cuStreamGetCtx_v2(Handle stream, Handle* context, Handle* green) {
  return call(kCuda, "cuStreamGetCtx_v2", kImmediate | kInContext,
              with(find_stream, stream, [&](Call&, Stream& found) {
                *context = found.context->whole().handle;
                *green = found.context->green_of != nullptr ? found.context->handle + kGreen : 0;
              }));
}

}  // extern "C"

Symbols fakegpu::context_symbols() {
  return {streamed<cuStreamGetCtx_v2>("cuStreamGetCtx", 12050)};
}
