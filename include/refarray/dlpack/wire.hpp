// DLPack's structs as C++ sees them: the traits of both managed tensors, the mapping of dtypes and
// devices to refarray's own, and static checks of the ABI. Header-only, without Python; ships in
// the wheel.
#pragma once

#include <dlpack/dlpack.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "refarray/core/device.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::dlpack {

/// The version that refarray implements and that every exported struct carries (VERS-01).
inline constexpr DLPackVersion kVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
static_assert(DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION >= 3,
              "refarray needs dlpack.h 1.3 or later in 1.x");

/// Everything that differs between the two managed tensors.
template <class M>
struct Wire;

/// The legacy struct: no version and no flags. Only the capsule's name distinguishes it.
template <>
struct Wire<DLManagedTensor> {
  static constexpr const char* capsule = "dltensor";
  static constexpr const char* used = "used_dltensor";
  static constexpr bool versioned = false;
  static constexpr std::uint64_t flags(const DLManagedTensor&) noexcept { return 0; }
  static constexpr std::uint32_t minor(const DLManagedTensor&) noexcept { return 0; }
  static constexpr bool is_known_major(const DLManagedTensor&) noexcept { return true; }
  static constexpr void stamp(DLManagedTensor&, std::uint64_t) noexcept {}
};

/// The struct of DLPack 1.x.
template <>
struct Wire<DLManagedTensorVersioned> {
  static constexpr const char* capsule = "dltensor_versioned";
  static constexpr const char* used = "used_dltensor_versioned";
  static constexpr bool versioned = true;
  static std::uint64_t flags(const DLManagedTensorVersioned& m) noexcept { return m.flags; }
  static std::uint32_t minor(const DLManagedTensorVersioned& m) noexcept { return m.version.minor; }
  /// Members after `flags` may be read only when the major versions are equal (VERS-02, A-29).
  static bool is_known_major(const DLManagedTensorVersioned& m) noexcept {
    return m.version.major == kVersion.major;
  }
  static void stamp(DLManagedTensorVersioned& m, std::uint64_t flags) noexcept {
    m.version = kVersion;
    m.flags = flags;
  }
};

inline constexpr std::uint64_t kReadOnly = DLPACK_FLAG_BITMASK_READ_ONLY;
inline constexpr std::uint64_t kIsCopied = DLPACK_FLAG_BITMASK_IS_COPIED;
inline constexpr std::uint64_t kPadded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
inline constexpr std::uint64_t kKnownFlags = kReadOnly | kIsCopied | kPadded;

/// A single load and store: a DType begins with the three fields of a DLDataType.
constexpr DLDataType to_dlpack(const core::DType& dtype) noexcept {
  struct Halves {
    DLDataType wire;
    std::uint8_t rest[4];
  };
  static_assert(offsetof(core::DType, kind) == offsetof(DLDataType, code));
  static_assert(offsetof(core::DType, bits) == offsetof(DLDataType, bits));
  static_assert(offsetof(core::DType, lanes) == offsetof(DLDataType, lanes));
  return std::bit_cast<Halves>(dtype).wire;
}

constexpr DLDevice to_dlpack(const core::Device& device) noexcept {
  return std::bit_cast<DLDevice>(device);
}
/// The inverse; nothing for a device type that refarray does not support. Any number is accepted:
/// it is read as an int32, because the enum may lack it (ABI-03). The id is not changed.
constexpr std::optional<core::Device> to_core(DLDevice device) noexcept {
  switch (static_cast<std::int32_t>(device.device_type)) {
    case kDLCPU:
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLROCM:
    case kDLROCMHost:
    case kDLCUDAManaged:
      return std::bit_cast<core::Device>(device);
    default:
      return std::nullopt;
  }
}
/// The device of memory that another library describes. Only CUDA and ROCm devices are numbered:
/// other ids carry no meaning and become 0 (DEV-02, A-28).
constexpr std::optional<core::Device> to_core_normalized(DLDevice device) noexcept {
  std::optional<core::Device> out = to_core(device);
  if (out && out->kind != core::DeviceKind::kCuda && out->kind != core::DeviceKind::kRocm) {
    out->id = 0;
  }
  return out;
}

