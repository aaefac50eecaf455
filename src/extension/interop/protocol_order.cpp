// asarray()'s protocols, tried in order: DLPack, buffer, array interfaces, __array__.
#include "extension/interop/protocol_order.hpp"

#include "extension/array/object.hpp"
#include "extension/capi/methods.hpp"
#include "extension/dlpack/import.hpp"
#include "extension/dlpack/producer.hpp"
#include "extension/interop/array_interface.hpp"
#include "extension/interop/numpy_types.hpp"

namespace refarray::extension {
namespace {

/// Adds a note to the first refusal: the protocol that was tried next, and its error. Best effort:
/// no note if the error has no text or memory runs out.
void add_refusal_note(PyObject* first, const char* protocol, PyObject* error) {
  Ref name = Ref::steal(PyType_GetQualName(Py_TYPE(error)));
  Ref text = name ? Ref::steal(calling<PyObject_Str>(error)) : Ref();
  Ref note = text ? Ref::steal(PyUnicode_FromFormat("tried next, %s: %U: %U", protocol, name.get(),
                                                    text.get()))
                  : Ref();
  const Ref done =
      note ? Ref::steal(calling<PyObject_CallMethod>(first, "add_note", "O", note.get())) : Ref();
  if (done) return;
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw ErrorSet{};
  PyErr_Clear();
}

/// Tries the protocols of one object. The first refusal is kept, and raised if no protocol
/// succeeds; later refusals become notes on it. An error is raised at once, with the first refusal
/// as context.
class ProtocolAttempts {
 public:
  /// The array that `import` returns; empty if the object lacks the protocol or refuses.
  template <class Import>
  Ref attempt(const char* protocol, Import import) {
    try {  // boundary: a refusal is an error only if no other protocol succeeds
      return import();
    } catch (const ProtocolRefused&) {  // boundary: as above
      keep_refusal(protocol);
      return {};
    } catch (const ErrorSet&) {  // boundary: an error gets the first refusal as context
      rethrow_with_context();
    } catch (const std::exception&) {  // boundary: as above
      if (!first_) throw;
      translate_current_exception();
      rethrow_with_context();
    }
  }
  bool any_refused() const noexcept { return static_cast<bool>(first_); }
  /// After the last protocol.
  void raise_first_refusal() {
    if (!first_) return;
    compat::restore_raised(first_.release());
    throw ErrorSet{};
  }

 private:
  void keep_refusal(const char* protocol) {
    const Ref refusal = Ref::steal(compat::take_raised());
    if (!first_) {
      first_ = Ref::borrow(refusal.get());
      return;
    }
    add_refusal_note(first_.get(), protocol, refusal.get());
  }

  [[noreturn]] void rethrow_with_context() {
    if (first_) {
      PyObject* error = compat::take_raised();
      chain_errors(error, std::move(first_));
      compat::restore_raised(error);
    }
    throw ErrorSet{};
  }

  Ref first_;
};

/// For a method older than the keyword copy=, which raised TypeError for copy=False.
[[noreturn]] void raise_no_copy_keyword(const State& state, PyObject* object) {
  Ref error = Ref::steal(compat::take_raised());
  PyErr_Format(state.get(Slot::kNoCopyError),
               "copy=False, but __array__() of %R does not take copy=",
               reinterpret_cast<PyObject*>(Py_TYPE(object)));
  PyObject* refusal = compat::take_raised();
  PyException_SetCause(refusal, error.release());
  compat::restore_raised(refusal);
  throw ErrorSet{};
}

/// Calls __array__(), with copy=False if `no_copy`. The result is not checked.
Ref call_array_method(State& state, PyObject* object, PyObject* descriptor, bool no_copy) {
  PyObject* args[] = {object, Py_False};
  if (!no_copy) return call_on_type(descriptor, args, 1, nullptr);
  try {  // boundary: older methods have no copy=
    return call_on_type(descriptor, args, 1, state.get(Slot::kKwCopy));
  } catch (const ErrorSet&) {  // boundary: as above
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw;
  }
  raise_no_copy_keyword(state, object);
}

/// False for MemoryError and for exceptions such as KeyboardInterrupt, which always propagate.
bool may_ignore_pending() noexcept {
  return PyErr_ExceptionMatches(PyExc_Exception) != 0 &&
         PyErr_ExceptionMatches(PyExc_MemoryError) == 0;
}

/// The last protocol: __array__(), which may copy. Looked up on the type, as special methods are.
/// If another protocol refused before (`after_refusal`), its exceptions count as refusals too.
Ref array_from_method(State& state, PyObject* object, bool no_copy, bool after_refusal) {
  const Ref descriptor = find_on_type_of(state, object, state.get(Slot::kArrayMethodName));
  if (!descriptor || descriptor.get() == Py_None) return {};
  Ref result;
  try {  // boundary: the first refusal is more informative than this error
    result = call_array_method(state, object, descriptor.get(), no_copy);
  } catch (const ErrorSet&) {  // boundary: as above
    if (after_refusal && may_ignore_pending()) throw ProtocolRefused{};
    throw;
  }
  const Ref module = check(calling<PyImport_ImportModule>("refarray._numpy"));
  const Ref convert = check(PyObject_GetAttrString(module.get(), "from_method"));
  Ref array = Ref::steal(calling<PyObject_CallFunctionObjArgs>(
      convert.get(), result.get(), reinterpret_cast<PyObject*>(Py_TYPE(object)), nullptr));
  if (!array) throw_exporter_error();
  return array;
}

}  // namespace

void chain_errors(PyObject* second, Ref first) noexcept {
  constexpr int kDeepest = 64;  // user code can make the chain cyclic
  Ref last = Ref::borrow(second);
  for (int depth = 0; depth < kDeepest && last.get() != first.get(); ++depth) {
    Ref older = Ref::steal(PyException_GetContext(last.get()));
    if (!older) return PyException_SetContext(last.get(), first.release());
    last = std::move(older);
  }
}

ProtocolResult try_protocols(State& state, PyObject* object, PyObject* device, PyObject* copy,
                             bool no_copy) {
  ProtocolAttempts attempts;
  ProducerInfo producer = find_producer(state, object);
  if (!producer.host_only && is_numpy_scalar(state, object)) return {};  // a number, not an array
  find_methods(state, object, producer);
  // The exchange table takes no device= and copy=, and whether its result is a copy is not checked.
  const bool fully = producer.has_methods();
  if (fully || (producer.table != nullptr && !no_copy)) {
    Ref array = attempts.attempt("DLPack", [&] {
      return import_producer(state, object, producer, fully ? device : nullptr,
                             fully ? copy : nullptr);
    });
    if (array) return {std::move(array), fully};
  }
  if (Ref array =
          attempts.attempt("the buffer protocol", [&] { return array_from_buffer(state, object); }))
    return {std::move(array), false};
  if (Ref array = attempts.attempt("__array_interface__",
                                   [&] { return array_from_interface(state, object); }))
    return {std::move(array), false};
  if (Ref array = attempts.attempt("__cuda_array_interface__",
                                   [&] { return array_from_cuda_interface(state, object); }))
    return {std::move(array), false};
  const bool refused = attempts.any_refused();
  if (Ref array = attempts.attempt(
          "__array__", [&] { return array_from_method(state, object, no_copy, refused); }))
    return {std::move(array), false};
  attempts.raise_first_refusal();
  return {};
}

Ref array_over(State& state, PyObject* object) {
  if (is_array(state, object)) return Ref::borrow(object);
  return try_protocols(state, object, nullptr, nullptr, /*no_copy=*/false).array;
}

}  // namespace refarray::extension
