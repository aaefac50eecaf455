// The rows of the functions that join, repeat and broadcast arrays.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

// --- joining.cpp.

inline constexpr FunctionRow kConcat{
    "concat",
    "arrays, /, *, axis=0",
    Category::kManipulation,
    2021,
    R"doc(Join arrays along an axis that they have.

arrays: a tuple or list of arrays on one device, of equal shapes but for axis.
axis: None joins the flattened arrays, in row-major order.

Returns a new array of the dtype to which all promote, on their device. Raises
ValueError if shapes or devices differ or arrays is empty, IndexError for an axis
out of range, TypeError where the standard leaves the promotion undefined.)doc",
};

inline constexpr FunctionRow kStack{
    "stack",
    "arrays, /, *, axis=0",
    Category::kManipulation,
    2021,
    R"doc(Join arrays of equal shapes along a new axis.

arrays: a tuple or list of arrays on one device.
axis: the position of the new axis in the result.

Returns a new array of the dtype to which all promote, on their device. Raises
ValueError if shapes or devices differ or arrays is empty, IndexError for an axis
out of range, TypeError where the standard leaves the promotion undefined.)doc",
};

inline constexpr FunctionRow kUnstack{
    "unstack",
    "x, /, *, axis=0",
    Category::kManipulation,
    2023,
    R"doc(Return a tuple of the parts of x along an axis, without copies.

The parts are views that lack the axis. Raises IndexError for an axis out of
range, TypeError for arguments of other types.)doc",
};

// --- repeating.cpp.

inline constexpr FunctionRow kRepeat{
    "repeat",
    "x, repeats, /, *, axis=None",
    Category::kManipulation,
    2023,
    R"doc(Repeat each element along an axis.

repeats: an integer, or an array of integers of shape (1,), or with one number for
    each element along axis. An array must be in memory that the CPU can read.
axis: None repeats the elements of x in row-major order, in a result of ndim 1.

Returns a new array on the device of x. Raises ValueError for negative numbers
and other shapes, IndexError for an axis out of range, OverflowError if the
result is too large, TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kRoll{
    "roll",
    "x, /, shift, *, axis=None",
    Category::kManipulation,
    2021,
    R"doc(Shift elements along axes; those shifted beyond the end come in at the start.

shift: an integer, or as many integers as axis has. Negative numbers shift toward
    the start. The shifts of an axis that is given twice add up.
axis: an axis or a sequence of axes. None shifts the elements in row-major order.

Returns a new array on the device of x. Raises ValueError if the numbers of
entries differ, IndexError for an axis out of range, TypeError for arguments of
other types.)doc",
};

inline constexpr FunctionRow kTile{
    "tile",
    "x, repetitions, /",
    Category::kManipulation,
    2023,
    R"doc(Return copies of x side by side, as a new array on the device of x.

repetitions: how many along each axis; the last number is for the last axis. If
    there are more numbers than axes, x gets further axes of extent 1 in front.

Raises ValueError for a negative number, OverflowError if an extent is too large,
TypeError for arguments of other types.)doc",
};

// --- broadcasting.cpp.

inline constexpr FunctionRow kBroadcastArrays{
    "broadcast_arrays",
    "*arrays",
    Category::kManipulation,
    2021,
    R"doc(Broadcast arrays against each other: a tuple of views of one shape.

A view that repeats elements is read-only. Raises ValueError if the shapes do not
broadcast, TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kBroadcastShapes{
    "broadcast_shapes",
    "*shapes",
    Category::kManipulation,
    2025,
    R"doc(Return the shape to which shapes broadcast; () for none.

Raises ValueError if they do not broadcast, TypeError for arguments of other types.)doc",
};

inline constexpr FunctionRow kMeshgrid{
    "meshgrid",
    "*arrays, indexing='xy'",
    Category::kCreation,
    2021,
    R"doc(Return the coordinates of a grid from the coordinates along its axes.

arrays: one array of ndim 1 (or 0, for a single coordinate) for each axis.
indexing: 'ij' makes axis i that of arrays[i]; 'xy' swaps the first two axes.

Returns a tuple of new arrays, each of the grid's shape and of the dtype and on
the device of its argument. Raises ValueError for other shapes and another
indexing, TypeError for arguments of other types.)doc",
};

}  // namespace refarray::extension
