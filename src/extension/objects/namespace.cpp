// Names the namespace of arrays, and refuses what it lacks.
#include "extension/objects/namespace.hpp"

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "core/promotion.hpp"
#include "extension/capi/errors.hpp"

namespace refarray::extension {

using core::Fault;

Ref namespace_name(const State& state) {
  PyObject* const own = state.get(Slot::kNamespace);
  return check(own == nullptr ? PyUnicode_InternFromString("refarray")
                              : PyModule_GetNameObject(own));
}

std::string device_text(const State& state) {
  return utf8(check(calling<PyObject_Repr>(state.get(Slot::kCpuDevice))).get());
}

void fail_other_namespace(const State& state, PyObject* array) {
  PyObject* const own = state.get(Slot::kNamespace);
  const State& other = State::of_object(array);
  if (own != nullptr && own == other.get(Slot::kNamespace)) {
    core::fail(Fault::kValue, "an array on ", device_text(other), " does not mix with those on ",
               device_text(state), "; to_device() copies");
  }
  core::fail(Fault::kType, "an array of the namespace ", utf8(namespace_name(other).get()),
             " does not mix with those of ", utf8(namespace_name(state).get()),
             "; asarray() and from_dlpack() of a namespace take arrays of others");
}

void refuse_mask(const State& state) {
  if (!state.modes.without_masks) return;
  raise(PyExc_NotImplementedError,
        "indexing by a mask: the namespace was made with boolean_indexing=False; where() selects");
}

void refuse_counting(const State& state, const char* function) {
  if (!state.modes.without_counting) return;
  raise(
      PyExc_NotImplementedError,
      "%s(): the shape of the result depends on elements, and the namespace has no data-dependent "
      "shapes: data_dependent_shapes=False",
      function);
}

void require_standard(const State& state, const core::DType& dtype) {
  if (!state.modes.strict || is_standard(core::computable_scalar(dtype))) return;
  core::fail(Fault::kType, "the standard has no dtype ", core::name(dtype),
             ", and this namespace is strict");
}

Ref as_default_array(PyObject* array) {
  PyObject* const base = State::of_object(array).get(Slot::kBase);
  return base == nullptr ? Ref::borrow(array) : alias_array(State::of_module(base), array);
}

void note_transfer(std::int64_t nbytes, bool with_host) {
  if (with_host) core::note_attempt(core::Entry::kSynchronization, 0);
  core::note(core::Entry::kTransfer, nbytes);
  if (with_host) core::note(core::Entry::kSynchronization, 0);
}

}  // namespace refarray::extension
