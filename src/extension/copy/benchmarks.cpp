// The functions that the copy benchmarks time: a copy, a memcpy, and copy planning alone.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/copy/copy.hpp"
#include "core/copy/plan.hpp"
#include "core/error.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr char kCopyIntoDoc[] = R"doc(_copy_into($module, dst, src, /)
--

Copy the elements of src to dst, which has the same shape; for the benchmarks.)doc";

constexpr char kMemcpyDoc[] = R"doc(_memcpy($module, dst, src, /)
--

Copy the bytes of one row-major array to another by memcpy(); for the benchmarks.)doc";

constexpr char kPlanCopiesDoc[] = R"doc(_plan_copies($module, dst, src, count, /)
--

Plan the copy of src to dst `count` times without copying; for the benchmarks.)doc";

/// Without indexing and without a result array, which assignment would add to the time.
Ref copy_into(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const State& state = State::of_module(module);
  if (nargs != 2) core::fail(Fault::kType, "_copy_into() takes 2 arguments, not ", nargs);
  const core::ArrayView dst = to_view(state, args[0], "_copy_into");
  if (!dst.writable()) core::fail(Fault::kValue, "dst is read-only");
  copy_elements(dst, to_view(state, args[1], "_copy_into"));
  return Ref::borrow(Py_None);
}

/// The lower bound of any copy of the same size, which benchmarks report other copies in.
Ref copy_bytes(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const State& state = State::of_module(module);
  if (nargs != 2) core::fail(Fault::kType, "_memcpy() takes 2 arguments, not ", nargs);
  const core::ArrayView dst = to_view(state, args[0], "_memcpy");
  const core::ArrayView src = to_view(state, args[1], "_memcpy");
  require_host(dst, "copying bytes");
  require_host(src, "copying bytes");
  if (!dst.writable() || !core::is_c_contiguous(dst.extents(), dst.stride_span()) ||
      !core::is_c_contiguous(src.extents(), src.stride_span()) || dst.nbytes() != src.nbytes()) {
    core::fail(Fault::kValue, "dst and src must be row-major, of one size, and dst writable");
  }
  const std::int64_t nbytes = dst.nbytes();
  {
    const GilRelease released(nbytes >= kReleaseGilAbove);
    std::memcpy(dst.data, src.data, static_cast<std::size_t>(nbytes));
  }
  return Ref::borrow(Py_None);
}

Ref plan_copies(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const State& state = State::of_module(module);
  if (nargs != 3) core::fail(Fault::kType, "_plan_copies() takes 3 arguments, not ", nargs);
  const core::ArrayView dst = to_view(state, args[0], "_plan_copies");
  const core::ArrayView src = to_view(state, args[1], "_plan_copies");
  if (!std::ranges::equal(dst.extents(), src.extents()) || dst.size() == 0 ||
      !core::can_convert(src.dtype, dst.dtype)) {
    core::fail(Fault::kValue,
               "dst and src must have equal shapes, at least one element, and convertible dtypes");
  }
  const std::int64_t count = to_int64(args[2], "count");
  std::int64_t axes = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const core::Plan plan(dst, src);
    axes += plan.ndim;
    asm volatile("" : : "r"(&plan) : "memory");  // keeps the compiler from removing the plan
  }
  return check(PyLong_FromLongLong(axes));
}

}  // namespace

PyMethodDef kCopyBenchmarkFunctions[] = {
    {"_copy_into", method<&copy_into>(), METH_FASTCALL, kCopyIntoDoc},
    {"_memcpy", method<&copy_bytes>(), METH_FASTCALL, kMemcpyDoc},
    {"_plan_copies", method<&plan_copies>(), METH_FASTCALL, kPlanCopiesDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
