// HIP API: initialisation and devices.
#include <dlfcn.h>

#include <cstring>

#include "machine/driver.hpp"

using namespace fakegpu;

extern "C" {

int hipInit(unsigned flags) {
  return call(kHip, "hipInit", kBlocks | kBeforeInit, [&](Call& at) -> int {
    if (flags != 0) return kInvalidValue;
    return at.machine.devices(kHip).empty() ? kInvalidDevice : kSuccess;
  });
}

int hipRuntimeGetVersion(int* version) {
  return call(kHip, "hipRuntimeGetVersion", kBeforeInit | kImmediate, [&](Call& at) -> int {
    if (version == nullptr) return kInvalidValue;
    *version = at.machine.settings.hip_version;
    return kSuccess;
  });
}

int hipDriverGetVersion(int* version) {
  return call(kHip, "hipDriverGetVersion", kBeforeInit | kImmediate, [&](Call& at) -> int {
    if (version == nullptr) return kInvalidValue;
    *version = at.machine.settings.hip_version;
    return kSuccess;
  });
}

const char* hipGetErrorName(int code) {
  const char* name = error_name(kHip, code);
  return name != nullptr ? name : "hipErrorUnknown";
}

const char* hipGetErrorString(int code) { return hipGetErrorName(code); }

int hipGetDeviceCount(int* count) {
  return call(kHip, "hipGetDeviceCount", kBeforeInit | kImmediate, [&](Call& at) -> int {
    *count = static_cast<int>(at.machine.devices(kHip).size());
    return *count == 0 ? kNoDevice : kSuccess;
  });
}

int hipGetDevice(int* device) {
  return call(kHip, "hipGetDevice", kImmediate, [&](Call& at) -> int {
    *device = at.machine.thread().hip_device;
    at.note("device", *device);
    return kSuccess;
  });
}

int hipSetDevice(int device) {
  return call(kHip, "hipSetDevice", kImmediate, with(find_device, device, [&](Call& at, Device&) {
                at.machine.thread().hip_device = device;
              }));
}

int hipDeviceGet(int* device, int ordinal) {
  return call(kHip, "hipDeviceGet", kImmediate,
              with(find_device, ordinal, [&](Call&, Device&) { *device = ordinal; }));
}

int hipDeviceGetAttribute(int* value, int attribute, int device) {
  return call(kHip, "hipDeviceGetAttribute", kImmediate, device_attribute, value, attribute,
              device);
}

int hipDeviceGetUuid(void* uuid, int device) {
  return call(kHip, "hipDeviceGetUuid", kImmediate, with(find_device, device, [&](Call&, Device&) {
                std::memset(uuid, device + 65, 16);
              }));
}

int hipDeviceGetName(char* name, int room, int device) {
  return call(kHip, "hipDeviceGetName", kImmediate, device_name, name, room, device);
}

int hipDeviceGetPCIBusId(char* text, int room, int device) {
  return call(kHip, "hipDeviceGetPCIBusId", kImmediate, pci_bus_id, text, room, device);
}

int hipDeviceTotalMem(std::size_t* bytes, int device) {
  return call(kHip, "hipDeviceTotalMem", kImmediate,
              with(find_device, device, [&](Call&, Device& found) { *bytes = found.total; }));
}

int hipDeviceSynchronize() {
  return call(kHip, "hipDeviceSynchronize", kBlocks,
              [&](Call& at) { return context_synchronize(at, *current_context(at)); });
}

int hipDeviceCanAccessPeer(int* yes, int device, int peer) {
  return call(kHip, "hipDeviceCanAccessPeer", kImmediate, can_access_peer, yes, device, peer);
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call(kHip, "hipDeviceEnablePeerAccess", kPlain, [&](Call& at) -> int {
    Device* to = at.machine.device(kHip, peer);
    if (to == nullptr) return kInvalidDevice;
    return flags != 0 ? int{kInvalidValue} : enable_peer(at, *current_context(at), *to, true);
  });
}

int hipDeviceDisablePeerAccess(int peer) {
  return call(kHip, "hipDeviceDisablePeerAccess", kReleases, [&](Call& at) -> int {
    Device* to = at.machine.device(kHip, peer);
    if (to == nullptr) return kInvalidDevice;
    return enable_peer(at, *current_context(at), *to, false);
  });
}

int hipGetProcAddress(const char* name, void** function, int version, std::uint64_t, int* status) {
  return call(kHip, "hipGetProcAddress", kBeforeInit | kImmediate, [&](Call& at) -> int {
    if (name == nullptr || function == nullptr) return kInvalidValue;
    at.note("symbol", name).note("version", version);
    Dl_info here{};
    dladdr(reinterpret_cast<void*>(&hipInit), &here);  // this library, not another copy of HIP
    void* library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *function = library != nullptr ? dlsym(library, name) : nullptr;
    if (status != nullptr) *status = *function != nullptr ? 0 : 1;
    return *function != nullptr ? kSuccess : kInvalidValue;
  });
}

}  // extern "C"
