// Tests of device copies and fills: the planned launches, executed by the device kernels compiled
// for the host, must give the same bits as core::copy().
#include "runtime/copy/device_plan.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "check.hpp"
#include "core/copy/copy.hpp"
#include "host_kernels.hpp"
#include "placement.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

using refarray::runtime::DeviceStep;
using refarray::runtime::DeviceSteps;
namespace runtime = refarray::runtime;
namespace kernels = runtime::kernels;

// Kernels for packed elements read and write whole words around them.
constexpr std::int64_t kMargin = 16;

std::uint64_t address_of(const std::byte* data) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data));
}

void expect_inside(const kernels::Range& range, const Bytes& memory, const char* what) {
  if (range.begin == range.end) return;
  const std::uint64_t begin = address_of(memory.data());
  check(range.begin >= begin && range.end <= begin + memory.size(),
        std::string(what) + " accesses memory outside of its block");
}

/// Executes the steps as a driver and a device do.
void run_steps(const DeviceSteps& steps, const Bytes& to, const Bytes& from) {
  for (const DeviceStep& step : steps) {
    if (step.kind == DeviceStep::Kind::kMemcpy) {
      std::memcpy(reinterpret_cast<void*>(step.params.dst),
                  reinterpret_cast<const void*>(step.params.src),
                  static_cast<std::size_t>(step.nbytes));
      continue;
    }
    const kernels::Footprint footprint = kernels::footprint(step.name(), step.params);
    expect_inside(footprint.dst, to, step.name());
    expect_inside(footprint.src, from, step.name());
    const kernels::HostKernel* kernel = kernels::host_kernel(step.name());
    check(kernel != nullptr && step.grid > 0, step.name());
    if (kernel != nullptr) kernel->run(step.params, {{step.grid, 1, 1}});
  }
}

std::string names_of(const DeviceSteps& steps) {
  std::string out = " by";
  for (const DeviceStep& step : steps)
    out += step.kind == DeviceStep::Kind::kMemcpy ? " memcpy" : std::string(" ") + step.name();
  return out;
}

/// Memory around a placement of packed elements. Other kernels stay inside, as ASAN sees.
Placement with_margin(Placement place) {
  if (place.dtype.stored_bits() % 8 == 0) return place;
  place.origin += 8 * kMargin;
  place.nbytes += 2 * kMargin;
  return place;
}

DeviceSteps expect_device_copy(const Placement& to, const Placement& from) {
  const Placement dst = with_margin(to);
  const Placement src = with_margin(from);
  Bytes source = random_bytes(src.nbytes);
  Bytes seen = random_bytes(dst.nbytes);
  Bytes expected = seen;
  copy(dst.in(expected), src.in(source));
  DeviceSteps steps = runtime::plan_device_copy(dst.in(seen), src.in(source));
  run_steps(steps, seen, source);
  check(seen == expected, describe(dst, src) + names_of(steps));
  return steps;
}

bool launches(const DeviceSteps& steps, const char* name) {
  return std::ranges::any_of(steps, [name](const DeviceStep& step) {
    return step.kind == DeviceStep::Kind::kLaunch && std::string(step.name()) == name;
  });
}

const Case pairs("every pair of types with random layouts", [] {
  for (const DType& from : all_types()) {
    for (const DType& to : all_types()) {
      if (!can_convert(from, to)) continue;
      for (int round = 0; round < 12; ++round) {
        const List shape = random_shape();
        expect_device_copy(random_placement(to, shape, false), random_placement(from, shape, true));
      }
    }
  }
});

/// `count` elements of `memory` convert to every type as on the CPU.
void expect_conversions(const Placement& source, Bytes& memory, const DType& from,
                        std::int64_t count) {
  for (const DType& to : all_types()) {
    if (!can_convert(from, to)) continue;
    const Placement dst = with_margin(row_major(to, {count}, 0));
    Bytes seen = random_bytes(dst.nbytes);
    Bytes expected = seen;
    copy(dst.in(expected), source.in(memory));
    run_steps(runtime::plan_device_copy(dst.in(seen), source.in(memory)), seen, memory);
    check(seen == expected, name(from) + " -> " + name(to));
  }
}

