// Docstrings of Array.__arrow_c_array__: of the attribute and of the method that it gives.
#pragma once

namespace refarray::extension {

inline constexpr char kArrowAttributeDoc[] =
    R"doc(The method that exports a one-dimensional array to Arrow (Arrow PyCapsule interface).

Raises AttributeError for other arrays, so that consumers try another protocol: those of
another ndim, in device memory, and of a dtype that Arrow does not have.)doc";

inline constexpr char kArrowArrayDoc[] = R"doc(__arrow_c_array__($self, /, requested_schema=None)
--

Return the array as capsules with an ArrowSchema and an ArrowArray.

Contiguous aligned elements are shared, which Arrow treats as immutable: do not assign
to them while a consumer has them. Arrays with another stride are copied, and so is bool,
which is a bit in Arrow. No value is missing: the null count is 0 and NaN stays NaN.

requested_schema: None or a capsule with an ArrowSchema, which stays the caller's. If it
    is a type of numbers that has every element of the array, the elements are
    converted: to any wider type, to integers if all are in its range, to narrower
    floats if none is rounded. For other types of numbers the array's own type is
    exported, which the interface permits.

Raises TypeError for an object that is no capsule, ValueError for another capsule and for
a schema that is not of bool or numbers.)doc";

}  // namespace refarray::extension
