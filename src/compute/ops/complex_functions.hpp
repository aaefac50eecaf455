// Complex functions in double, computed from real ones. The C library's complex functions differ
// between libraries; in musl many are inaccurate.
//
// Special cases, signs of zeros and sides of branch cuts are those of the array API standard, which
// takes most of them from C99's annex G.
#pragma once

namespace refarray::core::complex_functions {

struct Number {
  double real;
  double imag;
};

Number arc_cosine(Number z) noexcept;
Number arc_hyperbolic_cosine(Number z) noexcept;
Number arc_hyperbolic_sine(Number z) noexcept;
Number arc_hyperbolic_tangent(Number z) noexcept;
Number arc_sine(Number z) noexcept;
Number arc_tangent(Number z) noexcept;
Number cosine(Number z) noexcept;
Number exponential(Number z) noexcept;
Number exponential_minus_1(Number z) noexcept;
Number hyperbolic_cosine(Number z) noexcept;
Number hyperbolic_sine(Number z) noexcept;
Number hyperbolic_tangent(Number z) noexcept;
Number logarithm(Number z) noexcept;
Number logarithm10(Number z) noexcept;
Number logarithm2(Number z) noexcept;
Number logarithm_of_1_plus(Number z) noexcept;
Number sine(Number z) noexcept;
Number square_root(Number z) noexcept;
Number tangent(Number z) noexcept;

}  // namespace refarray::core::complex_functions
