// Pointer attributes, in each vendor's form.
#include <cstring>

#include "machine/driver.hpp"

namespace fakegpu {
namespace {

enum Attribute : int {
  kContextAttribute = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kIsLegacyIpcCapable = 10,
  kRangeStart = 11,
  kRangeSize = 12,
  kMapped = 13,
  kMempoolHandle = 17,
};

template <class T>
int put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return kSuccess;
}

int put_known(void* data, int attribute, Handle pointer, const Allocation& allocation) {
  const bool pinned = allocation.kind == MemoryKind::kPinned;
  const bool device = allocation.kind == MemoryKind::kDevice;
  const Context* primary = allocation.device->primary;
  switch (attribute) {
    case kContextAttribute:
      return put(data, primary != nullptr && allocation.pool == nullptr ? primary->handle : 0);
    case kMemoryType:
      return put(data, pinned ? 1U : 2U);
    case kDevicePointer:
      return put(data, pointer);
    case kHostPointer:
      return device ? kInvalidValue : put(data, pointer);
    case kBufferId:
      return put(data, allocation.id);
    case kIsManaged:
      return put(data, allocation.kind == MemoryKind::kManaged ? 1U : 0U);
    case kDeviceOrdinal:
      return put(data, allocation.device->ordinal);
    case kIsLegacyIpcCapable:
      return put(data,
                 device && allocation.pool == nullptr && allocation.physical == nullptr ? 1U : 0U);
    case kRangeStart:
      return put(data, allocation.begin);
    case kRangeSize:
      return put(data, allocation.bytes);
    case kMapped:
      return put(data, 1U);
    case kMempoolHandle:
      return put(data, allocation.pool != nullptr ? allocation.pool->handle : Handle{0});
    default:
      return kInvalidValue;
  }
}

int put_default(void* data, int attribute) {
  switch (attribute) {
    case kMemoryType:
    case kIsManaged:
    case kMapped:
    case kIsLegacyIpcCapable:
      return put(data, 0U);
    case kDeviceOrdinal:
      return put(data, -2);  // what the driver reports for unknown memory
    default:
      return put(data, Handle{0});
  }
}

const Allocation* known(Call& call, Handle pointer) {
  call.note("pointer", pointer);
  const Allocation* found = call.machine.memory.find(pointer);
  const bool own = found != nullptr && !found->freed && found->device->vendor == call.vendor;
  return own ? found : nullptr;
}

}  // namespace

int pointer_attribute(Call& call, void* data, int attribute, Handle pointer) {
  const Allocation* allocation = known(call, pointer);
  if (allocation == nullptr || data == nullptr) return kInvalidValue;
  return put_known(data, attribute, pointer, *allocation);
}

int pointer_attributes(Call& call, unsigned count, const int* attributes, void** data,
                       Handle pointer) {
  const Allocation* allocation = known(call, pointer);
  if (attributes == nullptr || data == nullptr) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i)
    if (allocation == nullptr || put_known(data[i], attributes[i], pointer, *allocation) != 0)
      put_default(data[i], attributes[i]);
  return kSuccess;
}

int hip_pointer_attributes(Call& call, HipPointerAttributes* out, const void* address) {
  const auto pointer = reinterpret_cast<Handle>(address);
  const Allocation* allocation = known(call, pointer);
  if (out == nullptr) return kInvalidValue;
  const bool modern = call.machine.settings.hip_version >= 60000000;
  if (allocation == nullptr) {
    if (call.machine.settings.hip_version < 70000000) return kInvalidValue;
    *out = {0, -2, nullptr, nullptr, 0, 0};
    return kSuccess;
  }
  const bool device = allocation->kind == MemoryKind::kDevice;
  const bool managed = allocation->kind == MemoryKind::kManaged;
  if (modern)
    out->type = managed ? 3 : device ? 2 : 1;
  else
    out->type = managed ? 3 : device ? 1 : 0;
  out->device = allocation->device->ordinal;
  out->device_pointer = const_cast<void*>(address);
  out->host_pointer = device ? nullptr : const_cast<void*>(address);
  out->is_managed = managed;
  out->allocation_flags = allocation->flags;
  return kSuccess;
}

}  // namespace fakegpu
