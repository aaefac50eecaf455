// Tests of refarray/core/dtype.hpp and device.hpp. Their names are tested by test_dtype.py and
// test_device.py.
#include "refarray/core/dtype.hpp"

#include "check.hpp"
#include "refarray/core/device.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

const Case names_of_scalars("ScalarType names the rows of kScalars in their order", [] {
  using enum ScalarType;
  expect(info_of(kBool).name, "bool");
  expect(info_of(kUInt64).name, "uint64");
  expect(info_of(kBfloat16).name, "bfloat16");
  expect(info_of(kFloat8_e4m3b11fnuz).name, "float8_e4m3b11fnuz");
  expect(info_of(kFloat4_e2m1fn).name, "float4_e2m1fn");
  expect(static_cast<std::size_t>(kFloat4_e2m1fn) + 1, kScalars.size());
  check(find_scalar(static_cast<unsigned>(Kind::kFloat), 8) == kNone, "no float of 8 bits");
});

const Case rows("scalar_index() finds every row of kScalars, and all rows differ", [] {
  for (std::size_t i = 0; i < kScalars.size(); ++i) {
    expect(scalar_index(static_cast<unsigned>(kScalars[i].kind), kScalars[i].bits),
           static_cast<int>(i));
    for (std::size_t j = 0; j < i; ++j) check(kScalars[i].name != kScalars[j].name);
  }
  expect(scalar_index(static_cast<unsigned>(Kind::kFloat), 8), -1);
  expect(scalar_index(static_cast<unsigned>(Kind::kBool), 1), -1);
  // An imported struct may contain any code and any number of bits.
  for (unsigned code = 0; code < 300; ++code) {
    for (unsigned bits = 0; bits < 300; ++bits) {
      const int row = scalar_index(code, bits);
      bool listed = false;
      for (const ScalarInfo& each : kScalars)
        listed |= static_cast<unsigned>(each.kind) == code && each.bits == bits;
      check((row >= 0) == listed, text(code, " ", bits));
    }
  }
  expect(scalar_index(0xFFFFFFFFU, 32), -1);
  expect(scalar_index(2, 0xFFFFFFFFU), -1);
});

const Case sizes("stored bits, itemsize and packing", [] {
  struct Row {
    DType dtype;
    int stored_bits;
    int itemsize;
    bool packed;
  };
  for (const Row& row : {
           Row{{Kind::kBool, 8, 1, false}, 8, 1, false},
           Row{{Kind::kComplex, 128, 1, false}, 128, 16, false},
           Row{{Kind::kComplex, 128, 65535, false}, 8388480, 1048560, false},
           Row{{Kind::kFloat, 16, 3, false}, 48, 6, false},
           Row{{Kind::kFloat4_e2m1fn, 4, 1, false}, 4, 1, true},
           Row{{Kind::kFloat4_e2m1fn, 4, 1, true}, 8, 1, false},
           Row{{Kind::kFloat4_e2m1fn, 4, 2, false}, 8, 1, false},
           Row{{Kind::kFloat4_e2m1fn, 4, 3, false}, 12, 2, true},
           Row{{Kind::kFloat4_e2m1fn, 4, 3, true}, 16, 2, false},
           Row{{Kind::kFloat6_e2m3fn, 6, 1, false}, 6, 1, true},
           Row{{Kind::kFloat6_e2m3fn, 6, 1, true}, 8, 1, false},
           Row{{Kind::kFloat6_e2m3fn, 6, 4, false}, 24, 3, false},
           Row{{Kind::kFloat6_e2m3fn, 6, 65535, true}, 393216, 49152, false},
       }) {
    expect(row.dtype.stored_bits(), row.stored_bits, name(row.dtype));
    expect(row.dtype.itemsize(), row.itemsize, name(row.dtype));
    expect(row.dtype.is_packed(), row.packed, name(row.dtype));
  }
  check(DType{Kind::kComplex, 64, 1, false}.is_complex() && !DType{}.is_complex());
  check(DType{Kind::kFloat6_e2m3fn, 6, 1, false}.is_sub_byte() && !DType{}.is_sub_byte());
});

const Case host("is_host()", [] {
  check(Device{}.is_host());
  check(Device{DeviceKind::kCudaHost, 0}.is_host());
  check(Device{DeviceKind::kRocmHost, 0}.is_host());
  check(!Device{DeviceKind::kCuda, 0}.is_host());
  check(!Device{DeviceKind::kRocm, 0}.is_host());
  check(!Device{DeviceKind::kCudaManaged, 0}.is_host());
});

const Case unknown("kinds that do not exist have a name too", [] {
  expect(name(Device{static_cast<DeviceKind>(77), 3}), "unknown:3");
  expect(name(DType{Kind::kInt, 24, 1, false}), "unknown");
});

}  // namespace
