// The namespace that an array is of, and what it refuses.
#pragma once

#include <string>

#include "extension/objects/array_object.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::extension {

/// Whether the state is that of refarray itself.
inline bool is_default(const State& state) noexcept {
  return state.get(Slot::kNamespace) == nullptr;
}

/// The state of refarray itself.
inline const State& default_state(const State& state) noexcept {
  PyObject* const base = state.get(Slot::kBase);
  return base == nullptr ? state : State::of_module(base);
}

/// The name of the namespace of the state's arrays.
Ref namespace_name(const State& state);

/// repr() of the device that the state's arrays are on.
std::string device_text(const State& state);

/// Throws kValue for an array on another device of the namespace, otherwise kType, naming the
/// namespace of `array` and that of the state.
[[noreturn, gnu::cold]] void fail_other_namespace(const State& state, PyObject* array);

/// Throws kType if `object` is an array of another namespace than the state's.
inline void refuse_other_namespace(const State& state, PyObject* object) {
  if (is_any_array(object) && !is_array(state, object)) [[unlikely]]
    fail_other_namespace(state, object);
}

/// Whether the standard has the type: it lacks the 16-bit floats.
constexpr bool is_standard(core::ScalarType type) noexcept {
  return type >= core::ScalarType::kBool && type <= core::ScalarType::kComplex128;
}

/// In a strict namespace: throws kType for a dtype that the standard does not have.
void require_standard(const State& state, const core::DType& dtype);

/// Raises NotImplementedError in a namespace without indexing by masks.
void refuse_mask(const State& state);

/// Raises NotImplementedError in a namespace without shapes that depend on elements.
void refuse_counting(const State& state, const char* function);

/// Notes a transfer in ledgers, and a wait of the host if one of the sides is its memory, as it
/// would be on a real device.
void note_transfer(std::int64_t nbytes, bool with_host);

/// Whether elements of an object that become those of an array come from the host to a virtual
/// device, which is a transfer: of all objects but arrays of the device itself.
inline bool is_arriving(const State& state, PyObject* object) noexcept {
  return state.modes.off_host && !is_array(state, object);
}

/// The array itself, as one of the default namespace: for the functions of the Python package that
/// use its attributes.
Ref as_default_array(PyObject* array);

}  // namespace refarray::extension
