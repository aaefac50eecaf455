// DLPack on the wire: traits of the two managed structs, conversions to DLDataType and DLDevice,
// and static assertions on the ABI. Header-only and free of Python; it is shipped in the wheel.
#pragma once

#include <dlpack/dlpack.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "refarray/core/device.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::dlpack {

/// The DLPack version of every struct that refarray exports (VERS-01).
inline constexpr DLPackVersion kVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
static_assert(DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION >= 3,
              "refarray needs dlpack.h 1.3 or later in 1.x");

/// What differs between the two managed structs.
template <class M>
struct Wire;

/// The legacy struct has no version and no flags; only the name of its capsule identifies it.
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
  /// With any other major version, fields after `flags` must not be read (VERS-02, A-29).
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

/// A DType begins with the three fields of a DLDataType, so this is one 32-bit move.
constexpr DLDataType to_dlpack(const core::DType& dtype) noexcept {
  struct Prefix {
    DLDataType wire;
    std::uint8_t padding[4];
  };
  static_assert(offsetof(core::DType, kind) == offsetof(DLDataType, code));
  static_assert(offsetof(core::DType, bits) == offsetof(DLDataType, bits));
  static_assert(offsetof(core::DType, lanes) == offsetof(DLDataType, lanes));
  return std::bit_cast<Prefix>(dtype).wire;
}
/// Devices of host memory always have id 0: the import normalizes it (DEV-02).
constexpr DLDevice to_dlpack(const core::Device& device) noexcept {
  return std::bit_cast<DLDevice>(device);
}

// ABI-01: sizes and offsets on LP64.
static_assert(sizeof(DLPackVersion) == 8 && sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4);
static_assert(sizeof(DLDeviceType) == 4 && sizeof(DLTensor) == 48);
static_assert(offsetof(DLTensor, data) == 0 && offsetof(DLTensor, device) == 8 &&
              offsetof(DLTensor, ndim) == 16);
static_assert(offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24);
static_assert(offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, manager_ctx) == 48);
static_assert(offsetof(DLManagedTensor, deleter) == 56);
static_assert(sizeof(DLManagedTensorVersioned) == 80 &&
              offsetof(DLManagedTensorVersioned, manager_ctx) == 8);
static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16 &&
              offsetof(DLManagedTensorVersioned, flags) == 24);
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 32);
static_assert(sizeof(DLPackExchangeAPI) == 56 &&
              offsetof(DLPackExchangeAPI, current_work_stream) == 48);

// The core's enumerators are DLPack's values, declared without dlpack.h.
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
