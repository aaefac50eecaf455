// Owns the difference between an offer of memory that is refused, after which another may be asked
// for, and an error, which ends the asking.
#pragma once

#include <Python.h>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// Thrown while a Python exception is set that says: this object cannot describe its memory in this
/// way, or it describes it by something that we have no words for. Another way may do. Whoever is
/// asked for one way only lets it pass as the error that it is.
struct OfferRefused : ErrorSet {};

/// Sets a BufferError of `parts` and throws OfferRefused.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_offer(const Parts&... parts) {
  PyErr_Format(PyExc_BufferError, "%s", core::text(parts...).c_str());
  throw OfferRefused{};
}

/// Throws what the pending exception is when it came out of an exporter's own code: a refusal if it
/// is a BufferError, else an error.
[[noreturn]] inline void throw_exporters() {
  if (PyErr_ExceptionMatches(PyExc_BufferError) != 0) throw OfferRefused{};
  throw ErrorSet{};
}

/// Hangs `first` under the oldest exception that `second` came from, as `raise` in an except block
/// does.
void chain_errors(PyObject* second, Ref first) noexcept;

/// What an object gave when its ways were asked in the order of docs/neighbours.md.
struct Offered {
  Ref array;  // empty: the object offers no memory in any way
  bool done =
      false;  // the exporter was told device= and copy=, and the answer was checked for both
};

/// An array over what `object`, which is not one of ours, offers: DLPack, the buffer protocol,
/// __array_interface__, __array__. `device` and `copy` as asarray got them, or nullptr; `no_copy`:
/// copy=False. Throws the first refusal when every offer was refused, and any other error at once.
Offered ask_for_memory(State& state, PyObject* object, PyObject* device, PyObject* copy,
                       bool no_copy);

}  // namespace refarray::extension
