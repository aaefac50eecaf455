// Tables of float64 functions, shared by all instruction sets.
#pragma once

#include <cstdint>

namespace refarray::core::math {

/// Numbers in two doubles.
template <int kRows>
struct PairTable {
  alignas(64) double high[kRows];
  alignas(64) double low[kRows];
};

extern const PairTable<32> kPowers;  // 2^(i / 32)
extern const PairTable<32> kSines;   // sin(2 pi i / 64)
extern const PairTable<32> kAngles;  // atan(i / 32)
/// Of each 64th of [sqrt(1/2), sqrt(2)), in steps of the bits: 1 / z in 25 bits, and its -log, the
/// first part of which is a multiple of 2^-43.
extern const double kInverses[64];
extern const PairTable<64> kLogarithms;
/// 32 / pi: an integer word of 0, then the integer part, then bits behind the point.
extern const std::uint32_t kInverseOfStep[40];
extern const std::uint32_t kWordsOfLn2[8];  // the first is the integer part

}  // namespace refarray::core::math
