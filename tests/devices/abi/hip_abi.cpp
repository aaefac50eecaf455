// Owns the comparison of the binary interface that we declare for libamdhip64 with AMD's own
// header: compiled, never run. declared.py writes the two files that it includes from our sources.
#include "runtime/drivers/hip_abi.hpp"

#define __HIP_PLATFORM_AMD__           // which the header asks for
#define __HIP_DISABLE_CPP_FUNCTIONS__  // templates of the same names
#include <hip/hip_runtime_api.h>

#include <cstddef>

#include "runtime/drivers/driver_table.hpp"
#include "same.hpp"

namespace {

using namespace refarray::runtime::hip;
using refarray::runtime::Direction;

#include "functions.inc"
#include "numbers.inc"

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

static_assert(static_cast<int>(Direction::kHostToDevice) == hipMemcpyHostToDevice);
static_assert(static_cast<int>(Direction::kDeviceToHost) == hipMemcpyDeviceToHost);
static_assert(static_cast<int>(Direction::kDeviceToDevice) == hipMemcpyDeviceToDevice);
static_assert(static_cast<int>(Direction::kAny) == hipMemcpyDefault);
static_assert(kHostPortable == hipHostMallocPortable);
static_assert(kNonBlocking == hipStreamNonBlocking);
static_assert(kWithoutTiming == hipEventDisableTiming);
static_assert(kRelaxed == hipStreamCaptureModeRelaxed);
static_assert(kCapturing == hipStreamCaptureStatusActive);
static_assert(kImplicit == hipErrorStreamCaptureImplicit);

static_assert(refarray::runtime::kSuccess == hipSuccess);
static_assert(refarray::runtime::kInvalidValue == hipErrorInvalidValue);
static_assert(refarray::runtime::kOutOfMemory == hipErrorOutOfMemory);
static_assert(refarray::runtime::kNotReady == hipErrorNotReady);
static_assert(hipErrorNoDevice == 100 && hipErrorInvalidDevice == 101);  // as load_hip says them

}  // namespace