const Case values("all 16-bit values and random wider ones convert to the same bits", [] {
  for (const DType& from : all_types()) {
    const std::int64_t count = from.bits <= 16 ? 65536 : 4096;
    const Placement source = with_margin(row_major(from, {count}, 0));
    Bytes memory = random_bytes(source.nbytes);
    for (std::int64_t i = 0; from.bits <= 16 && !from.is_packed() && i < count; ++i)
      std::memcpy(memory.data() + source.origin / 8 + i * from.itemsize(), &i,
                  static_cast<std::size_t>(from.itemsize()));
    expect_conversions(source, memory, from, count);
  }
});

const Case specials("NaNs, infinities and ties convert to the same bits", [] {
  const std::uint64_t wide[] = {0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
                                0xFFF8000000000001, 0x7FF0000000000001, 0xFFF4000020000000,
                                0x7FF7FFFFFFFFFFFF, 0x8000000000000000, 0x0000000000000001,
                                0x41EFFFFFFFE00000, 0x43E0000000000000, 0xC3E0000000000000,
                                0x43F0000000000000, 0x40EFFE0000000000, 0x3F10000000000001};
  const std::uint32_t narrow[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001,
                                  0xFFA00000, 0x7FBFFFFF, 0x80000000, 0x00000001, 0x4F000000,
                                  0xCF000000, 0x4F800000, 0x477FF000, 0x33000000, 0x3F808000};
  for (const char* type_name : {"float64", "complex128", "float32", "complex64"}) {
    const DType from = type(type_name);
    const bool is_wide = from.bits / (from.is_complex() ? 2 : 1) == 64;
    const auto* bytes = is_wide ? reinterpret_cast<const std::byte*>(wide)
                                : reinterpret_cast<const std::byte*>(narrow);
    const std::size_t nbytes = is_wide ? sizeof wide : sizeof narrow;
    const std::int64_t count = static_cast<std::int64_t>(nbytes) / from.itemsize();
    const Placement source = row_major(from, {count}, 0);
    Bytes memory(bytes, bytes + static_cast<std::size_t>(source.nbytes));
    expect_conversions(source, memory, from, count);
  }
});

const Case vectors("vector types: packed, padded and of odd sizes", [] {
  for (const char* name : {"float32x4", "float64x3", "float16x3", "bfloat16x2", "int8x3",
                           "complex128x2", "float4_e2m1fnx2", "float4_e2m1fnx3", "float6_e2m3fnx4",
                           "float6_e3m2fnx3", "float6_e3m2fnx7", "boolx8"}) {
    DType from = type(name);
    for (int round = 0; round < 60; ++round) {
      DType to = from;
      to.padded = from.is_sub_byte() && random_below(2) == 0;
      from.padded = from.is_sub_byte() && random_below(2) == 0;
      const List shape = random_shape();
      expect_device_copy(random_placement(to, shape, false), random_placement(from, shape, true));
    }
  }
});

/// A column-major placement of `shape`.
Placement transposed(const DType& dtype, const List& shape, std::int64_t first) {
  Placement out = row_major(dtype, List(shape.rbegin(), shape.rend()), first);
  std::reverse(out.shape.begin(), out.shape.end());
  std::reverse(out.strides.begin(), out.strides.end());
  return out;
}

