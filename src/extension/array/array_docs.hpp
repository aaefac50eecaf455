// Docstrings of the functions and methods that this folder implements.
//
// The first line of a docstring is the text signature, which inspect.signature() reads.
#pragma once

namespace refarray::extension {

// --- manipulation.cpp.

inline constexpr char kReshapeMethodDoc[] = R"doc(reshape($self, /, shape, *, copy=None)
--

Return the elements, in row-major order, as an array of another shape.

One extent may be -1; it is inferred from the others. copy=None returns a view
if strides can express the new shape, and otherwise a new array; True always
copies, False never does.

Raises ValueError if the numbers of elements differ, and NoCopyError if
copy=False and no view exists. See refarray.reshape.)doc";

// --- element_methods.cpp.

inline constexpr char kTolistDoc[] = R"doc(tolist($self)
--

Return the elements as nested lists, one level for each axis.

An array of ndim 0 returns its number. Elements become bool, int, float or
complex; an element with several lanes becomes a tuple. An array with equal
elements is asarray(x.tolist(), dtype=x.dtype).

Elements in device memory are first copied to the CPU, after all unfinished work
on the array. Raises MemoryError if the lists do not fit in memory; for memory
that devices use also BufferError while a graph is being captured, and
DriverError.)doc";

inline constexpr char kItemDoc[] = R"doc(item($self)
--

Return the element of an array of size 1, of any ndim, as a Python number.

An element with several lanes becomes a tuple. An element in device memory is
first copied to the CPU, as by tolist(). Raises ValueError if the size is not 1;
for memory that devices use also BufferError while a graph is being captured,
and DriverError.)doc";

inline constexpr char kFormatDoc[] = R"doc(__format__($self, format_spec, /)
--

Return the array as text.

An empty format_spec gives str(x). Any other formats the number in an array of ndim 0 as
format(x.item(), format_spec) does; TypeError for other arrays and for vector dtypes.)doc";

inline constexpr char kRoundDoc[] = R"doc(__round__($self, ndigits=None, /)
--

Return round(x.item(), ndigits), a Python number, of an array of ndim 0.

Raises TypeError for other arrays, and for complex and vector dtypes.)doc";

inline constexpr char kComplexDoc[] = R"doc(__complex__($self)
--

Return the number in an array of ndim 0 as a complex.

Raises TypeError if ndim is not 0 or the dtype has several lanes. Array API
2025.12: __complex__.)doc";

// --- pickle.cpp.

inline constexpr char kReduceExDoc[] = R"doc(__reduce_ex__($self, protocol, /)
--

Return what pickle stores: the elements in row-major order, dtype, shape, and
whether the array is read-only.

With protocol 5 the elements are a PickleBuffer, which can travel out of band
(PEP 574); it shares the memory of a C-contiguous array on the CPU. Arrays of virtual
devices are copied into the pickle with every protocol. Strides are not stored.
The unpickled array is on the device of this one, of pinned memory on the CPU. There it
is in the memory that the unpickler provides. It is read-only if this array or that
memory is. Ledgers count a transfer for the elements of a device.)doc";

inline constexpr char kShallowCopyDoc[] = R"doc(__copy__($self)
--

Return an independent copy, as copy() does; for copy.copy().)doc";

inline constexpr char kDeepCopyDoc[] = R"doc(__deepcopy__($self, memo, /)
--

Return an independent copy, as copy() does; for copy.deepcopy().

memo is unused: elements refer to no Python objects.)doc";

inline constexpr char kRebuildDoc[] =
    R"doc(_rebuild($module, buffer, dtype, shape, device, readonly, /)
--

Return an array over the memory of a buffer; unpickling calls it.

Raises TypeError or ValueError for arguments that __reduce_ex__ does not produce,
such as a shape whose size in bytes is not that of the buffer, and BufferError for a
device that the process cannot use.)doc";

inline constexpr char kArrayNamespaceDoc[] =
    "__array_namespace__($self, /, *, api_version=None)\n--\n\n"
    "The module refarray, which has the functions of the array API standard.\n\n"
    "api_version: a version of the standard from '2021.12' to '2025.12', or None for the\n"
    "last one. An earlier version is a namespace without the functions that came later,\n"
    "and with the results of its time. Raises ValueError for other versions, TypeError for\n"
    "an argument that is no str.\n\n"
    "Array API standard, array object: __array_namespace__.";

}  // namespace refarray::extension
