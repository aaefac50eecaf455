// Owns the tables of the manipulation functions and methods: names, text signatures, docs.
#include "extension/array/manipulation.hpp"

#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"

namespace refarray::extension {
namespace {

constexpr const char* kReshapeFunctionDoc =
    "reshape($module, x, /, shape, *, copy=None)\n--\n\n"
    "The elements of x, in row-major order, as an array of another shape.\n\n"
    "shape is a tuple of ints with as many elements as x; one extent may be -1 and is inferred.\n"
    "copy=None gives a view of x where strides can express it, else a new writable row-major "
    "array;\n"
    "copy=True always gives the latter, copy=False never.\n\n"
    "Raises ValueError when the numbers of elements differ, NoCopyError when copy=False and only a "
    "copy\n"
    "would do, TypeError for other types. Array API: reshape.";
constexpr const char* kReshapeMethodDoc =
    "reshape($self, /, shape, *, copy=None)\n--\n\n"
    "The elements, in row-major order, as an array of another shape.\n\n"
    "A view where strides can express it, else (copy=None) a new array; copy=True always gives a "
    "new\n"
    "array, copy=False never. One extent may be -1 and is inferred.\n\n"
    "Raises ValueError when the numbers of elements differ, NoCopyError when copy=False and only a "
    "copy\n"
    "would do. See refarray.reshape.";
constexpr const char* kPermuteDimsDoc =
    "permute_dims($module, x, /, axes)\n--\n\n"
    "A view whose axis i is axis axes[i] of x.\n\n"
    "axes names each axis of x once; negative ones count from the end. The view shares the "
    "elements of x\n"
    "and keeps them alive.\n\n"
    "Raises ValueError when axes has another length than ndim or names an axis twice, IndexError "
    "for an\n"
    "axis out of range, TypeError for other types. Array API: permute_dims.";
constexpr const char* kFlipDoc =
    "flip($module, x, /, *, axis=None)\n--\n\n"
    "A view with the elements of x in reverse order along one axis, several (a tuple), or all "
    "(None).\n\n"
    "The view's strides are negative along those axes; it shares the elements of x and keeps them "
    "alive.\n\n"
    "Raises IndexError for an axis out of range, ValueError for one named twice, TypeError for "
    "other\n"
    "types. Array API: flip.";
constexpr const char* kBroadcastToDoc =
    "broadcast_to($module, x, /, shape)\n--\n\n"
    "A read-only view of x stretched to shape: axes of extent 1 and new leading axes get stride "
    "0.\n\n"
    "Read-only always, also where nothing is stretched, because one element may stand at many "
    "indices.\n"
    "The view shares the elements of x and keeps them alive.\n\n"
    "Raises ValueError when x does not broadcast to shape, OverflowError when shape has too many "
    "elements,\n"
    "TypeError for other types. Array API: broadcast_to.";
constexpr const char* kSqueezeDoc =
    "squeeze($module, x, /, axis)\n--\n\n"
    "A view of x without the given axes (an int or a tuple), each of extent 1.\n\n"
    "The view shares the elements of x and keeps them alive.\n\n"
    "Raises ValueError for an axis of another extent or named twice, IndexError for one out of "
    "range,\n"
    "TypeError for other types. Array API: squeeze.";
constexpr const char* kExpandDimsDoc =
    "expand_dims($module, x, /, *, axis=0)\n--\n\n"
    "A view of x with new axes of extent 1, at the given places (an int or a tuple) of the "
    "result.\n\n"
    "Negative ones count from the end of the result. The view shares the elements of x and keeps "
    "them\n"
    "alive.\n\n"
    "Raises IndexError for a place out of range, ValueError for one named twice or more than 64 "
    "axes,\n"
    "TypeError for other types. Array API 2025.12: expand_dims.";
constexpr const char* kMoveaxisDoc =
    "moveaxis($module, x, source, destination, /)\n--\n\n"
    "A view of x with axes moved: axis source[i] of x becomes axis destination[i]; the others keep "
    "their\n"
    "order.\n\n"
    "source and destination are ints or tuples of equal length; negative ones count from the end. "
    "The view\n"
    "shares the elements of x and keeps them alive.\n\n"
    "Raises ValueError when the lengths differ or an axis is named twice, IndexError for an axis "
    "out of\n"
    "range, TypeError for other types. Array API: moveaxis.";
constexpr const char* kAstypeFunctionDoc =
    "astype($module, x, dtype, /, *, copy=True, device=None)\n--\n\n"
    "The elements of x converted to dtype, in a new writable row-major array.\n\n"
    "Rounds to nearest even; a float becomes an int by truncation and saturates; anything non-zero "
    "is\n"
    "True. copy=False gives x itself when nothing would change. The result is on the CPU unless "
    "device\n"
    "says otherwise.\n\n"
    "Raises TypeError for complex to real and for vector elements to another type, BufferError "
    "for\n"
    "elements or a device out of this build's reach. Array API: astype.";
constexpr const char* kAstypeMethodDoc =
    "astype($self, dtype, /, *, copy=True, device=None)\n--\n\n"
    "The elements converted to dtype, in a new writable row-major array.\n\n"
    "copy=False gives the array itself when nothing would change. Raises TypeError for complex to "
    "real and\n"
    "for vector elements to another type. See refarray.astype.";
constexpr const char* kCopyFunctionDoc =
    "copy($module, x, /)\n--\n\n"
    "A new writable row-major array on the CPU with the elements of x.\n\n"
    "Raises TypeError when x is no Array, BufferError when its elements are out of the CPU's "
    "reach,\n"
    "MemoryError. An extension of the array API, whose asarray(x, copy=True) does the same.";
constexpr const char* kCopyMethodDoc =
    "copy($self, /)\n--\n\n"
    "A new writable row-major array on the CPU with the same elements.\n\n"
    "Raises BufferError when the elements are out of the CPU's reach, MemoryError.";
constexpr const char* kToDeviceFunctionDoc =
    "to_device($module, x, device, /, *, stream=None)\n--\n\n"
    "The elements of x on device: an array over the same memory when they are there, else a "
    "copy.\n\n"
    "device is a Device or the name of one. stream orders the copy with the work queued on that "
    "device;\n"
    "host memory has no streams and takes None only.\n\n"
    "Raises BufferError for a device that this build cannot allocate on, ValueError for a stream "
    "that the\n"
    "device does not have or for a name of no device, TypeError for other types. Array API: "
    "to_device.";
constexpr const char* kToDeviceMethodDoc =
    "to_device($self, device, /, *, stream=None)\n--\n\n"
    "The elements on device: an array over the same memory when they are there, else a copy.\n\n"
    "Raises BufferError for a device that this build cannot allocate on, ValueError for a stream "
    "that the\n"
    "device does not have. Array API: to_device. See refarray.to_device.";
constexpr const char* kAsReadonlyDoc =
    "as_readonly($self, /)\n--\n\n"
    "A read-only view: assignment through it, and through every view of it, raises ValueError.\n\n"
    "It shares the elements and keeps them alive; who holds another array over them can still "
    "write. An\n"
    "extension of the array API.";
constexpr const char* kIsContiguousDoc =
    "is_contiguous($self, /)\n--\n\n"
    "Whether the elements lie in row-major order without gaps.\n\n"
    "Strides of axes of extent 1, and all strides of an array without elements, do not count. An "
    "extension\n"
    "of the array API.";

constexpr int kKeywords = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

PyMethodDef kManipulationFunctions[] = {
    {"reshape", method<&reshape_function>(), kKeywords, kReshapeFunctionDoc},
    {"permute_dims", method<&permute_dims>(), kKeywords, kPermuteDimsDoc},
    {"flip", method<&flip>(), kKeywords, kFlipDoc},
    {"broadcast_to", method<&broadcast_to>(), kKeywords, kBroadcastToDoc},
    {"squeeze", method<&squeeze>(), kKeywords, kSqueezeDoc},
    {"expand_dims", method<&expand_dims>(), kKeywords, kExpandDimsDoc},
    {"moveaxis", method<&moveaxis>(), kKeywords, kMoveaxisDoc},
    {"astype", method<&astype_function>(), kKeywords, kAstypeFunctionDoc},
    {"copy", method<&copy_function>(), kKeywords, kCopyFunctionDoc},
    {"to_device", method<&to_device_function>(), kKeywords, kToDeviceFunctionDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kManipulationMethods[] = {
    {"reshape", method<&reshape_method>(), kKeywords, kReshapeMethodDoc},
    {"astype", method<&astype_method>(), kKeywords, kAstypeMethodDoc},
    {"copy", method<&copy_method>(), METH_NOARGS, kCopyMethodDoc},
    {"to_device", method<&to_device_method>(), kKeywords, kToDeviceMethodDoc},
    {"as_readonly", method<&as_readonly>(), METH_NOARGS, kAsReadonlyDoc},
    {"is_contiguous", method<&is_contiguous>(), METH_NOARGS, kIsContiguousDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
