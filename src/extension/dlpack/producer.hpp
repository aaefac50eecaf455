// Owns what we know of other libraries' array types: their two dunders and their exchange table,
// looked up on the type.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// What a producer's type offers. `table` is its own or inherited, and usable; a class that brings
/// a __dlpack__ of its own but inherits the table meant the dunder, and is asked through that.
struct Offer {
  PyObject* dlpack = nullptr;         // the descriptor found on the type
  PyObject* dlpack_device = nullptr;  // likewise
  const DLPackExchangeAPI* table = nullptr;
  bool host_only = false;
  Ref held[2];  // what was looked up just now: the type may be changed by what is called.
                // Remembered ones the state holds.

  bool is_complete() const noexcept { return dlpack != nullptr && dlpack_device != nullptr; }
  void hold(Ref the_dlpack, Ref the_dlpack_device) noexcept {
    dlpack = the_dlpack.get();
    dlpack_device = the_dlpack_device.get();
    held[0] = std::move(the_dlpack);
    held[1] = std::move(the_dlpack_device);
  }
};

/// What is remembered of the type of `producer`, else everything about it. Of a mutable type only
/// the table is ever remembered. Throws what a metaclass raises while it is asked.
Offer look_up(State& state, PyObject* producer);
inline Offer remembered(const Producer& known) noexcept {
  return {known.dlpack, known.dlpack_device, known.table, known.host_only, {}};
}
/// Fills in the descriptors if memory had only the table.
void find_dunders(const State& state, PyObject* producer, Offer& offer);

/// The attribute of that name on the object's type, unbound: as type(x).__dict__ along the MRO
/// says. Empty when there is none.
Ref find_on_type_of(const State& state, PyObject* object, PyObject* name);

/// AttributeError that names what the type lacks (CONS-02, A-40).
[[noreturn]] void raise_missing_dunders(PyObject* producer, const Offer& offer);

/// Calls a descriptor of the type on `self`, bound as a special method is. args[0] must be `self`.
Ref call_on_type(PyObject* descriptor, PyObject* const* args, std::size_t count, PyObject* kwnames);

}  // namespace refarray::extension
