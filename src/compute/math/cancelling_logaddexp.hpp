// log(e^x + e^y) where the sum is nearly 1.
#pragma once

namespace refarray::core::math {

/// Of negative numbers whose result is less than 2^-9 of the greater one.
double cancelling_logaddexp(double greater, double lesser) noexcept;

}  // namespace refarray::core::math