const Case transposes("transposes of any size and alignment use the tiled kernel", [] {
  const std::vector<std::pair<const char*, const char*>> types = {
      {"uint8", "refarray_tiled_1"},
      {"float16", "refarray_tiled_2"},
      {"float32", "refarray_tiled_4"},
      {"float64", "refarray_tiled_8"},
      {"complex128", "refarray_strided_16"}};
  for (const auto& [dtype, kernel] : types) {
    for (const List& shape : {List{70, 131}, List{5, 64, 65}, List{129, 9, 40}, List{300, 8},
                              List{257, 259}, List{128, 128}, List{8, 8}, List{4, 3, 130, 9}}) {
      for (std::int64_t first = 0; first < 4; ++first) {
        Placement source = transposed(type(dtype), shape, first);
        const Placement result = row_major(type(dtype), shape, 3 - first);
        check(launches(expect_device_copy(result, source), kernel), describe(result, source));
        check(launches(expect_device_copy(source, result), kernel), describe(source, result));
        source.strides[0] = -source.strides[0];
        source.origin -= (shape[0] - 1) * source.strides[0] * source.dtype.stored_bits();
        expect_device_copy(result, source);
        expect_device_copy(source, result);
      }
    }
  }
});

const Case alignments("transposes of several tiles with rows and columns at every alignment", [] {
  for (const char* dtype : {"uint8", "float16", "float32", "float64"}) {
    for (const List& shape : {List{256, 272}, List{144, 257}}) {
      for (std::int64_t first = 0; first <= 32; ++first) {
        const Placement source = transposed(type(dtype), shape, first);
        const Placement result = row_major(type(dtype), shape, 32 - first);
        expect_device_copy(result, source);
        expect_device_copy(source, result);
      }
    }
  }
});

const Case short_rows("transposes of only a few words across, in every axis order", [] {
  for (const char* dtype : {"uint8", "float16", "float32", "float64"}) {
    List shape = {2, 3, 70, 40};
    List order = {0, 1, 2, 3};
    do {
      Placement source = row_major(type(dtype), {2, 3, 70, 40}, 1);
      const Placement straight = source;
      for (std::size_t axis = 0; axis < 4; ++axis) {
        shape[axis] = straight.shape[static_cast<std::size_t>(order[axis])];
        source.strides[axis] = straight.strides[static_cast<std::size_t>(order[axis])];
      }
      source.shape = shape;
      expect_device_copy(row_major(type(dtype), shape, 2), source);
      expect_device_copy(source, row_major(type(dtype), shape, 2));
    } while (std::next_permutation(order.begin(), order.end()));
  }
});

const Case large("random layouts of many thread blocks and tiles", [] {
  for (const char* dtype : {"uint8", "float16", "float32", "float64", "complex128", "float16x3"}) {
    for (int round = 0; round < 80; ++round) {
      List shape(static_cast<std::size_t>(1 + random_below(4)));
      for (std::int64_t& extent : shape) extent = 1 + random_below(shape.size() < 3 ? 200 : 24);
      expect_device_copy(random_placement(type(dtype), shape, false),
                         random_placement(type(dtype), shape, random_below(2) == 0));
    }
  }
});

const Case rows("contiguous rows at any byte offset", [] {
  for (const std::int64_t length : {64, 65, 79, 80, 81, 127, 1000, 1021}) {
    for (const std::int64_t gap : {1, 2, 3, 5}) {
      for (std::int64_t first = 0; first < 5; ++first) {
        Placement source = row_major(type("uint8"), {9, length + gap}, first);
        Placement result = row_major(type("uint8"), {9, length + 2 * gap}, 3 * first);
        source.shape[1] = result.shape[1] = length;
        source.nbytes = tight_size(source);
        result.nbytes = tight_size(result);
        const DeviceSteps steps = expect_device_copy(result, source);
        if (gap % 2 != 0) check(launches(steps, "refarray_rows"), names_of(steps));
      }
    }
  }
});

