// The rows of the functions that sort, search and find distinct elements.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

// --- sorting.cpp.

inline constexpr FunctionRow kSort{
    "sort",
    "x, /, *, axis=-1, descending=False, stable=True",
    Category::kSorting,
    2021,
    R"doc(Return a sorted copy of x along an axis.

x: an array of a real-valued dtype or bool. NaN is greater than all numbers, so
    that it comes last, or first if descending.
stable: sorting is always stable: equal elements, among them -0.0 and 0.0, keep
    their order, also if descending.

Raises TypeError for complex numbers, which have no order, and for other dtypes,
IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kArgsort{
    "argsort",
    "x, /, *, axis=-1, descending=False, stable=True",
    Category::kSorting,
    2021,
    R"doc(Return the indices that sort x along an axis, as an int64 array.

x: an array of a real-valued dtype or bool. NaN is greater than all numbers.
stable: sorting is always stable: the indices of equal elements ascend, also if
    descending.

Raises TypeError for complex numbers, which have no order, and for other dtypes,
IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kSearchsorted{
    "searchsorted",
    "x1, x2, /, *, side='left', sorter=None",
    Category::kSearching,
    2023,
    R"doc(Return where elements of x2 belong in the sorted array x1, as an int64 array.

x1: an array of ndim 1 in ascending order, or in any order if sorter is given.
x2: an array, or a Python number, which takes the dtype of x1.
side: 'left' for the position before equal elements, 'right' for that after them.
sorter: the integers that sort x1, as from argsort(x1).

The dtypes are real-valued or bool, and promote to a common one. NaN is greater
than all numbers, as for sort(). Raises TypeError for other dtypes, ValueError for
other shapes and sides, IndexError for an index of sorter out of range, and
NotImplementedError on a device.)doc",
};

// --- sets.cpp.

inline constexpr FunctionRow kIsin{
    "isin",
    "x1, x2, /, *, invert=False",
    Category::kSet,
    2025,
    R"doc(Whether each element of x1 is among the elements of x2: an array of bool.

x1, x2: arrays of any shapes, or one of them a Python number, which takes the
    dtype of the other. NaN is in no array.
invert: True tells instead whether elements are not in x2.

Raises TypeError where the standard leaves the promotion undefined, OverflowError
for a number that the dtype cannot hold, and NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kUniqueAll{
    "unique_all",
    "x, /",
    Category::kSet,
    2021,
    R"doc(Return the distinct elements of x, and where they are.

The result is a named tuple. values: the distinct elements in ascending order;
each NaN is distinct, and last; of equal zeros the first is taken. Complex numbers
are in the order of their real, then their imaginary parts. indices: of the first
occurrence of each value in row-major order. inverse_indices: of the shape of x;
the index in values of each element. counts: how often each value occurs.

Raises TypeError for dtypes that take part in no computation, NotImplementedError
on a device.)doc",
};

inline constexpr FunctionRow kUniqueCounts{
    "unique_counts",
    "x, /",
    Category::kSet,
    2021,
    R"doc(Return the distinct elements of x in ascending order, and how often each occurs.

The result is a named tuple (values, counts); see unique_all(). Raises TypeError
for dtypes that take part in no computation, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kUniqueInverse{
    "unique_inverse",
    "x, /",
    Category::kSet,
    2021,
    R"doc(Return the distinct elements of x in ascending order, and the index of each
element of x among them.

The result is a named tuple (values, inverse_indices); see unique_all(). Raises
TypeError for dtypes that take part in no computation, NotImplementedError on a
device.)doc",
};

inline constexpr FunctionRow kUniqueValues{
    "unique_values",
    "x, /",
    Category::kSet,
    2021,
    R"doc(Return the distinct elements of x in ascending order; see unique_all().

Raises TypeError for dtypes that take part in no computation, NotImplementedError
on a device.)doc",
};

}  // namespace refarray::extension
