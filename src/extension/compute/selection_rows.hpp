// The rows of where(), clip() and diff().
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kWhere{
    "where",
    "condition, x1, x2, /",
    Category::kSearching,
    2021,
    R"doc(Elements of x1 where the condition is True, and of x2 where it is False.

condition is an array of bool; x1 and x2 are arrays of any dtypes that promote to a common
one, or one of them a Python number. All three broadcast. Returns a new array of the common
dtype. Raises TypeError for other dtypes, ValueError if the shapes do not broadcast.)doc",
};

inline constexpr FunctionRow kClip{
    "clip",
    "x, /, min=None, max=None",
    Category::kElementwise,
    2023,
    R"doc(Each element of x, but not less than min and not more than max.

x is an array of a real-valued dtype; min and max are Python numbers, arrays of the same
dtype, or None for no limit; all three broadcast. Where min is greater than max the result is
min. NaN in any of the three gives NaN. Returns a new array of x's dtype. Raises TypeError for
other dtypes, ValueError if the shapes do not broadcast.)doc",
};

inline constexpr FunctionRow kDiff{
    "diff",
    "x, /, *, axis=-1, n=1, prepend=None, append=None",
    Category::kUtility,
    2024,
    R"doc(Differences of neighbouring elements along an axis: x[i + 1] - x[i], n times.

x: an array of numeric dtype.
axis: the axis.
n: how often to take differences; 0 gives a copy.
prepend, append: arrays of the dtype of x that are joined to it along the axis first, or
    None. Their shapes equal that of x but for the axis.

Returns a new array of the same dtype, whose axis is n shorter than that of the joined
arrays, or empty. Integers wrap around. Raises TypeError for other dtypes, ValueError for
ndim 0, a negative n and shapes that do not fit, IndexError for an axis out of range.)doc",
};

}  // namespace refarray::extension
