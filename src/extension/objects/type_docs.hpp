// Docstrings of the types Array, DType, Device and their attributes.
#pragma once

namespace refarray::extension {

// --- array_type.cpp.

inline constexpr char kArrayDoc[] =
    R"doc(A strided n-dimensional array over its own or shared memory.

Arrays are created by functions such as asarray(), zeros() and from_dlpack(), not
by calling this type. Shape, strides, dtype and device never change; elements can
be assigned unless the array is read-only. A view shares the memory of its array
and keeps it alive; a view of a read-only array is read-only.

Several threads may use one array at the same time, but refarray does not
synchronize the elements: writing elements that another thread reads is a data
race.)doc";

inline constexpr char kArrayReprHtmlDoc[] = R"doc(_repr_html_($self, /)
--

Return the array as an HTML card for notebooks.)doc";

inline constexpr char kArrayAsReadonlyDoc[] = R"doc(as_readonly($self, /)
--

Return a read-only view.

Assignment through it, and through its views, raises ValueError. It shares the
memory and keeps it alive; other arrays over the same memory stay writable.
Extension of the array API.)doc";

inline constexpr char kArrayIsContiguousDoc[] = R"doc(is_contiguous($self, /)
--

Return whether the elements lie in row-major order without gaps.

The strides of axes of extent 1, and all strides of an empty array, are ignored.
Extension of the array API.)doc";

inline constexpr char kExchangeApiDoc[] =
    "The C exchange API of DLPack 1.3, a capsule named \"dlpack_exchange_api\".";

// --- getters.cpp.

inline constexpr char kArrayShapeDoc[] =
    "The extent of each axis, a tuple of ints. Array API: shape.";

inline constexpr char kArrayStridesDoc[] =
    R"doc(The distance between neighbouring indices of each axis, in ELEMENTS, not bytes.

A tuple of ints, which may be zero or negative. The strides of axes of extent 1,
and all strides of an empty array, are arbitrary.)doc";

inline constexpr char kArrayDtypeDoc[] = "The type of the elements, a DType. Array API: dtype.";

inline constexpr char kArrayDeviceDoc[] = "The device of the memory, a Device. Array API: device.";

inline constexpr char kArrayNdimDoc[] = "The number of axes, an int from 0 to 64. Array API: ndim.";

inline constexpr char kArraySizeDoc[] =
    "The number of elements, an int; 1 if ndim is 0. Array API: size.";

inline constexpr char kArrayNbytesDoc[] =
    R"doc(The number of bytes of a compact copy of the elements, an int.

Packed elements of less than a byte are counted in bits and rounded up once.
Raises OverflowError if the bytes of a broadcast array do not fit 63 bits.)doc";

inline constexpr char kArrayItemsizeDoc[] =
    "The bytes of one element, an int, rounded up: 1 for packed elements of less than a byte.";

inline constexpr char kArrayReadonlyDoc[] =
    R"doc(Whether assignment through this array raises ValueError.

Views of a read-only array are read-only.)doc";

inline constexpr char kArrayTransposeDoc[] = R"doc(The transpose of a two-dimensional array, a view.

Raises ValueError if ndim is not 2. Array API: T.)doc";

inline constexpr char kArrayMatrixTransposeDoc[] =
    R"doc(The transpose of each matrix in the last two axes, a view.

Raises ValueError if ndim is less than 2. Array API: mT.)doc";

inline constexpr char kArrayInterfaceDoc[] =
    R"doc(The memory as NumPy's array interface, version 3: a dict.

Its keys are shape, typestr, data (the address and whether it is read-only) and
strides, in BYTES, or None for row-major arrays. The consumer must keep this array
alive while it uses the memory. Raises AttributeError for dtypes without a typestr
(bfloat16, float8, ...), for memory of a device, virtual ones included, and with
poisoned views.)doc";

inline constexpr char kArrayNumpyDtypeDoc[] =
    R"doc(The dtype of the elements as a numpy.dtype: dtype.__numpy_dtype__.

NumPy 2.4 reads it where a dtype is expected.)doc";

inline constexpr char kArrayPriorityDoc[] =
    R"doc(A float that makes NumPy leave operators with this operand to the array.)doc";

inline constexpr char kCudaArrayInterfaceDoc[] =
    R"doc(The memory as the CUDA array interface, version 3: a dict.

Its keys are those of __array_interface__, and stream: the CUDA stream that the
consumer must wait for, or None. The values 1 and 2 are the legacy and the
per-thread default stream. Raises AttributeError for dtypes without a typestr, for
memory that is not CUDA memory, and with poisoned views.)doc";

