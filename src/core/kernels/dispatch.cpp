// Runtime dispatch: the kernel tables of this build that this processor supports, and the table in
// use.
#include <atomic>
#include <cstring>

#include "core/kernels/table.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace refarray::core::kernels {

extern const Table kPlainTable;
#if defined(__x86_64__)
extern const Table kSse4Table;
extern const Table kAvx2Table;
extern const Table kAvx512Table;
#else
extern const Table kSimd128Table;
#endif

namespace {

constinit std::atomic<const Table*> in_use{nullptr};

#if defined(__x86_64__)
/// What the processor has, and whether the operating system saves the wide registers. Not by
/// __builtin_cpu_supports(), which knows nothing where zig's runtime library is linked.
struct Features {
  bool has_sse4 = false, has_avx2 = false, has_avx512 = false, has_vbmi = false;

  Features() noexcept {
    constexpr unsigned kSse42 = 1U << 20, kPopcnt = 1U << 23, kFma = 1U << 12, kXgetbv = 1U << 27;
    constexpr unsigned kAvx2 = 1U << 5 | 1U << 3 | 1U << 8;  // with BMI and BMI2
    constexpr unsigned kAvx512 =
        1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;  // F DQ CD BW VL
    constexpr unsigned kVbmi = 1U << 1, kVectors = 0x6, kWideVectors = 0xE6;
    unsigned eax = 0, ebx = 0, basic = 0, extended = 0, more = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &basic, &edx) == 0) return;
    has_sse4 = (basic & kSse42) != 0 && (basic & kPopcnt) != 0;
    if ((basic & kXgetbv) == 0 || __get_cpuid_count(7, 0, &eax, &extended, &more, &edx) == 0)
      return;
    unsigned saved;
    __asm__("xgetbv" : "=a"(saved), "=d"(edx) : "c"(0));
    has_avx2 = (extended & kAvx2) == kAvx2 && (basic & kFma) != 0 && (saved & kVectors) == kVectors;
    has_avx512 =
        has_avx2 && (extended & kAvx512) == kAvx512 && (saved & kWideVectors) == kWideVectors;
    has_vbmi = has_avx512 && (more & kVbmi) != 0;
  }
};

/// Copies as with AVX2; what computes has no use for VBMI.
const Table& avx512_without_vbmi() noexcept {
  static const Table table = [] {
    Table out = kAvx2Table;
    out.level = kAvx512Table.level;
    out.name = kAvx512Table.name;
    return out;
  }();
  return table;
}
#endif

}  // namespace

Choices choices() noexcept {
  Choices out{{}, 0};
  const auto add = [&out](const Table& table, bool supported) {
    if (supported) out.tables[out.count++] = &table;
  };
#if defined(__x86_64__)
  static const Features features;  // CPUID takes long in a virtual machine
  add(features.has_vbmi ? kAvx512Table : avx512_without_vbmi(), features.has_avx512);
  add(kAvx2Table, features.has_avx2);
  add(kSse4Table, features.has_sse4);
#else
  add(kSimd128Table, true);
#endif
  add(kPlainTable, true);
  return out;
}

const Table& table() noexcept {
  const Table* current = in_use.load(std::memory_order_acquire);
  if (current == nullptr) [[unlikely]] {
    current = choices().tables[0];
    in_use.store(current, std::memory_order_release);
  }
  return *current;
}

bool use(const char* name) noexcept {
  const Choices all = choices();
  for (int i = 0; i < all.count; ++i) {
    if (std::strcmp(all.tables[i]->name, name) != 0) continue;
    in_use.store(all.tables[i], std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace refarray::core::kernels
