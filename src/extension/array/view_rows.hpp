// The rows of the functions that return views with other axes, of reshape(), and of the dtype
// functions.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kReshape{
    "reshape",
    "x, /, shape, *, copy=None",
    Category::kManipulation,
    2021,
    R"doc(Return the elements of x, in row-major order, as an array of another shape.

shape: an integer or a sequence of integers with the same number of elements as
    x. One extent may be -1; it is inferred from the others.
copy: None returns a view if strides can express the new shape, and otherwise a
    new, writable, row-major array. True always copies, False never does. A copy
    is on the device of x, of pinned host memory on the CPU.

Raises ValueError if the numbers of elements differ, NoCopyError if copy=False
and no view exists, and TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kPermuteDims{
    "permute_dims",
    "x, /, axes",
    Category::kManipulation,
    2021,
    R"doc(Return a view whose axis i is axis axes[i] of x.

axes: a sequence that names each axis of x once. Negative axes count from the
    end.

The view shares the memory of x and keeps it alive. Raises ValueError if the
length of axes is not x.ndim or an axis is repeated, IndexError for an axis out
of range, and TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kFlip{
    "flip",
    "x, /, *, axis=None",
    Category::kManipulation,
    2021,
    R"doc(Return a view with the elements in reverse order along the given axes.

axis: an axis, a tuple of axes, or None for all axes.

The view has negative strides along those axes. It shares the memory of x and
keeps it alive. Raises IndexError for an axis out of range, ValueError for a
repeated axis, and TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kBroadcastTo{
    "broadcast_to",
    "x, /, shape",
    Category::kManipulation,
    2021,
    R"doc(Return a read-only view of x, broadcast to a shape.

Axes of extent 1 that are stretched and new leading axes have stride 0. The view
is always read-only, because several indices may refer to one element. It shares
the memory of x and keeps it alive.

Raises ValueError if x cannot be broadcast to shape, OverflowError if the number
of bytes does not fit 63 bits, and TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kSqueeze{
    "squeeze",
    "x, /, axis",
    Category::kManipulation,
    2021,
    R"doc(Return a view of x without the given axes, which must have extent 1.

axis: an axis or a tuple of axes.

The view shares the memory of x and keeps it alive. Raises ValueError for an
axis of another extent or a repeated axis, IndexError for an axis out of range,
and TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kExpandDims{
    "expand_dims",
    "x, /, axis",
    Category::kManipulation,
    2021,
    R"doc(Return a view of x with new axes of extent 1.

axis: the position of the new axis in the result, or a tuple of positions.
    Negative positions count from the end of the result.

The view shares the memory of x and keeps it alive. Raises IndexError for a
position out of range, ValueError for a repeated position or for more than 64
axes, and TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kMoveaxis{
    "moveaxis",
    "x, source, destination, /",
    Category::kManipulation,
    2023,
    R"doc(Return a view of x in which axis source[i] becomes axis destination[i].

source, destination: an axis each, or sequences of equal length. Negative axes
    count from the end. The other axes keep their order.

The view shares the memory of x and keeps it alive. Raises IndexError for an axis
out of range, ValueError for a repeated axis or for sequences of different
lengths, and TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kCanCast{
    "can_cast",
    "from_, to, /",
    Category::kDataType,
    2021,
    R"doc(Whether type promotion can convert from_, a dtype or an array, to the dtype `to`.

True if both are equal, or promote to `to`; values are not looked at. Dtypes that take part
in no computation convert to themselves only. Raises TypeError for other arguments.)doc",
};

inline constexpr FunctionRow kIsdtype{
    "isdtype",
    "dtype, kind",
    Category::kDataType,
    2022,
    R"doc(Whether a dtype is of a kind: a dtype; one of 'bool', 'signed integer', 'unsigned integer',
'integral', 'real floating', 'complex floating', 'numeric'; or a tuple of those, any of which
suffices.

bfloat16, float16 and the narrower floats are 'real floating', complex32 is 'complex
floating'. Raises ValueError for another name, TypeError for other arguments.)doc",
};

inline constexpr FunctionRow kResultType{
    "result_type",
    "*arrays_and_dtypes",
    Category::kDataType,
    2021,
    R"doc(The dtype to which arrays, dtypes and Python numbers promote together.

At least one argument must be an array or a dtype; numbers take part as in operators. Raises
TypeError where the standard leaves the promotion undefined, ValueError without an array or
dtype.)doc",
};

}  // namespace refarray::extension
