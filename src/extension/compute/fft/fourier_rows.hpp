// The rows of the functions of the extension fft.
#pragma once

#include "extension/objects/function_row.hpp"

namespace refarray::extension {

inline constexpr FunctionRow kFft{
    "fft",
    "x, /, *, n=None, axis=-1, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the discrete Fourier transform along an axis.

out[j] = sum over k of x[k] * exp(-2 pi i j k / n).

x: an array of dtype complex64 or complex128.
n: the number of elements along the axis; x is cut or extended by zeros. None: that
    of x.
axis: counted from the end if negative.
norm: "backward" does not scale, "ortho" divides by sqrt(n), "forward" by n.

Returns a new array of the dtype of x with n elements along the axis.
Raises TypeError for other dtypes, ValueError for n less than 1, an unknown norm and
ndim 0, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kIfft{
    "ifft",
    "x, /, *, n=None, axis=-1, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the inverse discrete Fourier transform along an axis.

out[j] = sum over k of x[k] * exp(2 pi i j k / n) / n.

x: an array of dtype complex64 or complex128.
n: the number of elements along the axis; x is cut or extended by zeros. None: that
    of x.
axis: counted from the end if negative.
norm: "backward" divides by n, "ortho" by sqrt(n), "forward" does not scale.

Returns a new array of the dtype of x with n elements along the axis.
Raises TypeError for other dtypes, ValueError for n less than 1, an unknown norm and
ndim 0, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kRfft{
    "rfft",
    "x, /, *, n=None, axis=-1, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the discrete Fourier transform of real numbers along an axis.

The transform is Hermitian: only its first n // 2 + 1 elements are returned, of which
the first one is real.

x: an array of dtype float32 or float64.
n: the number of elements along the axis; x is cut or extended by zeros. None: that
    of x.
axis: counted from the end if negative.
norm: "backward" does not scale, "ortho" divides by sqrt(n), "forward" by n.

Returns a new array of dtype complex64 or complex128 with n // 2 + 1 elements along
the axis.
Raises TypeError for other dtypes, ValueError for n less than 1, an unknown norm and
ndim 0, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kIrfft{
    "irfft",
    "x, /, *, n=None, axis=-1, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the real inverse of a Hermitian Fourier transform along an axis.

x has the first n // 2 + 1 elements of the transform. Imaginary parts of element 0,
and of element n / 2 if n is even, are ignored.

x: an array of dtype complex64 or complex128.
n: the number of elements along the axis of the result; x is cut or extended by
    zeros to n // 2 + 1. None: 2 * (M - 1), where M is that of x.
axis: counted from the end if negative.
norm: "backward" divides by n, "ortho" by sqrt(n), "forward" does not scale.

Returns a new array of dtype float32 or float64 with n elements along the axis.
Raises TypeError for other dtypes, ValueError for n less than 1, an unknown norm and
ndim 0, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kHfft{
    "hfft",
    "x, /, *, n=None, axis=-1, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the real Fourier transform of a Hermitian sequence along an axis.

x has the first n // 2 + 1 elements of the sequence. Imaginary parts of element 0,
and of element n / 2 if n is even, are ignored.

x: an array of dtype complex64 or complex128.
n: the number of elements along the axis of the result; x is cut or extended by
    zeros to n // 2 + 1. None: 2 * (M - 1), where M is that of x.
axis: counted from the end if negative.
norm: "backward" does not scale, "ortho" divides by sqrt(n), "forward" by n.

Returns a new array of dtype float32 or float64 with n elements along the axis.
Raises TypeError for other dtypes, ValueError for n less than 1, an unknown norm and
ndim 0, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kIhfft{
    "ihfft",
    "x, /, *, n=None, axis=-1, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the Hermitian inverse of a real Fourier transform along an axis.

Only the first n // 2 + 1 elements are returned.

x: an array of dtype float32 or float64.
n: the number of elements along the axis; x is cut or extended by zeros. None: that
    of x.
axis: counted from the end if negative.
norm: "backward" divides by n, "ortho" by sqrt(n), "forward" does not scale.

Returns a new array of dtype complex64 or complex128 with n // 2 + 1 elements along
the axis.
Raises TypeError for other dtypes, ValueError for n less than 1, an unknown norm and
ndim 0, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kFftn{
    "fftn",
    "x, /, *, s=None, axes=None, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the discrete Fourier transform over several axes.

The same as fft() along each of the axes.

x: an array of dtype complex64 or complex128.
s: the number of elements along each of the axes; x is cut or extended by zeros. -1,
    and None for all: that of x.
axes: counted from the end if negative; None: all. s needs axes.
norm: "backward" does not scale, "ortho" divides by sqrt(N), "forward" by N, the
    product of s.

Returns a new array of the dtype of x.
Raises TypeError for other dtypes, ValueError for an entry of s less than 1, s
without axes, s and axes of different lengths, an axis named twice and an unknown
norm, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kIfftn{
    "ifftn",
    "x, /, *, s=None, axes=None, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the inverse discrete Fourier transform over several axes.

The same as ifft() along each of the axes.

x: an array of dtype complex64 or complex128.
s: the number of elements along each of the axes; x is cut or extended by zeros. -1,
    and None for all: that of x.
axes: counted from the end if negative; None: all. s needs axes.
norm: "backward" divides by the product N of s, "ortho" by sqrt(N), "forward" does
    not scale.

Returns a new array of the dtype of x.
Raises TypeError for other dtypes, ValueError for an entry of s less than 1, s
without axes, s and axes of different lengths, an axis named twice and an unknown
norm, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kRfftn{
    "rfftn",
    "x, /, *, s=None, axes=None, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the discrete Fourier transform of real numbers over several axes.

The same as rfft() along the last of the axes, then fft() along the others.

x: an array of dtype float32 or float64.
s: the number of elements along each of the axes; x is cut or extended by zeros. -1,
    and None for all: that of x.
axes: counted from the end if negative; None: all. s needs axes.
norm: "backward" does not scale, "ortho" divides by sqrt(N), "forward" by N, the
    product of s.

Returns a new array of dtype complex64 or complex128 with n // 2 + 1 elements along
the last of the axes.
Raises TypeError for other dtypes, ValueError for an entry of s less than 1, s
without axes, s and axes of different lengths, an axis named twice, no axis and an
unknown norm, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kIrfftn{
    "irfftn",
    "x, /, *, s=None, axes=None, norm='backward'",
    Category::kFourier,
    2022,
    R"doc(Return the real inverse of a Hermitian Fourier transform over several axes.

The same as ifft() along all but the last of the axes, then irfft() along that one.

x: an array of dtype complex64 or complex128.
s: the number of elements along each of the axes of the result; x is cut or extended
    by zeros. -1, and None for all: that of x, and 2 * (M - 1) for the last axis.
axes: counted from the end if negative; None: all. s needs axes.
norm: "backward" divides by the product N of s, "ortho" by sqrt(N), "forward" does
    not scale.

Returns a new array of dtype float32 or float64.
Raises TypeError for other dtypes, ValueError for an entry of s less than 1, s
without axes, s and axes of different lengths, an axis named twice, no axis and an
unknown norm, IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

inline constexpr FunctionRow kFftfreq{
    "fftfreq",
    "n, /, *, d=1.0, dtype=None, device=None",
    Category::kFourier,
    2022,
    R"doc(Return the frequencies of the elements of a discrete Fourier transform.

The k-th element is k / (n * d) for k < n / 2, then (k - n) / (n * d).

n: the number of elements, 1 or more.
d: the distance of the samples, a number other than 0.
dtype: a real floating-point dtype; None: float64, in which they are computed.
device: of the result; None: the CPU.

Raises ValueError for n less than 1 and d == 0, TypeError for other dtypes.)doc",
};

inline constexpr FunctionRow kRfftfreq{
    "rfftfreq",
    "n, /, *, d=1.0, dtype=None, device=None",
    Category::kFourier,
    2022,
    R"doc(Return the frequencies of the elements that rfft() returns.

The k-th element is k / (n * d), for k <= n / 2.

n: the number of elements of the argument of rfft(), 1 or more.
d: the distance of the samples, a number other than 0.
dtype: a real floating-point dtype; None: float64, in which they are computed.
device: of the result; None: the CPU.

Raises ValueError for n less than 1 and d == 0, TypeError for other dtypes.)doc",
};

inline constexpr FunctionRow kFftshift{
    "fftshift",
    "x, /, *, axes=None",
    Category::kFourier,
    2022,
    R"doc(Return x with the element of frequency 0 in the middle of each axis.

x: an array of a floating-point dtype, in the order of fftfreq().
axes: an axis or a sequence of axes; None: all. One that is named twice is shifted
    twice.

Returns a new array; each axis is rolled by half of its extent, rounded down.
Raises TypeError for other dtypes, IndexError for an axis out of range.)doc",
};

inline constexpr FunctionRow kIfftshift{
    "ifftshift",
    "x, /, *, axes=None",
    Category::kFourier,
    2022,
    R"doc(Return x with the element of frequency 0 at the beginning of each axis.

The inverse of fftshift(): each axis is rolled back by half of its extent, rounded
down.

x: an array of a floating-point dtype.
axes: an axis or a sequence of axes; None: all. One that is named twice is shifted
    twice.

Returns a new array.
Raises TypeError for other dtypes, IndexError for an axis out of range.)doc",
};

}  // namespace refarray::extension
