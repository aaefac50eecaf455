// Device: the kind of memory, the ordinal of the device, and its name. Header-only and free of
// Python and of dlpack.h; it is shipped in the wheel.
#pragma once

#if __cplusplus <= 201703L
#error "refarray's C++ headers need C++20; compile with -std=c++20 or newer"
#endif

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

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

  /// The CPU can access this memory directly, without a driver call.
  constexpr bool is_host() const noexcept {
    return kind == DeviceKind::kCpu || kind == DeviceKind::kCudaHost ||
           kind == DeviceKind::kRocmHost;
  }
};

namespace detail {
struct DeviceKindInfo {
  DeviceKind kind;
  std::string_view name;
  bool always_numbered;  // the name includes the ordinal even when it is 0
};

inline constexpr std::array<DeviceKindInfo, 6> kDeviceKinds{{
    {DeviceKind::kCpu, "cpu", false},
    {DeviceKind::kCuda, "cuda", true},
    {DeviceKind::kCudaHost, "cuda_host", false},
    {DeviceKind::kRocm, "rocm", true},
    {DeviceKind::kRocmHost, "rocm_host", false},
    {DeviceKind::kCudaManaged, "cuda_managed", true},
}};

/// Decimal, without a sign or leading zeros, so that every ordinal has one spelling.
inline std::optional<std::int32_t> parse_device_id(std::string_view digits) {
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  std::int32_t id = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, id);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return id;
}
}  // namespace detail

/// "cpu", "cuda:0", "rocm:1", "cuda_host", "rocm_host", "cuda_managed:0".
inline std::string name(const Device& device) {
  for (const detail::DeviceKindInfo& row : detail::kDeviceKinds) {
    if (row.kind != device.kind) continue;
    std::string out(row.name);
    if (row.always_numbered || device.id != 0) out += ":" + std::to_string(device.id);
    return out;
  }
  return "unknown:" + std::to_string(device.id);
}

/// The inverse of name(); "cuda" means "cuda:0". Empty when the text names no device.
inline std::optional<Device> device_from_name(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (const detail::DeviceKindInfo& row : detail::kDeviceKinds) {
    if (row.name != text.substr(0, colon)) continue;
    if (colon == std::string_view::npos) return Device{row.kind, 0};
    const std::optional<std::int32_t> id = detail::parse_device_id(text.substr(colon + 1));
    if (!id) return std::nullopt;
    return Device{row.kind, *id};
  }
  return std::nullopt;
}

}  // namespace refarray::core
