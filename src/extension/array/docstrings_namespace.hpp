// Docstring of Array.__array_namespace__.
#pragma once

namespace refarray::extension {

inline constexpr char kArrayNamespaceDoc[] =
    "__array_namespace__($self, /, *, api_version=None)\n--\n\n"
    "The module refarray, which has the functions of the array API standard.\n\n"
    "api_version: a version of the standard from '2021.12' to '2025.12', or None for the\n"
    "last one. An earlier version is a namespace without the functions that came later,\n"
    "and with the results of its time. Raises ValueError for other versions, TypeError for\n"
    "an argument that is no str.\n\n"
    "Array API standard, array object: __array_namespace__.";

}  // namespace refarray::extension
