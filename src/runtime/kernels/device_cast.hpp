// The conversion kernel: any element type to any other that the host can convert.
#pragma once

#include <cstdint>

#include "runtime/kernels/device_element.hpp"
#include "runtime/kernels/device_strided.hpp"

namespace refarray::runtime::kernels {

/// Calls `body.operator()<T>()` for the type in that row of core::Elements. All threads of a launch
/// take the same branch.
template <class Body, class... Ts>
inline void with_type(std::uint8_t row, core::ElementList<Ts...> /*types*/, Body body) noexcept {
  std::uint8_t here = 0;
  const auto is_done = [&]<class T>() __attribute__((always_inline)) {
    if (here++ != row) return false;
    body.template operator()<T>();
    return true;
  };
  static_cast<void>((is_done.template operator()<Ts>() || ...));
}

/// Loads and stores byte by byte, for elements that are not aligned to their size.
inline Raw load_unaligned(std::uint64_t at, std::uint32_t bytes) noexcept {
  Raw raw;
  for (std::uint32_t byte = 0; byte < bytes; ++byte) {
    std::uint64_t& word = byte < 8 ? raw.low : raw.high;
    word |= std::uint64_t{load<std::uint8_t>(at + byte)} << (byte % 8 * 8);
  }
  return raw;
}
inline void store_unaligned(std::uint64_t at, std::uint32_t bytes, const Raw& raw) noexcept {
  for (std::uint32_t byte = 0; byte < bytes; ++byte) {
    const std::uint64_t word = byte < 8 ? raw.low : raw.high;
    store(at + byte, static_cast<std::uint8_t>(word >> (byte % 8 * 8)));
  }
}

inline Raw load_element(const Params& params, std::int64_t bit) noexcept {
  const std::uint64_t at = params.src + static_cast<std::uint64_t>(bit >> 3);
  switch (params.src_access) {
    case Access::kBits:
      return {load_bits(params.src, bit, params.src_width), 0};
    case Access::kUnaligned:
      return load_unaligned(at, params.src_width / 8);
    case Access::kAligned:
      break;
  }
  switch (params.src_width) {
    case 8:
      return {load<std::uint8_t>(at), 0};
    case 16:
      return {load<std::uint16_t>(at), 0};
    case 32:
      return {load<std::uint32_t>(at), 0};
    case 64:
      return {load<std::uint64_t>(at), 0};
    default:
      return {load<std::uint64_t>(at), load<std::uint64_t>(at + 8)};
  }
}

inline void store_element(const Params& params, std::int64_t bit, const Raw& raw) noexcept {
  const std::uint64_t at = params.dst + static_cast<std::uint64_t>(bit >> 3);
  switch (params.dst_access) {
    case Access::kBits:
      return store_bits(params.dst, bit, params.dst_width, static_cast<std::uint32_t>(raw.low));
    case Access::kUnaligned:
      return store_unaligned(at, params.dst_width / 8, raw);
    case Access::kAligned:
      break;
  }
  switch (params.dst_width) {
    case 8:
      return store(at, static_cast<std::uint8_t>(raw.low));
    case 16:
      return store(at, static_cast<std::uint16_t>(raw.low));
    case 32:
      return store(at, static_cast<std::uint32_t>(raw.low));
    case 64:
      return store(at, raw.low);
    default:
      store(at, raw.low);
      store(at + 8, raw.high);
  }
}

/// Converts elements of params.src_type to params.dst_type.
struct Cast {
  using Shared = NoShared;
  static constexpr int kPhases = 1;

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    Raw raw[kPerThread] = {};
    Parts parts[kPerThread] = {};
    std::int64_t to[kPerThread] = {};
    const std::uint32_t first = block * (kBlock * kPerThread) + thread;
    each_turn([&](std::uint32_t turn) {
      if (first + turn * kBlock >= params.count) return;
      const Offsets offsets = offsets_of(params, first + turn * kBlock);
      to[turn] = params.dst_bit + offsets.dst;
      raw[turn] = load_element(params, params.src_bit + offsets.src);
    });
    Intermediate type = Intermediate::kSigned;
    with_type(params.src_type, core::Elements{}, [&]<class T>() __attribute__((always_inline)) {
      type = intermediate_of<T>();
      each_turn([&](std::uint32_t turn) { parts[turn] = decode<T>(raw[turn]); });
    });
    Intermediate target = type;
    with_type(params.dst_type, core::Elements{},
              [&]<class T>() __attribute__((always_inline)) { target = encoder_type<T>(type); });
    each_turn([&](std::uint32_t turn) {
      parts[turn] = {converted(target, type, parts[turn].real),
                     converted(target, type, parts[turn].imag)};
    });
    with_type(params.dst_type, core::Elements{}, [&]<class T>() __attribute__((always_inline)) {
      each_turn([&](std::uint32_t turn) { raw[turn] = encode<T>(target, parts[turn]); });
    });
    each_turn([&](std::uint32_t turn) {
      if (first + turn * kBlock < params.count) store_element(params, to[turn], raw[turn]);
    });
  }
};

}  // namespace refarray::runtime::kernels
