// Tests of refarray/core/device.hpp.
#include "refarray/core/device.hpp"

#include <limits>

#include "check.hpp"
#include "names.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;
using namespace std::string_view_literals;

constexpr std::int32_t kMaxId = std::numeric_limits<std::int32_t>::max();
constexpr DeviceKind kKinds[] = {DeviceKind::kCpu,      DeviceKind::kCuda,
                                 DeviceKind::kCudaHost, DeviceKind::kRocm,
                                 DeviceKind::kRocmHost, DeviceKind::kCudaManaged};

const Case spelling("names are spelled as documented", [] {
  expect(name(Device{}), "cpu");
  expect(name(Device{DeviceKind::kCpu, 2}), "cpu:2");
  expect(name(Device{DeviceKind::kCuda, 0}), "cuda:0");
  expect(name(Device{DeviceKind::kRocm, 1}), "rocm:1");
  expect(name(Device{DeviceKind::kCudaHost, 0}), "cuda_host");
  expect(name(Device{DeviceKind::kRocmHost, 0}), "rocm_host");
  expect(name(Device{DeviceKind::kCudaManaged, 0}), "cuda_managed:0");
});

const Case round_trip("every name parses back to its device", [] {
  for (const DeviceKind kind : kKinds) {
    for (const std::int32_t id : {0, 1, 9, 10, 127, kMaxId}) {
      const Device device{kind, id};
      const std::optional<Device> back = device_from_name(name(device));
      check(back.has_value() && *back == device, name(device));
    }
  }
});

const Case short_names("a name without an ordinal means device 0", [] {
  check(device_from_name("cuda") == Device{DeviceKind::kCuda, 0});
  check(device_from_name("rocm") == Device{DeviceKind::kRocm, 0});
  check(device_from_name("cuda_managed") == Device{DeviceKind::kCudaManaged, 0});
  check(device_from_name("cpu:0") == Device{});
  check(device_from_name("cuda_host:0") == Device{DeviceKind::kCudaHost, 0});
});

const Case malformed("malformed names are rejected", [] {
  rejects(device_from_name, "", ":", ":0", "CPU", "cpu ", " cpu", "gpu", "cuda:", "cuda:-1",
          "cuda:+1", "cuda: 1", "cuda:1 ", "cuda:01", "cuda:00", "cuda:0x1", "cuda:1:2", "cuda:a",
          "cuda:2147483648", "cuda:99999999999999999999", "cuda0", "cudahost", "cuda_", "cuda-host",
          "unknown:0", "cpu:0.0", "rocm:1\n", "cpu\0"sv);
});

const Case host("is_host()", [] {
  check(Device{}.is_host());
  check(Device{DeviceKind::kCudaHost, 0}.is_host());
  check(Device{DeviceKind::kRocmHost, 0}.is_host());
  check(!Device{DeviceKind::kCuda, 0}.is_host());
  check(!Device{DeviceKind::kRocm, 0}.is_host());
  check(!Device{DeviceKind::kCudaManaged, 0}.is_host());
});

const Case equality("devices differ by kind and by id", [] {
  check(Device{} == Device{DeviceKind::kCpu, 0});
  check(Device{DeviceKind::kCuda, 0} != Device{DeviceKind::kCuda, 1});
  check(Device{DeviceKind::kCuda, 0} != Device{DeviceKind::kRocm, 0});
  expect(name(Device{static_cast<DeviceKind>(77), 3}), "unknown:3");
});

}  // namespace
