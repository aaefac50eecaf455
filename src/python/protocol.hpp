// Owns the values of the exchange protocol's keywords: what stream=, max_version=, dl_device= and
// copy= may be.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

#include "args.hpp"
#include "ref.hpp"
#include "refarray/core/array.hpp"
#include "refarray/dlpack/export.hpp"
#include "state.hpp"

namespace refarray::python {

namespace detail {
// What to do when something was given; most calls give nothing.
dlpack::Copy parse_copy(PyObject* object);
std::int64_t parse_stream(PyObject* object);
DLDevice parse_dl_device(const State& state, PyObject* object);
bool names_a_major(const State& state, PyObject* max_version);
}  // namespace detail

/// None or absent, True, False, and nothing else: TypeError (PROD-15).
inline dlpack::Copy to_copy(PyObject* object) {
  return is_given(object) ? detail::parse_copy(object) : dlpack::Copy::kIfNeeded;
}
/// None or absent, or an int. TypeError for another type, bool included; ValueError past int64
///
inline std::optional<std::int64_t> to_stream(PyObject* object) {
  return is_given(object) ? std::optional(detail::parse_stream(object)) : std::nullopt;
}
/// None or absent, or a tuple of two ints. TypeError otherwise; ValueError past int32 (PROD-06,
/// PROD-07).
inline std::optional<DLDevice> to_dl_device(const State& state, PyObject* object) {
  return is_given(object) ? std::optional(detail::parse_dl_device(state, object)) : std::nullopt;
}

/// How a max_version compares with ours.
enum class VersionRequest { kLegacy, kOlderMinor, kOurs, kNewer };
/// None or absent (legacy), or a tuple of two ints of any size. TypeError otherwise (VERS-10).
VersionRequest to_version_request(const State& state, PyObject* object);
/// All that a producer needs to know of it: anything but legacy. Our own major, asked for in
/// whatever minor, is seen without computing.
inline bool wants_versioned(const State& state, PyObject* object) {
  return is_given(object) && detail::names_a_major(state, object);
}

/// (type, id) as __dlpack_device__ must return it. TypeError otherwise, naming the dunder (DEV-01).
DLDevice to_announced_device(PyObject* answer);

/// Steps 2 to 5 for an array: a capsule that answers `request`, ordered on `stream`.
Ref export_capsule(PyObject* array, const dlpack::ExportRequest& request,
                   const std::optional<std::int64_t>& stream);

}  // namespace refarray::python
