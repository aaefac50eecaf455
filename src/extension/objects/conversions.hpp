// Conversions between Python objects and core values: integers, shapes, dtypes, devices, arrays.
#pragma once

#include <cstdint>
#include <optional>

#include "core/array.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// Up to kMaxRank integers: a shape, axes, strides. Entries past `count` are uninitialised.
struct Integers {
  int count = 0;
  std::int64_t values[core::kMaxRank];
  core::Extents span() const noexcept { return {values, static_cast<std::size_t>(count)}; }
};

// In the functions below `what` names the argument in error messages. They run the object's
// __index__, __len__ and __getitem__, and pass on the exceptions that those raise.

/// An integer by __index__, which bool has and float has not. Throws TypeError, and OverflowError
/// outside int64.
std::int64_t to_int64(PyObject* object, const char* what);
/// One integer, or a sequence of at most kMaxRank integers. Throws as to_int64, and ValueError for
/// a longer sequence.
Integers to_integers(PyObject* object, const char* what);
/// As to_integers; in a strict namespace only an integer or a tuple.
Integers to_integers(const State& state, PyObject* object, const char* what);
/// Throws TypeError for anything but a tuple.
void require_tuple(PyObject* object, const char* what);
/// As to_integers, and throws ValueError for negative extents.
Integers to_shape(PyObject* object);

/// From a DType, its name or an alias such as "f4", one of the types bool, int, float, complex, or
/// a dtype of NumPy, ml_dtypes, PyTorch or JAX, or one with __dlpack_data_type__(). Throws
/// TypeError, and ValueError for an unknown name and for a dtype of another library that refarray
/// does not have.
core::DType to_dtype(const State& state, PyObject* object);
/// From a Device, its name, or a device of PyTorch, JAX or tvm-ffi. Throws TypeError, and
/// ValueError for an unknown name and for an unsupported device.
core::Device to_device_value(const State& state, PyObject* object);
/// The value that the functions above return; nothing where they throw TypeError or ValueError.
std::optional<core::DType> dtype_like(const State& state, PyObject* object);
std::optional<core::Device> device_like(const State& state, PyObject* object);
/// The value of a Device object, of strict namespaces too; nothing for other objects.
std::optional<core::Device> device_of(const State& state, PyObject* object) noexcept;
/// As the functions above; `fallback` if the argument is absent or None.
core::DType to_dtype_or(const State& state, PyObject* object, const core::DType& fallback);
core::Device to_device_or(const State& state, PyObject* object, const core::Device& fallback);

/// A view of the argument `x` of `function`, borrowed from the Array. Throws TypeError if `x` is
/// not an Array.
core::ArrayView to_view(const State& state, PyObject* x, const char* function);

Ref make_dtype(const State& state, const core::DType& dtype);
Ref make_device(const State& state, const core::Device& device);
Ref make_int_tuple(core::Extents values);

}  // namespace refarray::extension
