// Devices, the current context and error names, for both drivers.
#include <cstdio>
#include <cstring>
#include <map>

#include "machine/driver.hpp"
#include "machine/room.hpp"

namespace fakegpu {
namespace {

struct Name {
  const char* cuda;
  const char* hip;
};

const std::map<int, Name>& names() {
  static const std::map<int, Name> all = {
      {0, {"CUDA_SUCCESS", "hipSuccess"}},
      {1, {"CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue"}},
      {2, {"CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory"}},
      {3, {"CUDA_ERROR_NOT_INITIALIZED", "hipErrorNotInitialized"}},
      {4, {"CUDA_ERROR_DEINITIALIZED", "hipErrorDeinitialized"}},
      {34, {"CUDA_ERROR_STUB_LIBRARY", nullptr}},
      {35, {nullptr, "hipErrorInsufficientDriver"}},
      {100, {"CUDA_ERROR_NO_DEVICE", "hipErrorNoDevice"}},
      {101, {"CUDA_ERROR_INVALID_DEVICE", "hipErrorInvalidDevice"}},
      {200, {"CUDA_ERROR_INVALID_IMAGE", "hipErrorInvalidImage"}},
      {201, {"CUDA_ERROR_INVALID_CONTEXT", "hipErrorInvalidContext"}},
      {209, {"CUDA_ERROR_NO_BINARY_FOR_GPU", "hipErrorNoBinaryForGpu"}},
      {217, {"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "hipErrorPeerAccessUnsupported"}},
      {222, {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", nullptr}},
      {400, {"CUDA_ERROR_INVALID_HANDLE", "hipErrorInvalidHandle"}},
      {401, {"CUDA_ERROR_ILLEGAL_STATE", "hipErrorIllegalState"}},
      {500, {"CUDA_ERROR_NOT_FOUND", "hipErrorNotFound"}},
      {600, {"CUDA_ERROR_NOT_READY", "hipErrorNotReady"}},
      {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "hipErrorIllegalAddress"}},
      {704, {"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "hipErrorPeerAccessAlreadyEnabled"}},
      {705, {"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "hipErrorPeerAccessNotEnabled"}},
      {709, {"CUDA_ERROR_CONTEXT_IS_DESTROYED", "hipErrorContextIsDestroyed"}},
      {719, {"CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure"}},
      {800, {"CUDA_ERROR_NOT_PERMITTED", "hipErrorNotPermitted"}},
      {801, {"CUDA_ERROR_NOT_SUPPORTED", "hipErrorNotSupported"}},
      {803, {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", nullptr}},
      {900, {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "hipErrorStreamCaptureUnsupported"}},
      {901, {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "hipErrorStreamCaptureInvalidated"}},
      {902, {"CUDA_ERROR_STREAM_CAPTURE_MERGE", "hipErrorStreamCaptureMerge"}},
      {903, {"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "hipErrorStreamCaptureUnmatched"}},
      {904, {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "hipErrorStreamCaptureUnjoined"}},
      {905, {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "hipErrorStreamCaptureIsolation"}},
      {906, {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "hipErrorStreamCaptureImplicit"}},
      {907, {"CUDA_ERROR_CAPTURED_EVENT", "hipErrorCapturedEvent"}},
      {908, {"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "hipErrorStreamCaptureWrongThread"}},
      {999, {"CUDA_ERROR_UNKNOWN", "hipErrorUnknown"}},
  };
  return all;
}

constexpr int kLastCudaAttribute = 147;  // of CUDA 13.0; what is not listed is not supported: 0

const std::map<int, int>& attributes(Vendor vendor) {
  static const std::map<int, int> cuda = {
      {1, 1024},     {2, 1024},  {3, 1024},     {4, 64},    {5, 2147483647},  {6, 65535},
      {7, 65535},    {8, 49152}, {9, 65536},    {10, 32},   {11, 2147483647}, {12, 65536},
      {13, 1500000}, {14, 512},  {15, 1},       {16, 8},    {18, 0},          {19, 1},
      {20, 0},       {31, 1},    {32, 0},       {33, 0},    {34, 0},          {35, 0},
      {36, 1500000}, {37, 256},  {38, 1 << 22}, {39, 2048}, {40, 2},          {41, 1},
      {50, 0},       {75, 9},    {76, 0},       {78, 1},    {81, 49152},      {82, 65536},
      {83, 1},       {84, 0},    {85, 0},       {88, 0},    {89, 1},          {90, 1},
      {91, 1},       {95, 1},    {97, 49152},   {99, 1},    {100, 0},         {101, 0},
      {102, 1},      {106, 32},  {115, 1},      {119, 1}};
  // hipDeviceAttribute_t; these numbers are the same in HIP 5.2, 6.3 and 7.1.
  static const std::map<int, int> hip = {
      {3, 1},      {8, 1},           {9, 1},     {16, 0},          {23, 9},     {24, 1},
      {26, 1024},  {27, 1024},       {28, 1024}, {29, 2147483647}, {30, 65535}, {31, 65535},
      {56, 1024},  {58, 2147483647}, {61, 0},    {63, 8},          {67, 1},     {68, 0},
      {74, 65536}, {85, 1},          {87, 64},   {88, 1}};
  return vendor == Vendor::kCuda ? cuda : hip;
}

}  // namespace

const char* error_name(Vendor vendor, int code) {
  const auto found = names().find(code);
  if (found == names().end()) return nullptr;
  return vendor == Vendor::kCuda ? found->second.cuda : found->second.hip;
}

Context* current_context(Call& call) {
  Thread& thread = call.machine.thread();
  if (call.vendor == Vendor::kCuda) {
    Context* top = thread.stack.empty() ? nullptr : thread.stack.back();
    return top != nullptr && top->alive ? top : nullptr;
  }
  Device* device = call.machine.device(Vendor::kHip, thread.hip_device);
  return device == nullptr ? nullptr : call.machine.primary(*device);
}

int find_current(Call& call, Context*& context) {
  context = current_context(call);
  if (context != nullptr) return kSuccess;
  return call.machine.thread().stack.empty() ? kInvalidContext : kContextIsDestroyed;
}

int find_device(Call& call, int ordinal, Device*& device) {
  call.note("device", ordinal);
  device = call.machine.device(call.vendor, ordinal);
  return device != nullptr ? kSuccess : kInvalidDevice;
}

int device_attribute(Call& call, int* value, int attribute, int ordinal) {
  Device* device = nullptr;
  if (const int code = find_device(call, ordinal, device)) return code;
  call.note("attribute", attribute);
  const bool cuda = call.vendor == Vendor::kCuda;
  const auto found = attributes(call.vendor).find(attribute);
  const bool is_listed = found != attributes(call.vendor).end();
  const bool is_known = is_listed || (cuda && attribute > 0 && attribute <= kLastCudaAttribute);
  if (value == nullptr || !is_known) return kInvalidValue;
  *value = is_listed ? found->second : 0;
  const Settings& settings = call.machine.settings;
  if (attribute == (cuda ? 115 : 88)) *value = settings.pools;
  if (cuda && attribute == 103) *value = settings.shareable && Room::get() != nullptr;
  if (attribute == (cuda ? 83 : 24)) *value = settings.managed;
  if (attribute == (cuda ? 89 : 9)) *value = settings.managed && settings.concurrent_managed;
  if (attribute == (cuda ? 33 : 67)) *value = ordinal + 1;  // PCI bus id
  return kSuccess;
}

int device_name(Call& call, char* name, int room, int ordinal) {
  Device* device = nullptr;
  if (const int code = find_device(call, ordinal, device)) return code;
  if (name == nullptr || room <= 0) return kInvalidValue;
  std::snprintf(name, static_cast<std::size_t>(room), "fakegpu simulated %s device %d",
                vendor_name(call.vendor), ordinal);
  return kSuccess;
}

int pci_bus_id(Call& call, char* text, int room, int ordinal) {
  Device* device = nullptr;
  if (const int code = find_device(call, ordinal, device)) return code;
  if (text == nullptr || room < 13) return kInvalidValue;
  std::snprintf(text, static_cast<std::size_t>(room), "0000:%02x:00.0",
                static_cast<unsigned>(ordinal + 1));
  return kSuccess;
}

int can_access_peer(Call& call, int* yes, int ordinal, int peer) {
  Device* device = nullptr;
  if (const int code = find_device(call, ordinal, device)) return code;
  if (call.machine.device(call.vendor, peer) == nullptr) return kInvalidDevice;
  *yes = call.machine.settings.peers && ordinal != peer;
  return kSuccess;
}

int enable_peer(Call& call, Context& from, Device& to, bool enable) {
  call.note("device", from.device->ordinal).note("peer", to.ordinal);
  if (from.device == &to || !call.machine.settings.peers) return kPeerAccessUnsupported;
  if (enable) return from.peers.insert(&to).second ? kSuccess : kPeerAccessAlreadyEnabled;
  return from.peers.erase(&to) != 0 ? kSuccess : kPeerAccessNotEnabled;
}

}  // namespace fakegpu
