// Interleave and deinterleave kernels for two, three or four sequences.
#pragma once

#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

/// Words kPhase, kPhase + kParts, ... of the concatenation of kParts vectors.
template <int kWordSize, int kBytes, int kParts, int kPhase>
struct Deinterleaved {
  using V = Vector<kWordSize, kBytes>;
  static constexpr int kCount = kBytes / kWordSize;

  struct Every2 {
    static constexpr int at(int i) { return 2 * i + kPhase; }
  };
  struct FirstTwoOf3 {  // the words that come from the first two of three vectors
    static constexpr int at(int i) { return 3 * i + kPhase < 2 * kCount ? 3 * i + kPhase : 0; }
  };
  struct ThirdOf3 {
    static constexpr int at(int i) {
      return 3 * i + kPhase < 2 * kCount ? i : kCount + (3 * i + kPhase - 2 * kCount);
    }
  };

  [[gnu::always_inline]] static inline V of(const V* in) noexcept {
    if constexpr (kParts == 2) {
      return shuffle<kWordSize, kBytes, Every2>(in[0], in[1]);
    } else if constexpr (kParts == 3) {
      const V first_two = shuffle<kWordSize, kBytes, FirstTwoOf3>(in[0], in[1]);
      return shuffle<kWordSize, kBytes, ThirdOf3>(first_two, in[2]);
    } else {
      using Half = Deinterleaved<kWordSize, kBytes, 2, kPhase % 2>;
      const V pairs[2] = {Half::of(in), Half::of(in + 2)};
      return Deinterleaved<kWordSize, kBytes, 2, kPhase / 2>::of(pairs);
    }
  }
};

/// Vector kIndex of the kParts vectors that result from interleaving kParts vectors.
template <int kWordSize, int kBytes, int kParts, int kIndex>
struct Interleaved {
  using V = Vector<kWordSize, kBytes>;
  static constexpr int kCount = kBytes / kWordSize;
  static constexpr int kFirst = kIndex * kCount;  // index of the first word of the result

  struct Alternate2 {
    static constexpr int at(int i) { return i % 2 * kCount + (kFirst + i) / 2; }
  };
  struct FirstTwoOf3 {  // the words that come from the first two of three parts
    static constexpr int at(int i) {
      const int part = (kFirst + i) % 3;
      return part < 2 ? part * kCount + (kFirst + i) / 3 : 0;
    }
  };
  struct ThirdOf3 {
    static constexpr int at(int i) { return (kFirst + i) % 3 < 2 ? i : kCount + (kFirst + i) / 3; }
  };

  [[gnu::always_inline]] static inline V of(const V* in) noexcept {
    if constexpr (kParts == 2) {
      return shuffle<kWordSize, kBytes, Alternate2>(in[0], in[1]);
    } else if constexpr (kParts == 3) {
      const V first_two = shuffle<kWordSize, kBytes, FirstTwoOf3>(in[0], in[1]);
      return shuffle<kWordSize, kBytes, ThirdOf3>(first_two, in[2]);
    } else {
      const V even[2] = {in[0], in[2]};
      const V odd[2] = {in[1], in[3]};
      const V pairs[2] = {Interleaved<kWordSize, kBytes, 2, kIndex / 2>::of(even),
                          Interleaved<kWordSize, kBytes, 2, kIndex / 2>::of(odd)};
      return Interleaved<kWordSize, kBytes, 2, kIndex % 2>::of(pairs);
    }
  }
};

template <int kWordSize>
inline void interleave_words(const Interleave& call, bool deinterleaves) noexcept {
  using T = typename WordOf<kWordSize>::type;
  for (std::int64_t i = 0; i < call.count; ++i) {
    for (int part = 0; part < call.parts; ++part) {
      const std::int64_t separate = part * call.part_step + i * kWordSize;
      const std::int64_t interleaved = (i * call.parts + part) * kWordSize;
      store(call.dst + (deinterleaves ? separate : interleaved),
            load<T>(call.src + (deinterleaves ? interleaved : separate)));
    }
  }
}

