// Inputs of float32 functions of which the double lies on the wrong side of the middle of two
// floats, or on it, and their correctly rounded results, all as bits.
#pragma once

#include <array>
#include <cstdint>

#include "compute/ops/elementwise_operation.hpp"

namespace refarray::core::math {
namespace {

struct Correction {
  std::uint32_t input, output;
};

/// Of all 2^32 inputs, with and without fused multiply-adds. None where a function is not named.
template <Elementwise kOperation>
constexpr std::array<Correction, 0> kCorrections{};

template <>
constexpr auto kCorrections<Elementwise::kAcos> = std::to_array<Correction>({
    {0x328885A3, 0x3FC90FDB},
    {0x39826222, 0x3FC907B5},
});
template <>
constexpr auto kCorrections<Elementwise::kAcosh> = std::to_array<Correction>({
    {0x655890D3, 0x4254D1F9},
    {0x6EB1A8EC, 0x42845A89},
});
template <>
constexpr auto kCorrections<Elementwise::kAsinh> = std::to_array<Correction>({
    {0x4BDD65A5, 0x418F034B},
    {0x655890D3, 0x4254D1F9},
    {0x6EB1A8EC, 0x42845A89},
    {0xCBDD65A5, 0xC18F034B},
    {0xE55890D3, 0xC254D1F9},
    {0xEEB1A8EC, 0xC2845A89},
});
template <>
constexpr auto kCorrections<Elementwise::kAtan> = std::to_array<Correction>({
    {0x3D8D6B23, 0x3D8D31C3},
    {0xBD8D6B23, 0xBD8D31C3},
});
template <>
constexpr auto kCorrections<Elementwise::kCos> = std::to_array<Correction>({
    {0x5F18B878, 0x3F7F14BB},
    {0x6115CB11, 0x3F78142F},
    {0x7908CD73, 0x3F798BB5},
    {0xDF18B878, 0x3F7F14BB},
    {0xE115CB11, 0x3F78142F},
    {0xF908CD73, 0x3F798BB5},
});
template <>
constexpr auto kCorrections<Elementwise::kLog> = std::to_array<Correction>({
    {0x3C413D3A, 0xC08E158F},
    {0x41178FEB, 0x400FE5E7},
    {0x4C5D65A5, 0x418F034B},
    {0x65D890D3, 0x4254D1F9},
    {0x6F31A8EC, 0x42845A89},
});
template <>
constexpr auto kCorrections<Elementwise::kLog10> = std::to_array<Correction>({
    {0x0EFEEE7A, 0xC1E99D23},
});
template <>
constexpr auto kCorrections<Elementwise::kLog1p> = std::to_array<Correction>({
    {0x35400003, 0x353FFFFF},
    {0x3710001B, 0x370FFFF3},
    {0x3EFD81AD, 0x3ECDEEE1},
    {0x41078FEB, 0x400FE5E7},
    {0x65D890D3, 0x4254D1F9},
    {0x6F31A8EC, 0x42845A89},
    {0xB53FFFFD, 0xB5400001},
    {0xB70FFFE5, 0xB710000D},
    {0xBB0EC8C4, 0xBB0EF0A5},
});
template <>
constexpr auto kCorrections<Elementwise::kSin> = std::to_array<Correction>({
    {0x46199998, 0xBEB1FA5D},
    {0xC6199998, 0x3EB1FA5D},
});
template <>
constexpr auto kCorrections<Elementwise::kSinh> = std::to_array<Correction>({
    {0x3A1285FF, 0x3A1285FF},
    {0xBA1285FF, 0xBA1285FF},
});

}  // namespace
}  // namespace refarray::core::math
