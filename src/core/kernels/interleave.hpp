// Owns the shuffles of two, three or four sequences whose units take turns, and the kernels that
// interleave and deinterleave whole sequences.
#pragma once

#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

/// Units kPhase, kPhase + kParts, ... of kParts vectors put one after the other.
template <int kUnit, int kBytes, int kParts, int kPhase>
struct Picked {
  using V = Vector<kUnit, kBytes>;
  static constexpr int kCount = kBytes / kUnit;

  struct Every2 {
    static constexpr int at(int i) { return 2 * i + kPhase; }
  };
  struct Early3 {  // what the first two vectors of three hold
    static constexpr int at(int i) { return 3 * i + kPhase < 2 * kCount ? 3 * i + kPhase : 0; }
  };
  struct Late3 {
    static constexpr int at(int i) {
      return 3 * i + kPhase < 2 * kCount ? i : kCount + (3 * i + kPhase - 2 * kCount);
    }
  };

  [[gnu::always_inline]] static inline V of(const V* in) noexcept {
    if constexpr (kParts == 2) {
      return shuffle<kUnit, kBytes, Every2>(in[0], in[1]);
    } else if constexpr (kParts == 3) {
      const V early = shuffle<kUnit, kBytes, Early3>(in[0], in[1]);
      return shuffle<kUnit, kBytes, Late3>(early, in[2]);
    } else {
      using Half = Picked<kUnit, kBytes, 2, kPhase % 2>;
      const V pairs[2] = {Half::of(in), Half::of(in + 2)};
      return Picked<kUnit, kBytes, 2, kPhase / 2>::of(pairs);
    }
  }
};

/// Vector kWhich of the kParts that kParts vectors give when their units take turns.
template <int kUnit, int kBytes, int kParts, int kWhich>
struct Mixed {
  using V = Vector<kUnit, kBytes>;
  static constexpr int kCount = kBytes / kUnit;
  static constexpr int kFirst = kWhich * kCount;  // the unit that the result begins with

  struct Turn2 {
    static constexpr int at(int i) { return i % 2 * kCount + (kFirst + i) / 2; }
  };
  struct Two3 {  // what the first two parts give
    static constexpr int at(int i) {
      const int part = (kFirst + i) % 3;
      return part < 2 ? part * kCount + (kFirst + i) / 3 : 0;
    }
  };
  struct Third3 {
    static constexpr int at(int i) { return (kFirst + i) % 3 < 2 ? i : kCount + (kFirst + i) / 3; }
  };

  [[gnu::always_inline]] static inline V of(const V* in) noexcept {
    if constexpr (kParts == 2) {
      return shuffle<kUnit, kBytes, Turn2>(in[0], in[1]);
    } else if constexpr (kParts == 3) {
      const V two = shuffle<kUnit, kBytes, Two3>(in[0], in[1]);
      return shuffle<kUnit, kBytes, Third3>(two, in[2]);
    } else {
      const V even[2] = {in[0], in[2]};
      const V odd[2] = {in[1], in[3]};
      const V pairs[2] = {Mixed<kUnit, kBytes, 2, kWhich / 2>::of(even),
                          Mixed<kUnit, kBytes, 2, kWhich / 2>::of(odd)};
      return Mixed<kUnit, kBytes, 2, kWhich % 2>::of(pairs);
    }
  }
};

template <int kUnit>
inline void braid_units(const Interleave& braid, std::int64_t begin, std::int64_t end,
                        bool apart_in_dst) noexcept {
  using T = typename UnitOf<kUnit>::type;
  for (std::int64_t i = begin; i < end; ++i) {
    for (int part = 0; part < braid.parts; ++part) {
      const std::int64_t apart = part * braid.part_step + i * kUnit;
      const std::int64_t beside = (i * braid.parts + part) * kUnit;
      store(braid.dst + (apart_in_dst ? apart : beside),
            load<T>(braid.src + (apart_in_dst ? beside : apart)));
    }
  }
}

template <int kUnit, int kParts, bool kStreams>
[[gnu::always_inline]] inline void interleave_block(const Interleave& braid,
                                                    std::int64_t at) noexcept {
  using V = Vector<kUnit, kWidth>;
  V in[kParts];
  for (int part = 0; part < kParts; ++part)
    in[part] = load<V>(braid.src + part * braid.part_step + at * kUnit);
  [&]<int... which>(std::integer_sequence<int, which...>) {
    (put<kStreams>(braid.dst + at * kUnit * kParts + which * kWidth,
                   Mixed<kUnit, kWidth, kParts, which>::of(in)),
     ...);
  }(std::make_integer_sequence<int, kParts>{});
}

template <int kUnit, int kParts, bool kStreams>
[[gnu::always_inline]] inline void deinterleave_block(const Interleave& braid,
                                                      std::int64_t at) noexcept {
  using V = Vector<kUnit, kWidth>;
  V in[kParts];
  for (int which = 0; which < kParts; ++which)
    in[which] = load<V>(braid.src + at * kUnit * kParts + which * kWidth);
  [&]<int... part>(std::integer_sequence<int, part...>) {
    (put<kStreams>(braid.dst + part * braid.part_step + at * kUnit,
                   Picked<kUnit, kWidth, kParts, part>::of(in)),
     ...);
  }(std::make_integer_sequence<int, kParts>{});
}

/// Blocks of one vector for each part; the last overlaps the one before it. Streaming begins at the
/// first block whose stores fall on whole lines, if there is one.
template <int kUnit, int kParts, bool kApartInDst>
void braid_blocks(const Interleave& braid) noexcept {
  constexpr std::int64_t kCount = kWidth / kUnit;
  const auto block = [&braid](std::int64_t at) {
    if constexpr (kApartInDst)
      deinterleave_block<kUnit, kParts, false>(braid, at);
    else
      interleave_block<kUnit, kParts, false>(braid, at);
  };
  const auto stream_block = [&braid](std::int64_t at) {
    if constexpr (kApartInDst)
      deinterleave_block<kUnit, kParts, true>(braid, at);
    else
      interleave_block<kUnit, kParts, true>(braid, at);
  };
  constexpr std::int64_t kStep = kApartInDst ? kUnit : kUnit * kParts;
  std::int64_t at = 0;
  if (braid.streams && (!kApartInDst || braid.part_step % kLine == 0)) {
    std::int64_t first = 0;
    while (first < kCount && to_line(braid.dst + first * kStep) != 0) ++first;
    if (first < kCount && first + kCount <= braid.count) {
      if (first > 0) block(0);
      for (at = first; at + kCount <= braid.count; at += kCount) stream_block(at);
    }
  }
  for (; at + kCount <= braid.count; at += kCount) block(at);
  if (at < braid.count) block(braid.count - kCount);
}

template <int kUnit, bool kApartInDst>
void braid(const Interleave& call) noexcept {
  if constexpr (kPlain || kUnit > 8) {
    return braid_units<kUnit>(call, 0, call.count, kApartInDst);
  } else {
    if (call.count < kWidth / kUnit) return braid_units<kUnit>(call, 0, call.count, kApartInDst);
    if (call.parts == 2) return braid_blocks<kUnit, 2, kApartInDst>(call);
    if (call.parts == 3) return braid_blocks<kUnit, 3, kApartInDst>(call);
    braid_blocks<kUnit, 4, kApartInDst>(call);
  }
}

template <int kUnit>
void interleave(const Interleave& call) noexcept {
  braid<kUnit, false>(call);
}
template <int kUnit>
void deinterleave(const Interleave& call) noexcept {
  braid<kUnit, true>(call);
}

}  // namespace
}  // namespace refarray::core::kernels
