// The loops of elementwise kernels: they load elements, apply a functor, and store the results.
//
// A functor has a static `apply`. Loads and stores are copies of bytes, because neither inputs nor
// output need be aligned. Everything has internal linkage: see kernels/vector.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compute/kernels/operations.hpp"

namespace refarray::core::kernels {
namespace {

template <class T>
inline T load(const std::byte* from, std::int64_t index) noexcept {
  T value;
  std::memcpy(&value, from + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <class T>
inline void store(std::byte* to, std::int64_t index, T value) noexcept {
  std::memcpy(to + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

// `ivdep`: the output is one of the inputs or does not overlap them, so that no iteration depends
// on another.

template <class F, class T, class R>
void unary_kernel(std::byte* out, const std::byte* const* in, std::int64_t count,
                  unsigned /*scalars*/) noexcept {
  const std::byte* const x = in[0];
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) store<R>(out, i, F::apply(load<T>(x, i)));
}

template <class F, class T, class R>
void binary_kernel(std::byte* out, const std::byte* const* in, std::int64_t count,
                   unsigned scalars) noexcept {
  const std::byte* const x = in[0];
  const std::byte* const y = in[1];
  if (scalars == 1) {
    const T first = load<T>(x, 0);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) store<R>(out, i, F::apply(first, load<T>(y, i)));
  } else if (scalars == 2) {
    const T second = load<T>(y, 0);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) store<R>(out, i, F::apply(load<T>(x, i), second));
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
      store<R>(out, i, F::apply(load<T>(x, i), load<T>(y, i)));
  }
}

}  // namespace
}  // namespace refarray::core::kernels
