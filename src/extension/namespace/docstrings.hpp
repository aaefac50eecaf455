// Docstrings of the dtype functions, where(), clip() and the namespace methods.
#pragma once

namespace refarray::extension {

inline constexpr char kCanCastDoc[] =
    "can_cast(from_, to, /)\n--\n\n"
    "Whether type promotion can convert from_, a dtype or an array, to the dtype `to`.\n\n"
    "True if both are equal, or promote to `to`; values are not looked at. Dtypes that take part\n"
    "in no computation convert to themselves only. Raises TypeError for other arguments.\n\n"
    "Array API standard, data type functions: can_cast.";

inline constexpr char kIsdtypeDoc[] =
    "isdtype(dtype, kind)\n--\n\n"
    "Whether a dtype is of a kind: a dtype; one of 'bool', 'signed integer', 'unsigned integer',\n"
    "'integral', 'real floating', 'complex floating', 'numeric'; or a tuple of those, any of "
    "which\n"
    "suffices.\n\n"
    "bfloat16, float16 and the narrower floats are 'real floating', complex32 is 'complex\n"
    "floating'. Raises ValueError for another name, TypeError for other arguments.\n\n"
    "Array API standard, data type functions: isdtype.";

inline constexpr char kResultTypeDoc[] =
    "result_type(*arrays_and_dtypes)\n--\n\n"
    "The dtype to which arrays, dtypes and Python numbers promote together.\n\n"
    "At least one argument must be an array or a dtype; numbers take part as in operators. Raises\n"
    "TypeError where the standard leaves the promotion undefined, ValueError without an array or\n"
    "dtype.\n\n"
    "Array API standard, data type functions: result_type.";

inline constexpr char kWhereDoc[] =
    "where(condition, x1, x2, /)\n--\n\n"
    "Elements of x1 where the condition is True, and of x2 where it is False.\n\n"
    "condition is an array of bool; x1 and x2 are arrays of any dtypes that promote to a common\n"
    "one, or one of them a Python number. All three broadcast. Returns a new array of the common\n"
    "dtype. Raises TypeError for other dtypes, ValueError if the shapes do not broadcast.\n\n"
    "Array API standard, searching functions: where.";

inline constexpr char kClipDoc[] =
    "clip(x, /, min=None, max=None)\n--\n\n"
    "Each element of x, but not less than min and not more than max.\n\n"
    "x is an array of a real-valued dtype; min and max are Python numbers, arrays of the same\n"
    "dtype, or None for no limit; all three broadcast. Where min is greater than max the result "
    "is\n"
    "min. NaN in any of the three gives NaN. Returns a new array of x's dtype. Raises TypeError "
    "for\n"
    "other dtypes, ValueError if the shapes do not broadcast.\n\n"
    "Array API standard, elementwise functions: clip.";

inline constexpr char kArrayNamespaceDoc[] =
    "__array_namespace__($self, /, *, api_version=None)\n--\n\n"
    "The module refarray, which has the functions of the array API standard.\n\n"
    "api_version is None or a version of the standard from '2021.12' to '2025.12'. Raises\n"
    "ValueError for another one. linalg, fft and the matmul family are not there yet.\n\n"
    "Array API standard, array object: __array_namespace__.";

}  // namespace refarray::extension
