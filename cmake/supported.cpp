// What the sources need of a compiler; cmake/Supported.cmake compiles it.
#include <cxxabi.h>

#include <bit>
#include <compare>
#include <concepts>
#include <span>

typedef float Vector __attribute__((vector_size(32)));

template <std::integral T>
consteval T half(T x) {
  return x / 2;
}

int main() {
  const Vector vectors[] = {{}, {}};
  const std::span<const Vector> span(vectors);
  const auto bits = std::bit_cast<long long>(1.0);
  long long product = 0;
  const bool overflows = __builtin_mul_overflow(bits, half(4), &product);
  return overflows && (span[0] + span[half(2)])[0] < 0 && (product <=> 0) < 0;
}
