// asarray()'s protocols, tried in order: DLPack, buffer, array interfaces, __array__.
#include "extension/interop/protocol_order.hpp"

#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/dlpack/dlpack_import.hpp"
#include "extension/dlpack/producer.hpp"
#include "extension/interop/array_interface.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/foreign_objects.hpp"

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
  compat::clear_raised();
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
    } catch (const ProtocolRefused&) {
      keep_refusal(protocol);
      return {};
    } catch (const ErrorSet&) {  // boundary: an error gets the first refusal as context
      rethrow_with_context();
    } catch (const std::exception&) {
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
[[noreturn]] void raise_no_copy_keyword(const State& state, PyObject* object, Ref error) {
  calling([&] {
    return PyErr_Format(state.get(Slot::kNoCopyError),
                        "copy=False, but __array__() of %R does not take copy=",
                        reinterpret_cast<PyObject*>(Py_TYPE(object)));
  });
  PyObject* refusal = compat::take_raised();
  PyException_SetCause(refusal, error.release());
  compat::restore_raised(refusal);
  throw ErrorSet{};
}

/// The value of copy= for __array__().
enum class MethodCopy { kAbsent, kTrue, kFalse };

/// What __array__() returned. `is_own`: a copy that nobody else refers to.
struct MethodResult {
  Ref object;
  bool is_own = false;
};

/// Whether the ndarray `result` of __array__(copy=True) is a copy: our reference is the only one,
/// and the memory is its own. A method may ignore copy=.
bool is_own_copy(PyObject* result) {
  if (Py_REFCNT(result) != 1) return false;
  const Ref owns = check(calling<PyObject_CallFunctionObjArgs>(
      python_function("refarray._numpy", "owns_memory").get(), result, nullptr));
  return owns.get() == Py_True;
}

/// Calls __array__(). A method older than the keyword copy= refuses it by TypeError: it is called
/// without the keyword instead of copy=True, and cannot serve copy=False. dtype= is not passed on:
/// a producer would convert by rules other than astype()'s.
MethodResult call_array_method(State& state, PyObject* object, PyObject* descriptor,
                               MethodCopy copy) {
  PyObject* args[] = {object, copy == MethodCopy::kTrue ? Py_True : Py_False};
  if (copy != MethodCopy::kAbsent) {
    try {  // boundary: older methods have no copy=
      MethodResult out{call_on_type(descriptor, args, 1, state.get(Slot::kKwCopy))};
      out.is_own = copy == MethodCopy::kTrue && is_own_copy(out.object.get());
      return out;
    } catch (const ErrorSet&) {
      if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw;
    }
    Ref error = Ref::steal(compat::take_raised());
    if (was_entered(error.get())) {
      compat::restore_raised(error.release());
      throw ErrorSet{};
    }
    // Otherwise raised again by the call below if the keyword was not the reason.
    if (copy == MethodCopy::kFalse) raise_no_copy_keyword(state, object, std::move(error));
  }
  return {call_on_type(descriptor, args, 1, nullptr)};
}

/// The last protocol: __array__(), which may copy. Looked up on the type, as special methods are.
/// If another protocol refused before (`after_refusal`), its exceptions count as refusals too.
ProtocolResult array_from_method(State& state, PyObject* object, MethodCopy copy,
                                 bool after_refusal) {
  const Ref descriptor = find_protocol(state, Py_TYPE(object), state.get(Slot::kArrayMethodName));
  if (!descriptor) return {};
  MethodResult result;
  try {  // boundary: the first refusal is more informative than this error
    result = call_array_method(state, object, descriptor.get(), copy);
  } catch (const ErrorSet&) {
    if (after_refusal && may_ignore_pending()) throw ProtocolRefused{};
    throw;
  }
  Ref array = Ref::steal(calling<PyObject_CallFunctionObjArgs>(
      python_function("refarray._numpy", "from_method").get(), result.object.get(),
      reinterpret_cast<PyObject*>(Py_TYPE(object)), copy == MethodCopy::kFalse ? Py_False : Py_True,
      nullptr));
  if (!array) throw_exporter_error();
  return {std::move(array), result.is_own};
}

}  // namespace

ProtocolResult try_protocols(State& state, PyObject* object, PyObject* device, PyObject* copy,
                             bool no_copy) {
  ProtocolAttempts attempts;
  Copying copying{.allowed = !no_copy};
  const ProducerInfo producer = find_producer(state, object);
  if (!producer.is_ndarray && is_buffer_scalar(state, object)) return {};  // a number, not an array
  // The exchange table takes no device= and copy=, and whether its result is a copy is not checked.
  const bool fully = producer.has_methods();
  if (fully || (producer.table != nullptr && !no_copy)) {
    Ref array = attempts.attempt("DLPack", [&] {
      return import_producer(state, object, producer, fully ? device : nullptr,
                             fully ? copy : nullptr);
    });
    if (array) return {std::move(array), fully};
  }
  if (Ref array = attempts.attempt("the buffer protocol",
                                   [&] { return array_from_buffer(state, object, copying); }))
    return {std::move(array), copying.done};
  if (Ref array = attempts.attempt("__array_interface__", [&] {
        Ref by_dict = array_from_interface(state, object, copying);
        return by_dict ? std::move(by_dict) : array_from_struct(state, object, copying);
      }))
    return {std::move(array), copying.done};
  if (Ref array = attempts.attempt("__cuda_array_interface__", [&] {
        return array_from_cuda_interface(state, object, copying);
      }))
    return {std::move(array), copying.done};
  const bool refused = attempts.any_refused();
  const MethodCopy method_copy = no_copy           ? MethodCopy::kFalse
                                 : copy != nullptr ? MethodCopy::kTrue
                                                   : MethodCopy::kAbsent;
  ProtocolResult by_method;
  by_method.array = attempts.attempt("__array__", [&] {
    by_method = array_from_method(state, object, method_copy, refused);
    return std::move(by_method.array);
  });
  if (by_method.array) return by_method;
  if (copying.was_needed) {
    attempts.attempt("a copy", [&]() -> Ref {
      core::fail(core::Fault::kNoCopy, "copy=False, but the elements of an object of type ",
                 type_name(object),
                 " have strides or a byte order that arrays do not have, and would be copied");
    });
  }
  attempts.raise_first_refusal();
  return {};
}

Ref array_over(State& state, PyObject* object) {
  if (is_array(state, object)) return Ref::borrow(object);
  return try_protocols(state, object, nullptr, nullptr, /*no_copy=*/false).array;
}

}  // namespace refarray::extension
