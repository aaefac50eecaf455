// Owns the names of devices.
#include "refarray/core/device.hpp"

#include <array>
#include <charconv>
#include <string>

namespace refarray::core {
namespace {

struct KindRow {
  DeviceKind kind;
  std::string_view name;
  bool numbered;  // the name carries the unit even when it is 0
};

constexpr std::array<KindRow, 6> kKinds{{
    {DeviceKind::kCpu, "cpu", false},
    {DeviceKind::kCuda, "cuda", true},
    {DeviceKind::kCudaHost, "cuda_host", false},
    {DeviceKind::kRocm, "rocm", true},
    {DeviceKind::kRocmHost, "rocm_host", false},
    {DeviceKind::kCudaManaged, "cuda_managed", true},
}};

/// Decimal, without sign or leading zeros, so that one device has one spelling per kind.
std::optional<std::int32_t> parse_unit(std::string_view digits) {
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  std::int32_t unit = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, unit);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return unit;
}

}  // namespace

std::string name(const Device& device) {
  for (const KindRow& row : kKinds) {
    if (row.kind != device.kind) continue;
    std::string out(row.name);
    if (row.numbered || device.id != 0) out += ":" + std::to_string(device.id);
    return out;
  }
  return "unknown:" + std::to_string(device.id);
}

std::optional<Device> device_from_name(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (const KindRow& row : kKinds) {
    if (row.name != text.substr(0, colon)) continue;
    if (colon == std::string_view::npos) return Device{row.kind, 0};
    const std::optional<std::int32_t> unit = parse_unit(text.substr(colon + 1));
    if (!unit) return std::nullopt;
    return Device{row.kind, *unit};
  }
  return std::nullopt;
}

}  // namespace refarray::core
