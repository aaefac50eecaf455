// Owns the order in which a stranger's ways to offer memory are asked, and which errors let the
// next one be asked.
#include "extension/interop/protocol_order.hpp"

#include "extension/array/object.hpp"
#include "extension/capi/methods.hpp"
#include "extension/creation/creation.hpp"
#include "extension/dlpack/producer.hpp"
#include "extension/interop/array_interface.hpp"

namespace refarray::extension {
namespace {

/// Notes on the first refusal that `way` was asked next, and what came of it. A note that cannot be
/// made (an error without a text, no memory) is left out.
void note_next(PyObject* first, const char* way, PyObject* error) {
  Ref name = Ref::steal(PyType_GetQualName(Py_TYPE(error)));
  Ref text = name ? Ref::steal(calling<PyObject_Str>(error)) : Ref();
  Ref note =
      text ? Ref::steal(PyUnicode_FromFormat("asked next, %s: %U: %U", way, name.get(), text.get()))
           : Ref();
  const Ref done =
      note ? Ref::steal(calling<PyObject_CallMethod>(first, "add_note", "O", note.get())) : Ref();
  if (done) return;
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw ErrorSet{};
  PyErr_Clear();
}

/// The asking of one object. The first refusal is kept and is what is raised in the end; those
/// after it become notes on it. An error is raised at once, and the refusal before it is its
/// context.
class Asking {
 public:
  /// The array that `way` gives; empty when it is not offered or refused.
  template <class Way>
  Ref ask(const char* name, Way way) {
    try {  // boundary: a refusal is not an error until nothing else is offered
      return way();
    } catch (const OfferRefused&) {  // boundary: as above
      refused(name);
      return {};
    } catch (const ErrorSet&) {  // boundary: an error must show what was refused before it
      blame();
    } catch (const std::exception&) {  // boundary: as above
      if (!first_) throw;
      translate_current_exception();
      blame();
    }
  }
  bool any_refused() const noexcept { return static_cast<bool>(first_); }
  /// Nothing (more) is offered.
  void end() {
    if (!first_) return;
    compat::restore_raised(first_.release());
    throw ErrorSet{};
  }

 private:
  void refused(const char* name) {
    const Ref refusal = Ref::steal(compat::take_raised());
    if (!first_) {
      first_ = Ref::borrow(refusal.get());
      return;
    }
    note_next(first_.get(), name, refusal.get());
  }

  [[noreturn]] void blame() {
    if (first_) {
      PyObject* error = compat::take_raised();
      chain_errors(error, std::move(first_));
      compat::restore_raised(error);
    }
    throw ErrorSet{};
  }

  Ref first_;
};

/// copy=False, and the method raised TypeError: it is older than the keyword, and cannot promise.
[[noreturn]] void refuse_unpromised(const State& state, PyObject* object) {
  Ref error = Ref::steal(compat::take_raised());
  PyErr_Format(state.get(Slot::kNoCopyError),
               "copy=False, but __array__() of %R does not take copy=",
               reinterpret_cast<PyObject*>(Py_TYPE(object)));
  PyObject* refusal = compat::take_raised();
  PyException_SetCause(refusal, error.release());
  compat::restore_raised(refusal);
  throw ErrorSet{};
}

/// What __array__() returns, which is an array of NumPy's or a TypeError.
Ref call_array_method(State& state, PyObject* object, PyObject* descriptor, bool no_copy) {
  PyObject* args[] = {object, Py_False};
  if (!no_copy) return call_on_type(descriptor, args, 1, nullptr);
  try {  // boundary: the keyword is newer than the method
    return call_on_type(descriptor, args, 1, state.get(Slot::kKwCopy));
  } catch (const ErrorSet&) {  // boundary: as above
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw;
  }
  refuse_unpromised(state, object);
}

/// Whether the pending exception is the object's answer, and neither the user nor the machine
/// stopping us.
bool is_answer() noexcept {
  return PyErr_ExceptionMatches(PyExc_Exception) != 0 &&
         PyErr_ExceptionMatches(PyExc_MemoryError) == 0;
}

/// The last way: __array__, which may copy. Looked up on the type, as it is a special method. After
/// a refusal (`late`) it is a courtesy: what it raises is one more refusal.
Ref array_from_method(State& state, PyObject* object, bool no_copy, bool late) {
  const Ref descriptor = find_on_type_of(state, object, state.get(Slot::kArrayMethodName));
  if (!descriptor || descriptor.get() == Py_None) return {};
  Ref result;
  try {  // boundary: the first refusal says more than this error does
    result = call_array_method(state, object, descriptor.get(), no_copy);
  } catch (const ErrorSet&) {  // boundary: as above
    if (late && is_answer()) throw OfferRefused{};
    throw;
  }
  const Ref module = check(calling<PyImport_ImportModule>("refarray._numpy"));
  const Ref convert = check(PyObject_GetAttrString(module.get(), "from_method"));
  Ref array = Ref::steal(calling<PyObject_CallFunctionObjArgs>(
      convert.get(), result.get(), reinterpret_cast<PyObject*>(Py_TYPE(object)), nullptr));
  if (!array) throw_exporters();
  return array;
}

}  // namespace

void chain_errors(PyObject* second, Ref first) noexcept {
  constexpr int kDeepest = 64;  // a chain made by hand may be cyclic
  Ref last = Ref::borrow(second);
  for (int depth = 0; depth < kDeepest && last.get() != first.get(); ++depth) {
    Ref older = Ref::steal(PyException_GetContext(last.get()));
    if (!older) return PyException_SetContext(last.get(), first.release());
    last = std::move(older);
  }
}

Offered ask_for_memory(State& state, PyObject* object, PyObject* device, PyObject* copy,
                       bool no_copy) {
  Asking asking;
  const Producing dlpack = producing(state, object);
  // A table alone cannot be asked for a device or a copy, and whether it shares is not checked.
  const bool fully = dlpack == Producing::kFully;
  if (fully || (dlpack == Producing::kByTableOnly && !no_copy)) {
    Ref array = asking.ask("DLPack", [&] {
      return array_from_dlpack(state, object, fully ? device : nullptr, fully ? copy : nullptr,
                               /*max_version=*/nullptr);
    });
    if (array) return {std::move(array), fully};
  }
  if (Ref array =
          asking.ask("the buffer protocol", [&] { return array_from_buffer(state, object); }))
    return {std::move(array), false};
  if (Ref array =
          asking.ask("__array_interface__", [&] { return array_from_interface(state, object); }))
    return {std::move(array), false};
  if (Ref array = asking.ask("__cuda_array_interface__",
                             [&] { return array_from_cuda_interface(state, object); }))
    return {std::move(array), false};
  const bool late = asking.any_refused();
  if (Ref array =
          asking.ask("__array__", [&] { return array_from_method(state, object, no_copy, late); }))
    return {std::move(array), false};
  asking.end();
  return {};
}

Ref array_over(State& state, PyObject* object) {
  if (is_array(state, object)) return Ref::borrow(object);
  return ask_for_memory(state, object, nullptr, nullptr, /*no_copy=*/false).array;
}

}  // namespace refarray::extension
