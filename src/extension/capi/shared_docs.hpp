// Docstrings of the methods that DType and Device share, and of the exit hook.
#pragma once

namespace refarray::extension {

inline constexpr char kValueReduceDoc[] = R"doc(__reduce__($self, /)
--

Support pickling: the object is pickled as its name.)doc";

inline constexpr char kFinishForeignDoc[] = R"doc(_finish_foreign($module, /)
--

Wait for pending work on released imported memory, then call the deleters.)doc";

}  // namespace refarray::extension
