// How a decomposition of a stack of matrices ended.
#pragma once

#include <cstdint>

namespace refarray::core {

enum class Ending {
  kDone,
  kInterrupted,
  kSingular,
  kNotPositiveDefinite,
  kNotConverged,  // the limit of iterations was reached
};

/// The work stops at the first matrix that fails. The content of the outputs is then unspecified.
struct Outcome {
  Ending ending = Ending::kDone;
  std::int64_t matrix = 0;  // that failed: its position among the leading axes, in row-major order
  std::int64_t pivot = 0;   // that is zero (kSingular), or the order of the leading minor that is
                            // not positive, less one (kNotPositiveDefinite)
};

}  // namespace refarray::core
