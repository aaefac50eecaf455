// Owns the values of the exchange protocol's keywords: what stream=, max_version=, dl_device= and
// copy= may be.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

#include "core/array.hpp"
#include "dlpack/export.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

namespace detail {
// What to do when something was given; most calls give nothing.
dlpack::Copy parse_copy(PyObject* object);
runtime::GivenStream parse_stream(PyObject* object);
DLDevice parse_dl_device(const State& state, PyObject* object);
bool names_a_major(const State& state, PyObject* max_version);
}  // namespace detail

/// None or absent, True, False, and nothing else: TypeError (PROD-15).
inline dlpack::Copy to_copy(PyObject* object) {
  return is_given(object) ? detail::parse_copy(object) : dlpack::Copy::kIfNeeded;
}
/// None or absent, an integer by __index__, or an object with __cuda_stream__. TypeError for
/// another type, bool included; ValueError past 64 bits. Runs the object's code.
inline runtime::GivenStream to_stream(PyObject* object) {
  return is_given(object) ? detail::parse_stream(object) : runtime::GivenStream{};
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

/// runtime::order, giving up the GIL where it calls a driver.
[[gnu::noinline]] void order_without_gil(const core::ArrayView& array,
                                         const runtime::StreamChoice& choice);

/// Steps 2 to 5 for an array: a capsule that answers `request`, ordered on `stream`.
Ref export_capsule(PyObject* array, const dlpack::ExportRequest& request,
                   const runtime::GivenStream& stream);

}  // namespace refarray::extension