// --- dtype_type.cpp.

inline constexpr char kStrictDTypeDoc[] =
    R"doc(The type of the elements of the arrays of strict namespaces.

It has == and hash() only, as the standard says: equal to itself, and to nothing else.)doc";

inline constexpr char kDTypeDoc[] = R"doc(DType(name)
--

The type of the elements of an array: immutable, hashable and picklable.

name: a DType; a name such as 'float32', 'float32x4' (a vector of 4 lanes) or
    'float4_e2m1fn_padded' (one byte for each element); a short name of NumPy such as
    'f4', '<f4' or 'single'; one of the types bool, int, float and complex, for bool,
    int64, float64 and complex128; or a dtype or scalar type of NumPy, ml_dtypes,
    PyTorch or JAX.

The 27 scalar dtypes are attributes of the module. dtype == x is true if DType(x) is
that dtype. The hash is that of the name, so dictionaries find a DType by its name, but
not by an equal object of another library; convert keys by DType(). Dtypes have no
order.

Raises TypeError for an object that is not known to be a dtype, ValueError for an
unknown name and for a dtype that refarray does not have. Array API: data type
objects.)doc";

inline constexpr char kDTypeNumpyDoc[] =
    R"doc(The equal numpy.dtype, which is imported on first use; ml_dtypes' for bfloat16,
float8 and padded float6 and float4.

NumPy 2.4 reads it where a dtype is expected. Raises AttributeError if NumPy or
ml_dtypes is missing or has no such dtype.)doc";

inline constexpr char kDTypeNameDoc[] = "The name, a str; DType(name) returns an equal DType.";

inline constexpr char kDTypeKindDoc[] = R"doc(The kind, a str.

'bool', 'int', 'uint', 'float', 'bfloat' or 'complex'; for a float of 8 bits or
less, the name of the scalar type.)doc";

inline constexpr char kDTypeCodeDoc[] = "DLPack's type code (DLDataTypeCode), an int.";

inline constexpr char kDTypeBitsDoc[] =
    "The bits of one scalar, an int; for a complex dtype those of both parts together.";

inline constexpr char kDTypeLanesDoc[] =
    "The number of scalars in one element, an int; greater than 1 for vector dtypes.";

inline constexpr char kDTypePaddedDoc[] =
    R"doc(Whether each element of less than a byte occupies a whole byte, in its low bits.

Otherwise such elements are packed. DLPack: IS_SUBBYTE_TYPE_PADDED.)doc";

inline constexpr char kDTypeItemsizeDoc[] =
    "The bytes of one element, an int, rounded up: 1 for packed elements of less than a byte.";

inline constexpr char kIteratorDoc[] = R"doc(An iterator over axis 0 of an array: iter(x).

It keeps the array alive. Threads may share it: each item goes to one of them.)doc";

inline constexpr char kIteratorLengthHintDoc[] = "The number of items left, an int.";

inline constexpr char kIteratorReduceDoc[] = "Pickles the array and the position.";

inline constexpr char kIteratorSetStateDoc[] =
    "Set the position, an int, clipped to the extent of axis 0. Raises TypeError for other types.";

// --- Device

inline constexpr char kDeviceDoc[] = R"doc(Device(name)
--

The device on which an array's elements are stored. Immutable, hashable, picklable.

name: a Device or a str: 'cpu', 'cuda:1', 'rocm:0', 'cuda_managed:0', or 'cuda_host'
    and 'rocm_host' for pinned host memory, where 'cuda' means 'cuda:0' and 'hip:1'
    means 'rocm:1'; or a device of PyTorch, JAX or tvm-ffi. torch.device('cuda') means
    'cuda:0', whatever PyTorch's current device is.

Creating a Device does not check that this machine has such a device. device == x is
true if Device(x) is that device. The hash is that of the name, as str() returns it.

Raises TypeError for an object that is not known to be a device, ValueError for an
unknown name and for a device that refarray does not support. Array API: device
objects.)doc";

inline constexpr char kDeviceKindDoc[] =
    R"doc(The kind of memory, a str.

One of 'cpu', 'cuda', 'cuda_host', 'cuda_managed', 'rocm' and 'rocm_host'.)doc";

inline constexpr char kDeviceIdDoc[] =
    R"doc(The index among the devices of this kind, an int; 0 for kinds with one device.)doc";

inline constexpr char kDeviceDlpackDoc[] =
    R"doc(The device in DLPack's terms: a pair of ints, (device type, device id).

__dlpack_device__() of an array on this device returns the same pair.)doc";

}  // namespace refarray::extension
