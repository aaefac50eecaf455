// Owns Device: which kind of memory, and on which unit of that kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace refarray::core {

/// The values are DLPack's device types (checked in dlpack/wire.hpp).
enum class DeviceKind : std::int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,
  kRocm = 10,
  kRocmHost = 11,
  kCudaManaged = 13,
};

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  std::int32_t id = 0;
  friend constexpr bool operator==(const Device&, const Device&) = default;

  /// The CPU may read and write this memory directly, without asking a driver first.
  constexpr bool is_host() const noexcept {
    return kind == DeviceKind::kCpu || kind == DeviceKind::kCudaHost ||
           kind == DeviceKind::kRocmHost;
  }
};

/// "cpu", "cuda:0", "rocm:1", "cuda_host", "rocm_host", "cuda_managed:0".
std::string name(const Device& device);
/// The inverse of name(); "cuda" means "cuda:0". Nothing when the text names no device.
std::optional<Device> device_from_name(std::string_view text);

}  // namespace refarray::core
