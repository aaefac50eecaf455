// Argument binding for METH_FASTCALL functions: a signature as data, and its parameters' values.
#pragma once

#include <array>
#include <cstddef>

#include "extension/capi/errors.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// A Python signature. The first `positional` parameters may be passed by position, the first
/// `positional_only` only by position; the first `required` have no default.
template <std::size_t N>
struct Signature {
  const char* function;
  std::array<Key, N> keys;
  Py_ssize_t positional = 0;
  Py_ssize_t required = 0;
  Py_ssize_t positional_only = positional;
};

namespace detail {
[[noreturn]] void raise_too_many(const char* function, Py_ssize_t limit, Py_ssize_t given);
[[noreturn]] void raise_unexpected(const char* function, PyObject* name);
[[noreturn]] void raise_twice(const char* function, PyObject* name);
[[noreturn]] void raise_missing(const char* function, PyObject* name);
/// Index of `name` among `count` keys, compared by value, or -1. For names that are not interned.
Py_ssize_t find_equal_key(const Key* keys, Py_ssize_t count, PyObject* name) noexcept;

/// Compares by identity first: keyword names in source code are interned, and so are ours.
inline Py_ssize_t find_key(const State& state, const Key* keys, Py_ssize_t count,
                           PyObject* name) noexcept {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (state.get(keys[i]) == name) return i;
  }
  return find_equal_key(keys, count, name);
}
}  // namespace detail

/// The arguments in the signature's order, as borrowed references; nullptr for one not passed.
/// Raises the TypeErrors of a Python function.
template <std::size_t N>
std::array<PyObject*, N> bind(const Signature<N>& signature, const State& state,
                              PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  std::array<PyObject*, N> out{};
  if (nargs > signature.positional)
    detail::raise_too_many(signature.function, signature.positional, nargs);
  for (Py_ssize_t i = 0; i < nargs; ++i) out[static_cast<std::size_t>(i)] = args[i];
  const Py_ssize_t named = kwnames == nullptr ? 0 : compat::tuple_size(kwnames);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* name = compat::tuple_item(kwnames, i);
    const Py_ssize_t at = detail::find_key(state, signature.keys.data(), N, name);
    // Cast to size_t, -1 (no such key) is also >= N, so the compiler can see that the index fits.
    if (at < signature.positional_only || static_cast<std::size_t>(at) >= N) {
      detail::raise_unexpected(signature.function, name);
    }
    PyObject*& argument = out[static_cast<std::size_t>(at)];
    if (argument != nullptr) detail::raise_twice(signature.function, name);
    argument = args[nargs + i];
  }
  for (Py_ssize_t i = 0; i < signature.required; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (out[at] == nullptr)
      detail::raise_missing(signature.function, state.get(signature.keys[at]));
  }
  return out;
}

/// False for None too: most parameters have None as their default.
inline bool is_given(PyObject* argument) noexcept {
  return argument != nullptr && argument != Py_None;
}

}  // namespace refarray::extension