const Case packed_rows("contiguous packed rows are copied as bytes, except their ends", [] {
  for (const char* dtype : {"float4_e2m1fn", "float6_e2m3fn"}) {
    for (const std::int64_t count : {1, 2, 3, 8, 255, 256, 257, 1000}) {
      for (std::int64_t first = 0; first < 5; ++first) {
        expect_device_copy(row_major(type(dtype), {count}, first),
                           row_major(type(dtype), {count}, first));
        expect_device_copy(row_major(type(dtype), {count}, first),
                           row_major(type(dtype), {count}, 0));
        Placement source = row_major(type(dtype), {5, count + 8 - count % 4}, 4 * first);
        source.shape[1] = count;
        source.nbytes = tight_size(source);
        expect_device_copy(row_major(type(dtype), {5, count}, 0), source);
      }
    }
  }
});

const Case many_axes("copies with more axes than a kernel supports are split into several launches",
                     [] {
                       for (const std::size_t rank : {16U, 17U, 18U, 19U}) {
                         const List shape(rank, 2);
                         for (const char* from : {"int8", "float32"}) {
                           for (const char* to : {"float32", "int8"}) {
                             const DeviceSteps steps =
                                 expect_device_copy(random_placement(type(to), shape, false),
                                                    random_placement(type(from), shape, true));
                             check(!steps.empty());
                           }
                         }
                       }
                       List shape(64, 1);
                       shape[3] = 5;
                       shape[63] = 7;
                       expect_device_copy(random_placement(type("float32"), shape, false),
                                          random_placement(type("float32"), shape, true));
                     });

/// A view of memory that does not exist, for plans that are not executed.
struct Unmapped {
  List shape;
  List strides;
  DType dtype;
  std::uint64_t address;
  ArrayView view() const {
    return view_at(reinterpret_cast<std::byte*>(address), dtype, shape, strides.data());
  }
};

/// The number of words that the steps copy. Also checks that all parameters fit 31 bits.
std::int64_t words_of(const DeviceSteps& steps) {
  std::int64_t words = 0;
  for (const DeviceStep& step : steps) {
    std::int64_t here = 1;
    for (int i = 0; i < step.params.axes; ++i) here *= step.params.axis[i].extent.value;
    if (step.params.plane.rows > 0) here *= std::int64_t{step.params.plane.rows};
    if (step.params.plane.rows > 0) here *= std::int64_t{step.params.plane.columns};
    check(step.params.count < kernels::kMaxCount, step.name());
    check(std::uint64_t{step.grid} * kernels::kBlock < (std::uint64_t{1} << 32), step.name());
    words += here;
  }
  return words;
}

const Case huge("copies of more than 2^31 words are split completely", [] {
  constexpr std::int64_t kSide = std::int64_t{1} << 17;
  const DType byte = type("uint8");
  const Unmapped source{{kSide, kSide}, {2 * kSide, 2}, byte, 1 << 20};
  const Unmapped result{{kSide, kSide}, {3 * kSide, 3}, byte, std::uint64_t{1} << 40};
  const DeviceSteps strided = runtime::plan_device_copy(result.view(), source.view());
  expect(words_of(strided), kSide * kSide, "words");
  expect(strided.size(), std::size_t{16}, "launches");
  const Unmapped transposed{{kSide * 64, kSide * 64}, {1, kSide * 64}, byte, 1 << 20};
  const Unmapped straight{{kSide * 64, kSide * 64}, {kSide * 64, 1}, byte, std::uint64_t{1} << 50};
  const DeviceSteps tiled = runtime::plan_device_copy(straight.view(), transposed.view());
  expect(words_of(tiled), kSide * 64 * kSide * 64, "words of tiles");
  check(launches(tiled, "refarray_tiled_1") && tiled.size() == 512, "launches of the tiled kernel");
  const Unmapped line{{kSide * kSide}, {1}, byte, 1 << 20};
  const DeviceSteps moved = runtime::plan_device_copy(line.view(), line.view());
  check(moved.size() == 1 && moved[0].kind == DeviceStep::Kind::kMemcpy, "contiguous: one memcpy");
  expect(moved[0].nbytes, kSide * kSide, "bytes");
});

