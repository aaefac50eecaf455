// Constants, made by tools/math/coefficients.py. Polynomials: lowest power first.
#pragma once

// clang-format off
namespace refarray::core::math {
namespace {

/// (f(x) / x - 1) / x^2 at z = x^2 of f = sinh, |x| <= ln(2) / 2: 2^-58.8.
[[maybe_unused]] constexpr double kSinh[] = {
    0x1.5555555555556p-3, 0x1.11111111109b3p-7, 0x1.a01a01a7c41d5p-13, 0x1.71de0dae63bb3p-19,
    0x1.af38a9b0ec855p-26
};

/// (cosh(x) - 1) / x^2 at z = x^2, |x| <= ln(2) / 2: 2^-56.2.
[[maybe_unused]] constexpr double kCosh[] = {
    0x1.0000000000001p-1, 0x1.5555555553d63p-5, 0x1.6c16c1788bd90p-10, 0x1.a019b90d2ae7ap-16,
    0x1.289185613a3d6p-22
};

/// 2 (f(x) / x - 1) / x^2 at z = x^2 of f = atanh, |x| <= (sqrt(2) - 1) / (sqrt(2) + 1): 2^-57.6.
[[maybe_unused]] constexpr double kAtanh[] = {
    0x1.5555555555558p-1, 0x1.99999999952ccp-2, 0x1.2492492df3ba9p-2, 0x1.c71c62e26208bp-3,
    0x1.7462b58e46ebep-3, 0x1.39fe42e9740a7p-3, 0x1.2b59b713616c9p-3
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = sin, |x| <= pi / 2: 2^-55.3.
[[maybe_unused]] constexpr double kSin[] = {
    -0x1.5555555555555p-3, 0x1.1111111111107p-7, -0x1.a01a01a018aadp-13, 0x1.71de3a5456716p-19,
    -0x1.ae6455a1d7087p-26, 0x1.6124015b5ee3ap-33, -0x1.ae5138c1216b3p-41, 0x1.89a4866f527ebp-49
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = sin, |x| <= pi / 4: 2^-55.6.
[[maybe_unused]] constexpr double kSinQuarter[] = {
    -0x1.5555555555555p-3, 0x1.1111111110bb2p-7, -0x1.a01a019e83aaep-13, 0x1.71de37968a100p-19,
    -0x1.ae600b02b6262p-26, 0x1.5e0b19f8b1451p-33
};

/// (cos(x) - 1) / x^2 at z = x^2, |x| <= pi / 4: 2^-61.1.
[[maybe_unused]] constexpr double kCosQuarter[] = {
    -0x1.0000000000000p-1, 0x1.5555555555551p-5, -0x1.6c16c16c15d79p-10, 0x1.a01a019de131fp-16,
    -0x1.27e4f8e4a2e74p-22, 0x1.1eea7f259b344p-29, -0x1.8ff9d439a204ap-37
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = atan, |x| <= sqrt(2) - 1: 2^-56.9.
[[maybe_unused]] constexpr double kAtan[] = {
    -0x1.5555555555555p-2, 0x1.999999999934ap-3, -0x1.24924924360cbp-3, 0x1.c71c7185314cbp-4,
    -0x1.745d0b26b83e7p-4, 0x1.3b1262d95579ep-4, -0x1.10fa75382537fp-4, 0x1.dfe61e80903d2p-5,
    -0x1.a098bb6ba4941p-5, 0x1.41603647c7a7cp-5, -0x1.3a2b7a07caea9p-6
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = asin, |x| <= 1 / 2: 2^-53.9.
[[maybe_unused]] constexpr double kAsin[] = {
    0x1.555555555554fp-3, 0x1.3333333336da5p-4, 0x1.6db6db684b6a1p-5, 0x1.f1c71f95269afp-6,
    0x1.6e8b2b3b10be4p-6, 0x1.1c593c7b1d958p-6, 0x1.c87265d47ef49p-7, 0x1.8522ddffa6208p-7,
    0x1.ff5fc4d14c735p-8, 0x1.06b9d26d10838p-6, -0x1.603991d6060e0p-7, 0x1.cd864394d2ff2p-6
};

/// (exp(x) - 1 - x) / x^2, |x| <= ln(2) / 64: 2^-71.5.
[[maybe_unused]] constexpr double kExpPart[] = {
    0x1.0000000000000p-1, 0x1.5555555555555p-3, 0x1.555555554e93cp-5, 0x1.111111110e106p-7,
    0x1.6c170c680344cp-10, 0x1.a01a444723f6ep-13
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = sinh, |x| <= ln(2) / 64: 2^-69.6.
[[maybe_unused]] constexpr double kSinhPart[] = {
    0x1.5555555555555p-3, 0x1.111111110e106p-7, 0x1.a01a444723f6ep-13
};

/// (cosh(x) - 1) / x^2 at z = x^2, |x| <= ln(2) / 64: 2^-71.5.
[[maybe_unused]] constexpr double kCoshPart[] = {
    0x1.0000000000000p-1, 0x1.555555554e93cp-5, 0x1.6c170c680344cp-10
};

/// (log(1 + x) - x + x^2 / 2) / x^3, |x| <= 1 / 128: 2^-64.2.
[[maybe_unused]] constexpr double kLogPart[] = {
    0x1.5555555555564p-2, -0x1.000000000000dp-2, 0x1.999999919973cp-3, -0x1.5555554e21ff7p-3,
    0x1.24979e8d8acaep-3, -0x1.0004ccdecd0bbp-3
};

/// (log(1 + x) - x + x^2 / 2) / x^3, |x| <= 1 / 128: 2^-69.4.
[[maybe_unused]] constexpr double kLogLong[] = {
    0x1.5555555555555p-2, -0x1.000000000002dp-2, 0x1.99999999999ebp-3, -0x1.5555554a21e57p-3,
    0x1.2492491a63858p-3, -0x1.000599b0ef46fp-3, 0x1.c726a07dd3b00p-4
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = sin, |x| <= pi / 64: 2^-65.3.
[[maybe_unused]] constexpr double kSinPart[] = {
    -0x1.5555555555555p-3, 0x1.11111111110dfp-7, -0x1.a01a0199b4646p-13, 0x1.71da14681c45dp-19
};

/// (cos(x) - 1) / x^2 at z = x^2, |x| <= pi / 64: 2^-71.4.
[[maybe_unused]] constexpr double kCosPart[] = {
    -0x1.0000000000000p-1, 0x1.55555555554cap-5, -0x1.6c16c1634b0c2p-10, 0x1.a0144d7b3d46ap-16
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = tan, |x| <= pi / 64: 2^-64.2.
[[maybe_unused]] constexpr double kTanPart[] = {
    0x1.5555555555555p-2, 0x1.1111111110f66p-3, 0x1.ba1ba1bf8436cp-5, 0x1.664f176bd823bp-6,
    0x1.23240402a07e6p-7
};

/// (asin(x) / x - 1 - x^2 / 6) / x^4 at z = x^2, |x| <= 1 / 2: 2^-60.1.
[[maybe_unused]] constexpr double kAsinRest[] = {
    0x1.3333333333334p-4, 0x1.6db6db6db65a8p-5, 0x1.f1c71c72a8007p-6, 0x1.6e8ba29be8e9dp-6,
    0x1.1c4ed2824cca2p-6, 0x1.c996c07ccbef2p-7, 0x1.7ab853e2bde73p-7, 0x1.3db1fa43f6e5dp-7,
    0x1.23b9a2ce4d7fep-7, 0x1.2fc888adfe7e3p-8, 0x1.007440c2626c1p-6, -0x1.c06025db835e0p-7,
    0x1.abe961aafa7f1p-6
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = atan, |x| <= 1 / 60: 2^-67.4.
[[maybe_unused]] constexpr double kAtanPart[] = {
    -0x1.5555555555555p-2, 0x1.9999999995513p-3, -0x1.249247f76cab5p-3, 0x1.c6e780cfd1037p-4
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = asinh, |x| <= 1 / 32: 2^-66.6.
[[maybe_unused]] constexpr double kAsinhPart[] = {
    -0x1.5555555555555p-3, 0x1.33333333332c4p-4, -0x1.6db6db6bfb746p-5, 0x1.f1c6f5a3befecp-6,
    -0x1.6dda2bb57e780p-6
};

/// (f(x) / x - 1) / x^2 at z = x^2 of f = atanh, |x| <= 1 / 32: 2^-65.6.
[[maybe_unused]] constexpr double kAtanhPart[] = {
    0x1.5555555555555p-2, 0x1.99999999998a3p-3, 0x1.249249267f959p-3, 0x1.c71c469f6496bp-4,
    0x1.752248fe87e5ap-4
};

/// 2^e 2 / pi modulo 4 in three parts, for e from 2 on.
[[maybe_unused]] constexpr int kLeastExponent = 2;
[[maybe_unused]] constexpr double kQuadrants[][3] = {
    {0x1.45f306c000000p+1, 0x1.c9c882a000000p-27, 0x1.4fe13abe8fa9ap-57},
    {0x1.17cc1b4000000p+0, 0x1.9391054000000p-27, 0x1.4fe13abe8fa9ap-56},
    {0x1.17cc1b6000000p+1, 0x1.27220a9000000p-27, 0x1.3f84eafa3ea6ap-57},
    {0x1.7cc1b70000000p-2, 0x1.3910548000000p-29, 0x1.3f84eafa3ea6ap-56},
    {0x1.7cc1b70000000p-1, 0x1.391054a000000p-28, 0x1.fc2757d1f534ep-58},
    {0x1.7cc1b70000000p+0, 0x1.391054a000000p-27, 0x1.fc2757d1f534ep-57},
    {0x1.7cc1b72000000p+1, 0x1.c882a50000000p-29, 0x1.fc2757d1f534ep-56},
    {0x1.f306dc8000000p+0, 0x1.c882a52000000p-28, 0x1.f84eafa3ea69cp-56},
    {0x1.f306dc8000000p+1, 0x1.c882a53000000p-27, 0x1.f09d5f47d4d37p-56},
    {0x1.e60db92000000p+1, 0x1.91054a7000000p-27, 0x1.e13abe8fa9a6fp-56},
    {0x1.cc1b726000000p+1, 0x1.220a94f000000p-27, 0x1.c2757d1f534dep-56},
    {0x1.9836e4e000000p+1, 0x1.1054a7c000000p-29, 0x1.84eafa3ea69bcp-56},
    {0x1.306dc9c000000p+1, 0x1.1054a7e000000p-28, 0x1.09d5f47d4d377p-56},
    {0x1.836e4e0000000p-1, 0x1.1054a7f000000p-27, 0x1.3abe8fa9a6ee0p-60},
    {0x1.836e4e4000000p+0, 0x1.054a7f0000000p-30, 0x1.3abe8fa9a6ee0p-59},
    {0x1.836e4e4000000p+1, 0x1.054a7f0000000p-29, 0x1.3abe8fa9a6ee0p-58},
    {0x1.06dc9c8000000p+1, 0x1.054a7f0000000p-28, 0x1.3abe8fa9a6ee0p-57},
    {0x1.b727200000000p-4, 0x1.054a7f0000000p-27, 0x1.3abe8fa9a6ee0p-56},
    {0x1.b727220000000p-3, 0x1.529fc20000000p-32, 0x1.d5f47d4d37703p-58},
    {0x1.b727220000000p-2, 0x1.529fc20000000p-31, 0x1.d5f47d4d37703p-57},
    {0x1.b727220000000p-1, 0x1.529fc20000000p-30, 0x1.d5f47d4d37703p-56},
    {0x1.b727220000000p+0, 0x1.529fc24000000p-29, 0x1.abe8fa9a6ee07p-56},
    {0x1.b727220000000p+1, 0x1.529fc26000000p-28, 0x1.57d1f534ddc0ep-56},
    {0x1.6e4e440000000p+1, 0x1.529fc27000000p-27, 0x1.5f47d4d377037p-57},
    {0x1.b939104000000p+0, 0x1.4a7f09c000000p-28, 0x1.5f47d4d377037p-56},
    {0x1.b939104000000p+1, 0x1.4a7f09d000000p-27, 0x1.7d1f534ddc0dbp-57},
    {0x1.727220a000000p+1, 0x1.29fc274000000p-28, 0x1.7d1f534ddc0dbp-56},
    {0x1.c9c8828000000p+0, 0x1.29fc275000000p-27, 0x1.f47d4d377036ep-57},
    {0x1.c9c882a000000p+1, 0x1.4fe13a8000000p-29, 0x1.f47d4d377036ep-56},
    {0x1.9391054000000p+1, 0x1.4fe13aa000000p-28, 0x1.e8fa9a6ee06dbp-56},
    {0x1.27220a8000000p+1, 0x1.4fe13ab000000p-27, 0x1.d1f534ddc0db6p-56},
    {0x1.3910548000000p-1, 0x1.3f84eae000000p-28, 0x1.a3ea69bb81b6cp-56},
    {0x1.3910548000000p+0, 0x1.3f84eaf000000p-27, 0x1.47d4d377036d9p-56},
    {0x1.391054a000000p+1, 0x1.fc2757c000000p-29, 0x1.1f534ddc0db63p-57},
    {0x1.c882a50000000p-1, 0x1.fc2757c000000p-28, 0x1.1f534ddc0db63p-56},
    {0x1.c882a50000000p+0, 0x1.fc2757d000000p-27, 0x1.f534ddc0db629p-59},
    {0x1.c882a52000000p+1, 0x1.f84eafa000000p-27, 0x1.f534ddc0db629p-58},
    {0x1.91054a6000000p+1, 0x1.f09d5f4000000p-27, 0x1.f534ddc0db629p-57},
    {0x1.220a94e000000p+1, 0x1.e13abe8000000p-27, 0x1.f534ddc0db629p-56},
    {0x1.1054a78000000p-1, 0x1.c2757d1000000p-27, 0x1.ea69bb81b6c53p-56},
    {0x1.1054a7c000000p+0, 0x1.84eafa3000000p-27, 0x1.d4d377036d8a5p-56},
    {0x1.1054a7e000000p+1, 0x1.09d5f47000000p-27, 0x1.a9a6ee06db14bp-56},
    {0x1.054a7f0000000p-2, 0x1.3abe8f0000000p-31, 0x1.534ddc0db6296p-56},
    {0x1.054a7f0000000p-1, 0x1.3abe8f8000000p-30, 0x1.4d377036d8a56p-57},
    {0x1.054a7f0000000p+0, 0x1.3abe8f8000000p-29, 0x1.4d377036d8a56p-56},
    {0x1.054a7f0000000p+1, 0x1.3abe8fa000000p-28, 0x1.34ddc0db6295ap-57},
    {0x1.529fc00000000p-4, 0x1.3abe8fa000000p-27, 0x1.34ddc0db6295ap-56},
    {0x1.529fc20000000p-3, 0x1.d5f47d4000000p-29, 0x1.a6ee06db14acdp-58},
    {0x1.529fc20000000p-2, 0x1.d5f47d4000000p-28, 0x1.a6ee06db14acdp-57},
    {0x1.529fc20000000p-1, 0x1.d5f47d4000000p-27, 0x1.a6ee06db14acdp-56},
    {0x1.529fc24000000p+0, 0x1.abe8fa9000000p-27, 0x1.4ddc0db629599p-56},
    {0x1.529fc26000000p+1, 0x1.57d1f53000000p-27, 0x1.377036d8a5665p-57},
    {0x1.4a7f09c000000p+0, 0x1.5f47d4c000000p-28, 0x1.377036d8a5665p-56},
    {0x1.4a7f09c000000p+1, 0x1.5f47d4d000000p-27, 0x1.bb81b6c52b328p-58},
    {0x1.29fc274000000p+0, 0x1.7d1f534000000p-28, 0x1.bb81b6c52b328p-57},
    {0x1.29fc274000000p+1, 0x1.7d1f534000000p-27, 0x1.bb81b6c52b328p-56},
    {0x1.4fe13a8000000p-1, 0x1.f47d4d2000000p-28, 0x1.77036d8a5664fp-56},
    {0x1.4fe13a8000000p+0, 0x1.f47d4d3000000p-27, 0x1.dc0db6295993cp-57},
    {0x1.4fe13aa000000p+1, 0x1.e8fa9a6000000p-27, 0x1.dc0db6295993cp-56},
    {0x1.3f84eac000000p+0, 0x1.d1f534d000000p-27, 0x1.b81b6c52b3279p-56},
    {0x1.3f84eae000000p+1, 0x1.a3ea69b000000p-27, 0x1.7036d8a5664f1p-56},
    {0x1.fc27578000000p-1, 0x1.47d4d37000000p-27, 0x1.c0db6295993c4p-57},
    {0x1.fc2757c000000p+0, 0x1.1f534dc000000p-28, 0x1.c0db6295993c4p-56},
    {0x1.fc2757c000000p+1, 0x1.1f534dd000000p-27, 0x1.81b6c52b32788p-56},
    {0x1.f84eafa000000p+1, 0x1.f534dd8000000p-30, 0x1.036d8a5664f11p-56},
    {0x1.f09d5f4000000p+1, 0x1.f534ddc000000p-29, 0x1.b6c52b3278872p-62},
    {0x1.e13abe8000000p+1, 0x1.f534ddc000000p-28, 0x1.b6c52b3278872p-61},
    {0x1.c2757d0000000p+1, 0x1.f534ddc000000p-27, 0x1.b6c52b3278872p-60},
    {0x1.84eafa2000000p+1, 0x1.ea69bb8000000p-27, 0x1.b6c52b3278872p-59},
    {0x1.09d5f46000000p+1, 0x1.d4d3770000000p-27, 0x1.b6c52b3278872p-58},
    {0x1.3abe8e0000000p-3, 0x1.a9a6ee0000000p-27, 0x1.b6c52b3278872p-57},
    {0x1.3abe8f0000000p-2, 0x1.534ddc0000000p-27, 0x1.b6c52b3278872p-56},
    {0x1.3abe8f8000000p-1, 0x1.4d37702000000p-28, 0x1.6d8a5664f10e4p-56},
    {0x1.3abe8f8000000p+0, 0x1.4d37703000000p-27, 0x1.b6295993c4390p-57},
    {0x1.3abe8fa000000p+1, 0x1.34ddc0c000000p-28, 0x1.b6295993c4390p-56},
    {0x1.d5f47d0000000p-1, 0x1.34ddc0d000000p-27, 0x1.6c52b32788721p-56},
    {0x1.d5f47d4000000p+0, 0x1.a6ee06c000000p-29, 0x1.b14acc9e21c82p-57},
    {0x1.d5f47d4000000p+1, 0x1.a6ee06c000000p-28, 0x1.b14acc9e21c82p-56},
    {0x1.abe8fa8000000p+1, 0x1.a6ee06d000000p-27, 0x1.6295993c43904p-56},
    {0x1.57d1f52000000p+1, 0x1.4ddc0db000000p-27, 0x1.8a5664f10e410p-57},
    {0x1.5f47d4c000000p+0, 0x1.377036c000000p-28, 0x1.8a5664f10e410p-56},
    {0x1.5f47d4c000000p+1, 0x1.377036d000000p-27, 0x1.14acc9e21c821p-56},
    {0x1.7d1f534000000p+0, 0x1.bb81b6c000000p-29, 0x1.4acc9e21c8210p-59},
    {0x1.7d1f534000000p+1, 0x1.bb81b6c000000p-28, 0x1.4acc9e21c8210p-58},
    {0x1.f47d4d0000000p+0, 0x1.bb81b6c000000p-27, 0x1.4acc9e21c8210p-57},
    {0x1.f47d4d2000000p+1, 0x1.77036d8000000p-27, 0x1.4acc9e21c8210p-56},
    {0x1.e8fa9a6000000p+1, 0x1.dc0db62000000p-28, 0x1.2b32788720840p-57},
    {0x1.d1f534c000000p+1, 0x1.dc0db62000000p-27, 0x1.2b32788720840p-56},
    {0x1.a3ea69a000000p+1, 0x1.b81b6c5000000p-27, 0x1.5993c439041fep-58},
    {0x1.47d4d36000000p+1, 0x1.7036d8a000000p-27, 0x1.5993c439041fep-57},
    {0x1.1f534dc000000p+0, 0x1.c0db628000000p-28, 0x1.5993c439041fep-56},
    {0x1.1f534dc000000p+1, 0x1.c0db629000000p-27, 0x1.664f10e4107fap-57},
    {0x1.f534dd0000000p-2, 0x1.81b6c52000000p-27, 0x1.664f10e4107fap-56},
    {0x1.f534dd8000000p-1, 0x1.036d8a5000000p-27, 0x1.993c439041fe6p-57},
    {0x1.f534ddc000000p+0, 0x1.b6c5280000000p-33, 0x1.993c439041fe6p-56},
    {0x1.f534ddc000000p+1, 0x1.b6c52a0000000p-32, 0x1.3278872083fccp-56},
    {0x1.ea69bb8000000p+1, 0x1.b6c52b0000000p-31, 0x1.93c439041fe60p-58},
    {0x1.d4d3770000000p+1, 0x1.b6c52b0000000p-30, 0x1.93c439041fe60p-57},
    {0x1.a9a6ee0000000p+1, 0x1.b6c52b0000000p-29, 0x1.93c439041fe60p-56},
    {0x1.534ddc0000000p+1, 0x1.b6c52b2000000p-28, 0x1.278872083fcc0p-56},
    {0x1.4d37700000000p+0, 0x1.b6c52b3000000p-27, 0x1.3c439041fe600p-58},
    {0x1.4d37702000000p+1, 0x1.6d8a566000000p-27, 0x1.3c439041fe600p-57},
    {0x1.34ddc0c000000p+0, 0x1.b629598000000p-28, 0x1.3c439041fe600p-56},
};

}  // namespace
}  // namespace refarray::core::math
