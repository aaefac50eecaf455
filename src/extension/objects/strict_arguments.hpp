// The kinds of arguments that a strict namespace takes.
#pragma once

#include <Python.h>

#include <span>

#include "extension/capi/argument_names.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// Throws kType for an argument of a kind that the standard's signatures do not have for the
/// parameter: a bool or an array where they have int or float, an integer where they have a
/// sequence, another object than a bool where they have bool. The functions check the rest.
/// `arguments` are those of `keys`, nullptr for one not passed.
void require_standard_arguments(const State& state, const char* function, std::span<const Key> keys,
                                std::span<PyObject* const> arguments);

}  // namespace refarray::extension
