// Kernels that process elements one by one in any layout: copies, fills and packed elements.
#pragma once

#include <cstdint>

#include "runtime/kernels/memory.hpp"
#include "runtime/kernels/params.hpp"

namespace refarray::runtime::kernels {

/// Calls `body(turn)` for each of a thread's elements. Unrolled, so that the loads of several turns
/// overlap.
template <class Body>
inline void each_turn(Body body) noexcept {
#if defined(__clang__)
#pragma clang loop unroll(full)
#endif
  for (std::uint32_t turn = 0; turn < kPerThread; ++turn) body(turn);
}

/// Calls `body(index)` for each of a thread's elements; neighbouring threads get neighbouring
/// elements.
template <class Body>
inline void each_element(const Params& params, std::uint32_t block, std::uint32_t thread,
                         Body body) noexcept {
  const std::uint32_t first = block * (kBlock * kPerThread) + thread;
  each_turn([&](std::uint32_t turn) {
    if (first + turn * kBlock < params.count) body(first + turn * kBlock);
  });
}

/// A kernel is a type with its block's shared memory, the number of phases between barriers, and
/// run(), which executes one thread's part of a phase. NoShared: the kernel has no shared memory.
struct NoShared {};

/// Copies words of kBytes. Addresses and strides are multiples of kBytes.
template <int kBytes>
struct Strided {
  using Shared = NoShared;
  static constexpr int kPhases = 1;

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    CopyWord<kBytes> words[kPerThread] = {};
    std::uint64_t to[kPerThread] = {};
    const std::uint32_t first = block * (kBlock * kPerThread) + thread;
    each_turn([&](std::uint32_t turn) {  // all loads before any store
      if (first + turn * kBlock >= params.count) return;
      const Offsets offsets = offsets_of(params, first + turn * kBlock);
      to[turn] = params.dst + static_cast<std::uint64_t>(offsets.dst);
      words[turn] = load<CopyWord<kBytes>>(params.src + static_cast<std::uint64_t>(offsets.src));
    });
    each_turn([&](std::uint32_t turn) {
      if (first + turn * kBlock < params.count) store(to[turn], words[turn]);
    });
  }
};

/// Fills with words of kBytes from params.value.
template <int kBytes>
struct Fill {
  using Shared = NoShared;
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
    each_element(params, block, thread, [&](std::uint32_t index) {
      store(params.dst + static_cast<std::uint64_t>(offsets_of(params, index).dst), value);
    });
  }
};

/// Copies one packed or padded element of any bit width; padding becomes zero.
inline void move_element(const Params& params, const Offsets& offsets) noexcept {
  for (std::uint32_t done = 0; done < params.dst_width; done += 8) {
    const auto bits_from = [done](std::uint32_t width) {
      return width < done ? 0 : width - done < 8 ? width - done : 8;
    };
    const std::uint32_t width = bits_from(params.src_width);
    std::uint32_t bits = 0;
    if (width > 0) bits = load_bits(params.src, params.src_bit + offsets.src + done, width);
    const std::int64_t to = params.dst_bit + offsets.dst + done;
    if (params.dst_access == Access::kBits)
      store_bits(params.dst, to, bits_from(params.dst_width), bits);
    else
      store(params.dst + static_cast<std::uint64_t>(to >> 3), static_cast<std::uint8_t>(bits));
  }
}

/// Copies elements that are not whole bytes on at least one side, without conversion.
struct Bits {
  using Shared = NoShared;
  static constexpr int kPhases = 1;

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    each_element(params, block, thread,
                 [&](std::uint32_t index) { move_element(params, offsets_of(params, index)); });
  }
};

/// Fills packed elements of up to 64 bits with params.value.
struct FillBits {
  using Shared = NoShared;
  static constexpr int kPhases = 1;

  template <int kPhase>
  static void run(const Params& params, std::uint32_t block, std::uint32_t thread,
                  Shared& /*shared*/) noexcept {
    each_element(params, block, thread, [&](std::uint32_t index) {
      const std::int64_t to = params.dst_bit + offsets_of(params, index).dst;
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
