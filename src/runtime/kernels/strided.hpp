// Owns the kernels that take units one by one through any layout: moves, fills, and elements of
// bits.
#pragma once

#include <cstdint>

#include "runtime/kernels/memory.hpp"
#include "runtime/kernels/params.hpp"

namespace refarray::runtime::kernels {

/// Calls `body(turn)` for the turns of one thread, which shall not wait for each other's memory.
template <class Body>
inline void each_turn(Body body) noexcept {
#if defined(__clang__)
#pragma clang loop unroll(full)
#endif
  for (std::uint32_t turn = 0; turn < kPerThread; ++turn) body(turn);
}

/// Calls `body(index)` for the units of one thread; neighbouring threads have neighbouring units.
template <class Body>
inline void each_unit(const Params& params, std::uint32_t block, std::uint32_t thread,
                      Body body) noexcept {
  const std::uint32_t first = block * (kBlock * kPerThread) + thread;
  each_turn([&](std::uint32_t turn) {
    if (first + turn * kBlock < params.count) body(first + turn * kBlock);
  });
}

/// A kernel is a type: what its threads share, and what each does between two barriers.
struct Nothing {};

/// Moves units of kBytes. Addresses and distances are multiples of it.
template <int kBytes>
struct Strided {
  using Shared = Nothing;
  static constexpr int kPhases = 1;

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    CopyWord<kBytes> units[kPerThread] = {};
    std::uint64_t to[kPerThread] = {};
    const std::uint32_t first = block * (kBlock * kPerThread) + thread;
    each_turn([&](std::uint32_t turn) {  // all loads before any store
      if (first + turn * kBlock >= params.count) return;
      const Place place = place_of(params, first + turn * kBlock);
      to[turn] = params.dst + static_cast<std::uint64_t>(place.dst);
      units[turn] = load<CopyWord<kBytes>>(params.src + static_cast<std::uint64_t>(place.src));
    });
    each_turn([&](std::uint32_t turn) {
      if (first + turn * kBlock < params.count) store(to[turn], units[turn]);
    });
  }
};

/// Writes the first kBytes of params.value to every unit.
template <int kBytes>
struct Fill {
  using Shared = Nothing;
  static constexpr int kPhases = 1;

  static CopyWord<kBytes> value_of(const Params& params) noexcept {
    if constexpr (kBytes == 16) {
      const auto part = [&params](int word) {
        return static_cast<std::uint32_t>(params.value[word / 2] >> (word % 2 * 32));
      };
      return CopyWord<16>{part(0), part(1), part(2), part(3)};
    } else {
      return static_cast<CopyWord<kBytes>>(params.value[0]);
    }
  }

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    const CopyWord<kBytes> value = value_of(params);
    each_unit(params, block, thread, [&](std::uint32_t index) {
      store(params.dst + static_cast<std::uint64_t>(place_of(params, index).dst), value);
    });
  }
};

/// One element of bits, packed or padded; what pads it becomes zero.
inline void move_element(const Params& params, const Place& place) noexcept {
  for (std::uint32_t done = 0; done < params.dst_width; done += 8) {
    const auto of_piece = [done](std::uint32_t width) {
      return width < done ? 0 : width - done < 8 ? width - done : 8;
    };
    const std::uint32_t width = of_piece(params.src_width);
    std::uint32_t bits = 0;
    if (width > 0) bits = load_bits(params.src, params.src_bit + place.src + done, width);
    const std::int64_t to = params.dst_bit + place.dst + done;
    if (params.dst_access == Access::kBits)
      store_bits(params.dst, to, of_piece(params.dst_width), bits);
    else
      store(params.dst + static_cast<std::uint64_t>(to >> 3), static_cast<std::uint8_t>(bits));
  }
}

/// Elements that are not whole bytes on one side at least, without a change of their value.
struct Bits {
  using Shared = Nothing;
  static constexpr int kPhases = 1;

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    each_unit(params, block, thread,
              [&](std::uint32_t index) { move_element(params, place_of(params, index)); });
  }
};

/// Writes params.value to every packed element of up to 64 bits.
struct FillBits {
  using Shared = Nothing;
  static constexpr int kPhases = 1;

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    each_unit(params, block, thread, [&](std::uint32_t index) {
      const std::int64_t to = params.dst_bit + place_of(params, index).dst;
      for (std::uint32_t done = 0; done < params.dst_width; done += 8) {
        const std::uint32_t left = params.dst_width - done;
        const std::uint32_t width = left < 8 ? left : 8;
        store_bits(params.dst, to + done, width,
                   static_cast<std::uint32_t>(params.value[0] >> done) & ((1U << width) - 1));
      }
    });
  }
};

}  // namespace refarray::runtime::kernels
