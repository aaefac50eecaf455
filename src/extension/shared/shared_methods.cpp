// is_shared(), shared_handle() and shares_memory().
#include "core/overlap.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/shared/shared_functions.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

constexpr char kIsSharedDoc[] = R"doc(is_shared($self, /)
--

Return whether other processes can attach the memory: of an arena, or on a device.

See refarray.shared. An array never changes its memory: shared.asarray(x) copies.
Extension of the array API.)doc";

constexpr char kSharedHandleDoc[] = R"doc(shared_handle($self, /)
--

Return a refarray.shared.Handle, by which another process attaches the array.

It has the dtype, shape, strides and readonly of this array, and keeps the memory alive.
Raises BufferError for an array whose memory is not shared; shared.asarray(x) copies it.
Extension of the array API.)doc";

constexpr char kSharesMemoryDoc[] = R"doc(shares_memory($module, x, y, /)
--

Return whether an element of x and one of y have a bit in common. Exact.

For layouts whose comparison would take very many steps the answer is True. Arrays of two
processes share memory if they are of one arena and their blocks are the same; this
function compares arrays of one process.

Raises TypeError if x or y is not an Array.
Extension of the array API.)doc";

Ref is_shared(PyObject* self, PyObject*) {
  const core::ArrayView view = view_of(self);
  return check(PyBool_FromLong(is_in_arena(view) || runtime::is_shared(view)));
}

Ref shared_handle(PyObject* self, PyObject*) {
  return check(calling<PyObject_CallFunctionObjArgs>(
      python_function("refarray.shared", "Handle").get(), self, nullptr));
}

Ref shares_memory(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2)
    raise(PyExc_TypeError, "shares_memory() takes 2 positional arguments (%zd given)", nargs);
  const State& state = State::of_module(module);
  const core::ArrayView x = to_view(state, args[0], "shares_memory");
  const core::ArrayView y = to_view(state, args[1], "shares_memory");
  const bool shares =
      x.device() == y.device() && x.size() != 0 && y.size() != 0 && core::share_memory(x, y);
  return check(PyBool_FromLong(shares));
}

}  // namespace

PyMethodDef kSharedMethods[] = {
    {"is_shared", method<&is_shared>(), METH_NOARGS, kIsSharedDoc},
    {"shared_handle", method<&shared_handle>(), METH_NOARGS, kSharedHandleDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kOverlapFunctions[] = {
    {"shares_memory", method<&shares_memory>(), METH_FASTCALL, kSharesMemoryDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
