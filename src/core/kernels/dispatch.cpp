// Runtime dispatch: the kernel tables of this build that this processor supports, and the table in
// use.
#include <atomic>
#include <cstring>

#include "core/kernels/table.hpp"

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
  __builtin_cpu_init();  // also checks that the operating system saves the wide registers
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("bmi2");
  add(__builtin_cpu_supports("avx512vbmi") ? kAvx512Table : avx512_without_vbmi(), has_avx512);
  add(kAvx2Table, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"));
  add(kSse4Table, __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"));
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