template <int kWordSize, int kParts, bool kStreams>
[[gnu::always_inline]] inline void interleave_block(const Interleave& call,
                                                    std::int64_t at) noexcept {
  using V = Vector<kWordSize, kWidth>;
  V in[kParts];
  for (int part = 0; part < kParts; ++part)
    in[part] = load<V>(call.src + part * call.part_step + at * kWordSize);
  [&]<int... index>(std::integer_sequence<int, index...>) {
    (write<kStreams>(call.dst + at * kWordSize * kParts + index * kWidth,
                     Interleaved<kWordSize, kWidth, kParts, index>::of(in)),
     ...);
  }(std::make_integer_sequence<int, kParts>{});
}

template <int kWordSize, int kParts, bool kStreams>
[[gnu::always_inline]] inline void deinterleave_block(const Interleave& call,
                                                      std::int64_t at) noexcept {
  using V = Vector<kWordSize, kWidth>;
  V in[kParts];
  for (int index = 0; index < kParts; ++index)
    in[index] = load<V>(call.src + at * kWordSize * kParts + index * kWidth);
  [&]<int... part>(std::integer_sequence<int, part...>) {
    (write<kStreams>(call.dst + part * call.part_step + at * kWordSize,
                     Deinterleaved<kWordSize, kWidth, kParts, part>::of(in)),
     ...);
  }(std::make_integer_sequence<int, kParts>{});
}

/// One vector of each part at a time; the last step overlaps the one before it. Non-temporal stores
/// begin at the first step whose stores are aligned to cache lines, if there is one.
template <int kWordSize, int kParts, bool kDeinterleaves>
void interleave_vectors(const Interleave& call) noexcept {
  constexpr std::int64_t kCount = kWidth / kWordSize;
  const auto block = [&call](std::int64_t at) {
    if constexpr (kDeinterleaves)
      deinterleave_block<kWordSize, kParts, false>(call, at);
    else
      interleave_block<kWordSize, kParts, false>(call, at);
  };
  const auto stream_block = [&call](std::int64_t at) {
    if constexpr (kDeinterleaves)
      deinterleave_block<kWordSize, kParts, true>(call, at);
    else
      interleave_block<kWordSize, kParts, true>(call, at);
  };
  constexpr std::int64_t kStep = kDeinterleaves ? kWordSize : kWordSize * kParts;
  std::int64_t at = 0;
  if (call.streams && (!kDeinterleaves || call.part_step % kLine == 0)) {
    std::int64_t first = 0;
    while (first < kCount && bytes_to_line(call.dst + first * kStep) != 0) ++first;
    if (first < kCount && first + kCount <= call.count) {
      if (first > 0) block(0);
      for (at = first; at + kCount <= call.count; at += kCount) stream_block(at);
    }
  }
  for (; at + kCount <= call.count; at += kCount) block(at);
  if (at < call.count) block(call.count - kCount);
}

template <int kWordSize, bool kDeinterleaves>
void run_interleave(const Interleave& call) noexcept {
  if constexpr (kPlain || kWordSize > 8) {
    return interleave_words<kWordSize>(call, kDeinterleaves);
  } else {
    if (call.count < kWidth / kWordSize) return interleave_words<kWordSize>(call, kDeinterleaves);
    if (call.parts == 2) return interleave_vectors<kWordSize, 2, kDeinterleaves>(call);
    if (call.parts == 3) return interleave_vectors<kWordSize, 3, kDeinterleaves>(call);
    interleave_vectors<kWordSize, 4, kDeinterleaves>(call);
  }
}

template <int kWordSize>
void interleave(const Interleave& call) noexcept {
  run_interleave<kWordSize, false>(call);
}
template <int kWordSize>
void deinterleave(const Interleave& call) noexcept {
  run_interleave<kWordSize, true>(call);
}

}  // namespace
}  // namespace refarray::core::kernels
