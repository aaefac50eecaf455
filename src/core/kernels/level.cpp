// The kernel table of one instruction set. Compiled once per instruction set, each time under
// another name (cmake/Kernels.cmake).
#include "core/kernels/cast.hpp"
#include "core/kernels/interleave.hpp"
#include "core/kernels/rows.hpp"
#include "core/kernels/strided.hpp"
#include "core/kernels/table.hpp"
#include "core/kernels/transpose.hpp"

namespace refarray::core::kernels {

namespace {

void fence() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace

extern const Table REFARRAY_TABLE;
const Table REFARRAY_TABLE{
    Level::REFARRAY_LEVEL,
    REFARRAY_LEVEL_NAME,
    &copy_rows,
    {&copy_strided<1>, &copy_strided<2>, &copy_strided<4>, &copy_strided<8>, &copy_strided<16>},
    {&transpose<1>, &transpose<2>, &transpose<4>, &transpose<8>, &transpose<16>},
    {&interleave<1>, &interleave<2>, &interleave<4>, &interleave<8>, &interleave<16>},
    {&deinterleave<1>, &deinterleave<2>, &deinterleave<4>, &deinterleave<8>, &deinterleave<16>},
    &fence,
    &cast_kernel};

}  // namespace refarray::core::kernels
