// Memory that other processes can map, by the functions of either vendor, which are alike: one
// allocation with a descriptor, mapped at addresses of each process. The driver counts descriptors
// and mappings of all processes: the memory is freed after the last one, also of a process that was
// killed.
#pragma once

#include <cstdint>
#include <utility>

#include "core/memory/descriptor.hpp"
#include "runtime/drivers/driver_table.hpp"

namespace refarray::runtime {

using AllocationHandle = std::uint64_t;
inline constexpr int kFileHandle = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

/// CUmemAllocationProp, hipMemAllocationProp.
struct AllocationProperties {
  int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = kFileHandle;
  int location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int location_id = 0;
  void* security = nullptr;
  unsigned char flags[8] = {};
};
static_assert(sizeof(void*) != 8 || sizeof(AllocationProperties) == 32);

/// CUmemAccessDesc, hipMemAccessDesc.
struct MemoryAccess {
  int location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int location_id = 0;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

/// Both vendors' functions, in their Calls. Null where the driver lacks them.
struct ShareableCalls {
  int (*device_uuid)(Uuid*, int) = nullptr;
  int (*granularity)(std::size_t*, const AllocationProperties*, int) = nullptr;
  int (*create)(AllocationHandle*, std::size_t, const AllocationProperties*,
                unsigned long long) = nullptr;
  int (*release)(AllocationHandle) = nullptr;
  int (*properties)(AllocationProperties*, AllocationHandle) = nullptr;
  int (*to_file)(void*, AllocationHandle, int, unsigned long long) = nullptr;
  int (*from_file)(AllocationHandle*, void*, int) = nullptr;
  int (*reserve)(std::uintptr_t*, std::size_t, std::size_t, std::uintptr_t,
                 unsigned long long) = nullptr;
  int (*unreserve)(std::uintptr_t, std::size_t) = nullptr;
  int (*map)(std::uintptr_t, std::size_t, std::size_t, AllocationHandle,
             unsigned long long) = nullptr;
  int (*unmap)(std::uintptr_t, std::size_t) = nullptr;
  int (*set_access)(std::uintptr_t, std::size_t, const MemoryAccess*, std::size_t) = nullptr;
  int (*event_to_handle)(EventHandle*, void*) = nullptr;
  int (*event_from_handle)(void**, EventHandle) = nullptr;

  bool are_complete() const noexcept {
    return device_uuid && granularity && create && release && properties && to_file && from_file &&
           reserve && unreserve && map && unmap && set_access && event_to_handle &&
           event_from_handle;
  }
};

/// The entries of a DriverTable. `kImport`: from_file of a descriptor.
template <const auto& kCalls, Status (*kImport)(AllocationHandle*, int)>
class Shareable {
 public:
  static void fill(DriverTable& api) noexcept {
    if (!kCalls.shareable.are_complete()) return;
    api.device_uuid = kCalls.shareable.device_uuid;
    api.shareable_unit = unit;
    api.create_shareable = create;
    api.open_shareable = open;
    api.close_shareable = close;
    api.export_event = export_event;
    api.open_event = open_event;
  }

 private:
  static AllocationProperties on(int device) noexcept {
    AllocationProperties out;
    out.location_id = device;
    return out;
  }

  static Status unit(std::size_t* out, int device) {
    const AllocationProperties of = on(device);
    return kCalls.shareable.granularity(out, &of, 0);
  }

  static Status create(Address* out, core::Descriptor* file, std::size_t nbytes, int device) {
    const AllocationProperties of = on(device);
    AllocationHandle handle = 0;
    Status status = kCalls.shareable.create(&handle, nbytes, &of, 0);
    if (status != kSuccess) return status;
    int number = -1;
    status = kCalls.shareable.to_file(&number, handle, kFileHandle, 0);
    if (status == kSuccess) {
      auto made = core::Descriptor::close_on_exec(number);
      status = map(out, nbytes, device, handle);
      if (status == kSuccess) *file = std::move(made);
    }
    kCalls.shareable.release(handle);  // the mapping and the descriptor keep the memory
    return status;
  }

  static Status open(Address* out, int file, std::size_t nbytes, int device) {
    AllocationHandle handle = 0;
    Status status = kImport(&handle, file);
    if (status != kSuccess) return status;
    AllocationProperties of;
    status = kCalls.shareable.properties(&of, handle);
    if (status == kSuccess && of.location_id != device) status = kInvalidValue;
    if (status == kSuccess) status = map(out, nbytes, device, handle);
    kCalls.shareable.release(handle);
    return status;
  }

  static Status close(Address address, std::size_t nbytes) {
    const Status status = kCalls.shareable.unmap(address, nbytes);
    kCalls.shareable.unreserve(address, nbytes);
    return status;
  }

  static Status map(Address* out, std::size_t nbytes, int device, AllocationHandle handle) {
    Address at = 0;
    Status status = kCalls.shareable.reserve(&at, nbytes, 0, 0, 0);
    if (status != kSuccess) return status;
    status = kCalls.shareable.map(at, nbytes, 0, handle, 0);
    if (status == kSuccess) {
      status = grant(at, nbytes, device);
      if (status != kSuccess) kCalls.shareable.unmap(at, nbytes);
    }
    if (status != kSuccess) {
      kCalls.shareable.unreserve(at, nbytes);
    } else {
      *out = at;
    }
    return status;
  }

  /// Also to the devices that can use the memory of this one, as far as the driver lets them.
  static Status grant(Address address, std::size_t nbytes, int device) {
    MemoryAccess access;
    access.location_id = device;
    const Status status = kCalls.shareable.set_access(address, nbytes, &access, 1);
    int count = 0;
    if (status != kSuccess || kCalls.can_access_peer == nullptr ||
        kCalls.device_count(&count) != kSuccess)
      return status;
    for (int peer = 0; peer < count; ++peer) {
      int can = 0;
      if (peer == device || kCalls.can_access_peer(&can, peer, device) != kSuccess || can == 0)
        continue;
      access.location_id = peer;
      kCalls.shareable.set_access(address, nbytes, &access, 1);
    }
    return kSuccess;
  }

  static Status export_event(Handle event, EventHandle* out) {
    return kCalls.shareable.event_to_handle(out, event);
  }
  static Status open_event(Handle* out, const EventHandle& from) {
    return kCalls.shareable.event_from_handle(out, from);
  }
};

}  // namespace refarray::runtime
