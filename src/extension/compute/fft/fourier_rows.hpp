// The rows of the one-dimensional transforms of the extension fft.
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

}  // namespace refarray::extension
