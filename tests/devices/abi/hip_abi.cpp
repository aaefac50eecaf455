// Compares our declarations of libamdhip64's ABI with AMD's header. Compiled, never run;
// declared.py generates functions.inc from our sources.
#include "runtime/drivers/hip_abi.hpp"

#define __HIP_PLATFORM_AMD__           // required by the header
#define __HIP_DISABLE_CPP_FUNCTIONS__  // they have the same names
#include <hip/hip_runtime_api.h>

#include <cstddef>

#include "runtime/drivers/driver_table.hpp"
#include "same.hpp"

namespace {

using namespace refarray::runtime;
using namespace refarray::runtime::hip;

#include "functions.inc"

static_assert(kVersionUnit == 10000000 && HIP_VERSION / kVersionUnit == HIP_VERSION_MAJOR);

static_assert(sizeof(HipPointer) == sizeof(hipPointerAttribute_t));
#if HIP_VERSION_MAJOR < 6
static_assert(offsetof(HipPointer, type) == offsetof(hipPointerAttribute_t, memoryType));
static_assert(kHostBefore6 == hipMemoryTypeHost);
static_assert(kDeviceBefore6 == hipMemoryTypeDevice);
#else
static_assert(offsetof(HipPointer, type) == offsetof(hipPointerAttribute_t, type));
static_assert(kHostFrom6 == hipMemoryTypeHost);
static_assert(kDeviceFrom6 == hipMemoryTypeDevice);
static_assert(kManagedFrom6 == hipMemoryTypeManaged);
#endif
static_assert(offsetof(HipPointer, device) == offsetof(hipPointerAttribute_t, device));
static_assert(offsetof(HipPointer, device_pointer) ==
              offsetof(hipPointerAttribute_t, devicePointer));
static_assert(offsetof(HipPointer, host_pointer) == offsetof(hipPointerAttribute_t, hostPointer));
static_assert(offsetof(HipPointer, is_managed) == offsetof(hipPointerAttribute_t, isManaged));
static_assert(offsetof(HipPointer, flags) == offsetof(hipPointerAttribute_t, allocationFlags));

#if HIP_VERSION >= 50300000
static_assert(sizeof(AllocationProperties) == sizeof(hipMemAllocationProp));
static_assert(offsetof(AllocationProperties, type) == offsetof(hipMemAllocationProp, type));
static_assert(offsetof(AllocationProperties, location_type) ==
              offsetof(hipMemAllocationProp, location) + offsetof(hipMemLocation, type));
static_assert(offsetof(AllocationProperties, location_id) ==
              offsetof(hipMemAllocationProp, location) + offsetof(hipMemLocation, id));
#endif
static_assert(AllocationProperties{}.type == hipMemAllocationTypePinned);
static_assert(AllocationProperties{}.location_type == hipMemLocationTypeDevice);
static_assert(kFileHandle == hipMemHandleTypePosixFileDescriptor);
static_assert(sizeof(MemoryAccess) == sizeof(hipMemAccessDesc));
static_assert(MemoryAccess{}.flags == hipMemAccessFlagsProtReadWrite);
static_assert(sizeof(Uuid) == sizeof(hipUUID) &&
              sizeof(EventHandle) == sizeof(hipIpcEventHandle_t));
static_assert(kEventInterprocess == hipEventInterprocess);
static_assert(kNotSupported == hipErrorNotSupported);

static_assert(static_cast<int>(Direction::kHostToDevice) == hipMemcpyHostToDevice);
static_assert(static_cast<int>(Direction::kDeviceToHost) == hipMemcpyDeviceToHost);
static_assert(static_cast<int>(Direction::kDeviceToDevice) == hipMemcpyDeviceToDevice);
static_assert(static_cast<int>(Direction::kAny) == hipMemcpyDefault);
static_assert(kHostPortable == hipHostMallocPortable);
static_assert(kStreamNonBlocking == hipStreamNonBlocking);
static_assert(kEventDisableTiming == hipEventDisableTiming);
static_assert(kCaptureModeRelaxed == hipStreamCaptureModeRelaxed);
static_assert(kCaptureStatusActive == hipStreamCaptureStatusActive);
static_assert(kCaptureImplicit == hipErrorStreamCaptureImplicit);

static_assert(kSuccess == hipSuccess);
static_assert(kInvalidValue == hipErrorInvalidValue);
static_assert(kOutOfMemory == hipErrorOutOfMemory);
static_assert(kNotReady == hipErrorNotReady);
static_assert(kNoDevice == hipErrorNoDevice && kInvalidDevice == hipErrorInvalidDevice);
static_assert(kFirstCaptureError == hipErrorStreamCaptureUnsupported);
static_assert(kLastCaptureError == hipErrorStreamCaptureWrongThread);
static_assert(kEventDefault == hipEventDefault);

}  // namespace