const Case wide_words("contiguous aligned memory is copied in words of 16 bytes", [] {
  const Unmapped source{{100, 64}, {128, 1}, type("float32"), 1 << 20};
  const Unmapped result{{100, 64}, {96, 1}, type("float32"), 1 << 30};
  const DeviceSteps steps = runtime::plan_device_copy(result.view(), source.view());
  check(steps.size() == 1 && launches(steps, "refarray_strided_16"), names_of(steps));
  expect(words_of(steps), std::int64_t{100 * 16}, "words");
});

const Case shared_dst("if elements of dst share memory, one of their values remains", [] {
  for (const char* dtype : {"float32", "complex128", "float4_e2m1fn", "float16x3"}) {
    Placement result = row_major(type(dtype), {7}, 0);
    result.shape = {6, 7};
    result.strides = {0, 1};
    const Placement source = row_major(type(dtype), {6, 7}, 0);
    Bytes memory = random_bytes(source.nbytes + kMargin);
    Bytes seen = random_bytes(result.nbytes + kMargin);
    run_steps(runtime::plan_device_copy(result.in(seen), source.in(memory)), seen, memory);
    for (std::int64_t i = 0; i < 7; ++i) {
      bool found = false;
      for (std::int64_t row = 0; row < 6; ++row) {
        Bytes other = seen;
        copy(result.at(other, i), source.at(memory, row * 7 + i));
        found = found || other == seen;
      }
      check(found, dtype);
    }
  }
});

const Case fills("fills of every type with random layouts", [] {
  std::vector<DType> types = all_types();
  for (const char* name : {"float32x3", "int8x3", "float16x3", "float4_e2m1fnx3", "float32x4",
                           "float6_e3m2fnx7", "int8x12"})
    types.push_back(type(name));
  for (const DType& dtype : types) {
    check(runtime::can_fill(dtype), name(dtype));
    for (int round = 0; round < 40; ++round) {
      const Placement place =
          with_margin(random_placement(dtype, round == 0 ? List{40, 33} : random_shape(), false));
      Placement one = row_major(dtype, {}, 0);
      one.shape = place.shape;
      one.strides = List(place.shape.size(), 0);
      Bytes value = random_bytes(16);
      Bytes seen = random_bytes(place.nbytes);
      Bytes expected = seen;
      copy(place.in(expected), one.in(value));
      const DeviceSteps steps = runtime::plan_device_fill(place.in(seen), value.data());
      run_steps(steps, seen, seen);
      if (dtype.padded)
        continue;  // a fill keeps the padding bits of the value; a host copy clears them
      check(seen == expected, describe(place, one) + names_of(steps));
    }
  }
  check(!runtime::can_fill(type("float64x3")) && !runtime::can_fill(type("float4_e2m1fnx17")));
});

const Case wide_fills("contiguous memory is filled in words of 16 bytes for every type", [] {
  const Unmapped place{{1000, 1600}, {1600, 1}, type("uint8"), 1 << 20};
  const std::byte value{7};
  const DeviceSteps steps = runtime::plan_device_fill(place.view(), &value);
  check(steps.size() == 1 && launches(steps, "refarray_fill_16"), names_of(steps));
  expect(words_of(steps), std::int64_t{100000}, "words");
});

const Case divisors("division by multiplication with magic numbers", [] {
  std::vector<std::uint32_t> numbers = {1, 2, 3, 5, 7, 10, 641, 65535, 65536, 65537, 2147483647};
  for (int i = 0; i < 300; ++i)
    numbers.push_back(
        static_cast<std::uint32_t>(1 + random_below(std::int64_t{1} << (1 + i % 31))));
  for (const std::uint32_t by : numbers) {
    const kernels::Divisor divisor(by);
    for (const std::uint32_t base : numbers) {
      for (const std::uint32_t n : {base - 1, base, base / by * by, base / by * by - 1}) {
        if (n < kernels::kMaxCount) check(divisor.divide(n) == n / by, std::to_string(by));
      }
    }
  }
});

}  // namespace
