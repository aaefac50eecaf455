// Docstring of Array.__array_namespace__.
#pragma once

namespace refarray::extension {

inline constexpr char kArrayNamespaceDoc[] =
    "__array_namespace__($self, /, *, api_version=None)\n--\n\n"
    "The module refarray, which has the functions of the array API standard.\n\n"
    "api_version is None or a version of the standard from '2021.12' to '2025.12'. Raises\n"
    "ValueError for another one. The extension linalg is not there yet.\n\n"
    "Array API standard, array object: __array_namespace__.";

}  // namespace refarray::extension
