// Stream objects as arguments.
#pragma once

#include <Python.h>

#include <optional>

#include "refarray/core/device.hpp"

namespace refarray::extension {

/// The device of a Stream of any interpreter, each of which has its own type object; nothing for
/// other objects.
std::optional<core::Device> device_of_stream(PyObject* object) noexcept;

}  // namespace refarray::extension