// ABI-01: sizes and offsets of the header's structs, with pointers of 8 or 4 bytes.
inline constexpr std::size_t kPointer = sizeof(void*);
static_assert(sizeof(DLPackVersion) == 8 && sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4);
static_assert(sizeof(DLDeviceType) == 4 && sizeof(DLTensor) == offsetof(DLTensor, byte_offset) + 8);
static_assert(offsetof(DLTensor, data) == 0 && offsetof(DLTensor, device) == kPointer &&
              offsetof(DLTensor, ndim) == kPointer + 8);
static_assert(offsetof(DLTensor, dtype) == kPointer + 12 &&
              offsetof(DLTensor, shape) == kPointer + 16);
static_assert(offsetof(DLTensor, strides) == 2 * kPointer + 16 &&
              offsetof(DLTensor, byte_offset) - (3 * kPointer + 16) < alignof(DLTensor));
static_assert(offsetof(DLManagedTensor, manager_ctx) == sizeof(DLTensor));
static_assert(offsetof(DLManagedTensor, deleter) == sizeof(DLTensor) + kPointer);
static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8);
static_assert(offsetof(DLManagedTensorVersioned, deleter) == kPointer + 8 &&
              offsetof(DLManagedTensorVersioned, flags) == 2 * kPointer + 8);
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 2 * kPointer + 16 &&
              sizeof(DLManagedTensorVersioned) == 2 * kPointer + 16 + sizeof(DLTensor));
static_assert(sizeof(DLPackExchangeAPI) == 6 * kPointer + 8 &&
              offsetof(DLPackExchangeAPI, current_work_stream) == 5 * kPointer + 8);
static_assert(kPointer != 8 || (sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64));

// The core defines the same numbers without including dlpack.h.
static_assert(static_cast<int>(core::Kind::kInt) == kDLInt &&
              static_cast<int>(core::Kind::kUInt) == kDLUInt);
static_assert(static_cast<int>(core::Kind::kFloat) == kDLFloat &&
              static_cast<int>(core::Kind::kBfloat) == kDLBfloat);
static_assert(static_cast<int>(core::Kind::kComplex) == kDLComplex &&
              static_cast<int>(core::Kind::kBool) == kDLBool);
static_assert(static_cast<int>(core::Kind::kFloat8_e3m4) == kDLFloat8_e3m4);
static_assert(static_cast<int>(core::Kind::kFloat8_e4m3) == kDLFloat8_e4m3);
static_assert(static_cast<int>(core::Kind::kFloat8_e4m3b11fnuz) == kDLFloat8_e4m3b11fnuz);
static_assert(static_cast<int>(core::Kind::kFloat8_e4m3fn) == kDLFloat8_e4m3fn);
static_assert(static_cast<int>(core::Kind::kFloat8_e4m3fnuz) == kDLFloat8_e4m3fnuz);
static_assert(static_cast<int>(core::Kind::kFloat8_e5m2) == kDLFloat8_e5m2);
static_assert(static_cast<int>(core::Kind::kFloat8_e5m2fnuz) == kDLFloat8_e5m2fnuz);
static_assert(static_cast<int>(core::Kind::kFloat8_e8m0fnu) == kDLFloat8_e8m0fnu);
static_assert(static_cast<int>(core::Kind::kFloat6_e2m3fn) == kDLFloat6_e2m3fn);
static_assert(static_cast<int>(core::Kind::kFloat6_e3m2fn) == kDLFloat6_e3m2fn);
static_assert(static_cast<int>(core::Kind::kFloat4_e2m1fn) == kDLFloat4_e2m1fn);
static_assert(static_cast<int>(core::DeviceKind::kCpu) == kDLCPU);
static_assert(static_cast<int>(core::DeviceKind::kCuda) == kDLCUDA);
static_assert(static_cast<int>(core::DeviceKind::kCudaHost) == kDLCUDAHost);
static_assert(static_cast<int>(core::DeviceKind::kRocm) == kDLROCM);
static_assert(static_cast<int>(core::DeviceKind::kRocmHost) == kDLROCMHost);
static_assert(static_cast<int>(core::DeviceKind::kCudaManaged) == kDLCUDAManaged);

}  // namespace refarray::dlpack
