// Docstrings of the functions that join, repeat and broadcast arrays.
//
// The first line of a docstring is the text signature, which inspect.signature() reads.
#pragma once

namespace refarray::extension {

// --- joining.cpp.

inline constexpr char kConcatDoc[] = R"doc(concat($module, arrays, /, *, axis=0)
--

Join arrays along an axis that they have.

arrays: a tuple or list of arrays on one device, of equal shapes but for axis.
axis: None joins the flattened arrays, in row-major order.

Returns a new array of the dtype to which all promote, on their device. Raises
ValueError if shapes or devices differ or arrays is empty, IndexError for an axis
out of range, TypeError where the standard leaves the promotion undefined.
Array API 2025.12: concat.)doc";

inline constexpr char kStackDoc[] = R"doc(stack($module, arrays, /, *, axis=0)
--

Join arrays of equal shapes along a new axis.

arrays: a tuple or list of arrays on one device.
axis: the position of the new axis in the result.

Returns a new array of the dtype to which all promote, on their device. Raises
ValueError if shapes or devices differ or arrays is empty, IndexError for an axis
out of range, TypeError where the standard leaves the promotion undefined.
Array API 2025.12: stack.)doc";

inline constexpr char kUnstackDoc[] = R"doc(unstack($module, x, /, *, axis=0)
--

Return a tuple of the parts of x along an axis, without copies.

The parts are views that lack the axis. Raises IndexError for an axis out of
range, TypeError for arguments of other types.
Array API 2025.12: unstack.)doc";

// --- repeating.cpp.

inline constexpr char kRepeatDoc[] = R"doc(repeat($module, x, repeats, /, *, axis=None)
--

Repeat each element along an axis.

repeats: an integer, or an array of integers of shape (1,), or with one number for
    each element along axis. An array must be in memory that the CPU can read.
axis: None repeats the elements of x in row-major order, in a result of ndim 1.

Returns a new array on the device of x. Raises ValueError for negative numbers
and other shapes, IndexError for an axis out of range, OverflowError if the
result is too large, TypeError for arguments of other types.
Array API 2025.12: repeat.)doc";

inline constexpr char kRollDoc[] = R"doc(roll($module, x, /, shift, *, axis=None)
--

Shift elements along axes; those shifted beyond the end come in at the start.

shift: an integer, or as many integers as axis has. Negative numbers shift toward
    the start. The shifts of an axis that is given twice add up.
axis: an axis or a sequence of axes. None shifts the elements in row-major order.

Returns a new array on the device of x. Raises ValueError if the numbers of
entries differ, IndexError for an axis out of range, TypeError for arguments of
other types.
Array API 2025.12: roll.)doc";

inline constexpr char kTileDoc[] = R"doc(tile($module, x, repetitions, /)
--

Return copies of x side by side, as a new array on the device of x.

repetitions: how many along each axis; the last number is for the last axis. If
    there are more numbers than axes, x gets further axes of extent 1 in front.

Raises ValueError for a negative number, OverflowError if an extent is too large,
TypeError for arguments of other types.
Array API 2025.12: tile.)doc";

// --- broadcasting.cpp.

inline constexpr char kBroadcastArraysDoc[] = R"doc(broadcast_arrays($module, /, *arrays)
--

Broadcast arrays against each other: a tuple of views of one shape.

A view that repeats elements is read-only. Raises ValueError if the shapes do not
broadcast, TypeError for arguments of other types.
Array API 2025.12: broadcast_arrays.)doc";

inline constexpr char kBroadcastShapesDoc[] = R"doc(broadcast_shapes($module, /, *shapes)
--

Return the shape to which shapes broadcast; () for none.

Raises ValueError if they do not broadcast, TypeError for arguments of other types.
Array API 2025.12: broadcast_shapes.)doc";

inline constexpr char kMeshgridDoc[] = R"doc(meshgrid($module, /, *arrays, indexing='xy')
--

Return the coordinates of a grid from the coordinates along its axes.

arrays: one array of ndim 1 (or 0, for a single coordinate) for each axis.
indexing: 'ij' makes axis i that of arrays[i]; 'xy' swaps the first two axes.

Returns a tuple of new arrays, each of the grid's shape and of the dtype and on
the device of its argument. Raises ValueError for other shapes and another
indexing, TypeError for arguments of other types.
Array API 2025.12: meshgrid.)doc";

}  // namespace refarray::extension
