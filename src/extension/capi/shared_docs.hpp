// Docstrings of the methods that DType and Device share.
#pragma once

namespace refarray::extension {

inline constexpr char kValueReduceDoc[] = R"doc(__reduce__($self, /)
--

Support pickling: the object is pickled as its name.)doc";

}  // namespace refarray::extension
