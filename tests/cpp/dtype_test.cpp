// Tests of refarray/core/dtype.hpp.
#include "refarray/core/dtype.hpp"

#include "check.hpp"
#include "names.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;
using namespace std::string_view_literals;

constexpr std::uint16_t kLanes[] = {1, 2, 3, 4, 7, 8, 10, 16, 255, 256, 9999, 10000, 65535};

const Case round_trip("every name parses back to its dtype", [] {
  for (const ScalarInfo& row : kScalars) {
    for (const std::uint16_t lanes : kLanes) {
      for (const bool padded : {false, true}) {
        const DType dtype{row.kind, row.bits, lanes, padded};
        const std::string text = name(dtype);
        const std::optional<DType> back = dtype_from_name(text);
        if (padded && row.bits >= 8) {
          check(!back, text);  // whole-byte types cannot be padded
        } else {
          check(back.has_value() && *back == dtype, text);
        }
      }
    }
  }
});

const Case spelling("names are spelled as documented", [] {
  expect(name(DType{}), "float64");
  expect(name(DType{Kind::kFloat, 32, 4, false}), "float32x4");
  expect(name(DType{Kind::kFloat4_e2m1fn, 4, 1, true}), "float4_e2m1fn_padded");
  expect(name(DType{Kind::kFloat6_e3m2fn, 6, 2, true}), "float6_e3m2fnx2_padded");
  expect(name(DType{Kind::kBool, 8, 1, false}), "bool");
  expect(name(DType{Kind::kInt, 24, 1, false}), "unknown");
});

const Case malformed("malformed names are rejected", [] {
  rejects(dtype_from_name, "", " ", "x", "x4", "float", "int", "float32 ", " float32", "Float32",
          "FLOAT32", "float32x", "float32x0", "float32x1", "float32x01", "float32x04", "float32x-4",
          "float32x+4", "float32x4x4", "float32x4 ", "float32x 4", "float32x65536", "float32x99999",
          "float32x100000", "float32x4294967297", "float32x18446744073709551617", "float32x1a",
          "float32xa1", "float32xx4", "float32_4", "float33", "int24", "float", "uint", "bool8",
          "boolean", "float8", "float8_e4m3f", "float8_e4m3fnu", "float4_e2m1", "_padded",
          "float32_padded", "float4_e2m1fn_padde", "float4_e2m1fnpadded",
          "float4_e2m1fn_padded_padded", "float4_e2m1fn_paddedx2", "float8_e5m2_padded", "complex",
          "complex16", "bfloat", "<f4", "float32\n", "float32\0"sv, "int8x4\0"sv);
});

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

const Case equality("dtypes differ if any member differs", [] {
  const DType base{Kind::kFloat4_e2m1fn, 4, 1, false};
  check(base == DType{Kind::kFloat4_e2m1fn, 4, 1, false});
  check(base != DType{Kind::kFloat4_e2m1fn, 4, 1, true});
  check(base != DType{Kind::kFloat4_e2m1fn, 4, 2, false});
  check(DType{Kind::kInt, 8, 1, false} != DType{Kind::kUInt, 8, 1, false});
  check(DType{Kind::kInt, 8, 1, false} != DType{Kind::kInt, 16, 1, false});
});

}  // namespace
